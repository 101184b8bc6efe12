"""A large body that is sent as it was made, in pieces: never joined to one, never encrypted at one go."""

from collections.abc import Sequence

from aiohttp.abc import AbstractStreamWriter
from aiohttp.payload import Payload

AT_ONCE = 128 * 1024
"""Bytes between looks at whether the client still takes them; encrypting so many takes a fraction of a millisecond."""


class Pieces(Payload):
    """Its length is known beforehand, so the answer is not chunked."""

    _autoclose = True

    def __init__(self, pieces: Sequence[bytes]) -> None:
        super().__init__(pieces)
        self._size = sum(len(piece) for piece in pieces)

    def decode(self, encoding: str = "utf-8", errors: str = "strict") -> str:
        """Only aiohttp's client asks for this."""
        return b"".join(self._value).decode(encoding, errors)

    async def write(self, writer: AbstractStreamWriter) -> None:
        """Wait for the client in between."""
        for piece in self._value:
            view = memoryview(piece)
            for start in range(0, len(view), AT_ONCE):
                await writer.write(view[start : start + AT_ONCE])
