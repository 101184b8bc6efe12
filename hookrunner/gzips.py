"""Text packed by gzip, unpacked within a bound: a kilobyte of it can stand for a megabyte."""

import gzip
import io
import zlib

from kubetypes.bounds import TooLarge


def unpacked(data: bytes, most: int) -> bytes:
    """The bytes, of all members of the archive. Raises `TooLarge`, or ValueError if it is no gzip or damaged."""
    try:
        with gzip.GzipFile(fileobj=io.BytesIO(data)) as archive:
            found = archive.read(most + 1)
    except (OSError, EOFError, zlib.error) as error:
        raise ValueError(str(error)) from None
    if len(found) > most:
        raise TooLarge(f"it has more than {most:,} bytes when it is unpacked")
    return found
