"""Files of hooks, modules and charts, read only if they are files: a link may lead to a device that never ends, or to a
pipe without a writer.

What a user names on the command line is not read here, since that may be a pipe.
"""

import errno
import io
import os
import stat
from pathlib import Path
from typing import BinaryIO

from kubetypes.bounds import DOCUMENT


def opened(path: Path) -> BinaryIO:
    """A file to read from. Raises OSError, also for what is no regular file."""
    file = open(path, "rb", buffering=0, opener=_unwaiting)  # noqa: SIM115
    if stat.S_ISREG(os.fstat(file.fileno()).st_mode):
        return io.BufferedReader(file)
    file.close()
    raise OSError(errno.EINVAL, "it is no regular file", str(path))


def read(path: Path) -> bytes:
    """All of it. Raises OSError, also for what is larger than any document may be."""
    with opened(path) as file:
        text = file.read(DOCUMENT.size + 1)
    if len(text) > DOCUMENT.size:
        raise OSError(errno.EFBIG, os.strerror(errno.EFBIG), str(path))
    return text


def read_text(path: Path, encoding: str = "utf-8", errors: str = "strict") -> str:
    """The same as text, whatever its line ends. Raises OSError, UnicodeDecodeError."""
    return io.TextIOWrapper(io.BytesIO(read(path)), encoding, errors).read()


def _unwaiting(path: str, flags: int) -> int:
    """To open a pipe would wait for its other end."""
    return os.open(path, flags | os.O_NONBLOCK)
