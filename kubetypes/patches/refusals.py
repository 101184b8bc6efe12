"""How a patch is refused, in the words and with the status codes of an API server."""

from http import HTTPStatus


class PatchRefused(Exception):
    """A patch cannot be applied; the message is the API server's.

    `code` is the HTTP status of its answer: 400 for a malformed patch, 413 for too many operations, 422 for one that
    does not apply, 500 for what contradicts the schema. `detail` says more than the message, where that says too
    little for anyone but a client: which operation does not apply, and why.
    """

    def __init__(self, code: int, message: str, detail: str = "") -> None:
        super().__init__(message)
        self.code = int(code)
        self.message = message
        self.detail = detail or message


def malformed(message: str, detail: str = "") -> PatchRefused:
    """400: this is no patch."""
    return PatchRefused(HTTPStatus.BAD_REQUEST, message, detail)


def contradiction(message: str) -> PatchRefused:
    """500: what an API server answers when a patch contradicts the schema or itself."""
    return PatchRefused(HTTPStatus.INTERNAL_SERVER_ERROR, message)
