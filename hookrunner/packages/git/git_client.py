"""What is asked of a git server: which references it has, and the objects of one commit without its history.

    refs = read_refs(ask, "https://example.com/addons.git", "v2")       # {"refs/tags/v2": "6a1…", …}
    fetch_objects(ask, url, "6a1…", Path("fetch.pack"))

The protocol, in all its versions, is dulwich's (smart HTTP); the requests are ours, so that the bounds and rules of
`https_reader.py` hold for them. Everything here blocks and is called in a thread; importing it takes a tenth of a
second. Left out of what a server may ask for: the old protocol of plain files, which would be thousands of requests,
and packs at other addresses (packfile-uris).
Source: gitprotocol-http(5), gitprotocol-v2(5)
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from dulwich.client import AbstractHttpGitClient
from dulwich.errors import GitProtocolError
from dulwich.object_store import GraphWalker
from dulwich.objects import ObjectID
from dulwich.protocol import CAPABILITY_PACKFILE_URIS
from dulwich.refs import Ref

from hookrunner import safe_files
from hookrunner.errors import PackageError
from hookrunner.packages.git.git_refs import ref_names

_SERVED = "application/x-git-"
_REFUSAL = b"ERR "
"""Behind four digits of length. In place of objects dulwich takes it for a connection that ended."""
_LONGEST = 300
"""Characters of what a server says, in messages."""


class GitAnswer(NamedTuple):
    """An answer over HTTP. `url` is the address that it is from, which a redirect may have led to."""

    url: str
    content_type: str
    body: bytes


class Ask(Protocol):
    """Sends a request: one with a body is posted. Raises PackageError."""

    def __call__(self, url: str, headers: Mapping[str, str], body: bytes | None) -> GitAnswer: ...


def read_refs(ask: Ask, url: str, ref: str) -> dict[str, str]:
    """The objects of the references that `ref` may mean, and more, by their full names. Raises PackageError."""
    prefixes = [name.encode() for name in ref_names(ref)]
    with _errors():
        found = _HttpClient(ask, url).get_refs("", ref_prefix=prefixes)
        return {name.decode(): value.decode("ascii") for name, value in found.refs.items() if value}


def fetch_objects(ask: Ask, url: str, want: str, path: Path) -> None:
    """Write the pack with an object and the files of its commit to a new file. Raises PackageError."""

    def choose(refs: Mapping[Ref, ObjectID], depth: int | None = None) -> list[ObjectID]:
        return [ObjectID(want.encode())]

    with _errors(), open(safe_files.create_file(path), "wb") as file:
        _HttpClient(ask, url).fetch_pack("", choose, _NoHistory(), file.write, depth=1, ref_prefix=[b"HEAD"])


class _HttpClient(AbstractHttpGitClient):
    """dulwich's client, with requests that `ask` sends."""

    def __init__(self, ask: Ask, url: str) -> None:
        super().__init__(url, thin_packs=False, quiet=True)
        self._ask = ask
        self._fetch_capabilities.discard(CAPABILITY_PACKFILE_URIS)

    def _http_request(
        self,
        url: str,
        headers: dict[str, str] | None = None,
        data: bytes | Iterator[bytes] | None = None,
        raise_for_status: bool = True,
    ) -> tuple[Any, Callable[[int], bytes]]:
        body = data if data is None or isinstance(data, bytes) else b"".join(data)
        answer = self._ask(url, headers or {}, body)
        if not answer.content_type.startswith(_SERVED):
            raise GitProtocolError("it is no git repository, or of a server without git's smart protocol")
        if answer.body[4:8] == _REFUSAL:
            raise GitProtocolError(answer.body[8:].decode(errors="replace").strip())
        return _Response(answer, url), BytesIO(answer.body).read


class _Response:
    """An answer as dulwich looks at it."""

    def __init__(self, answer: GitAnswer, asked: str) -> None:
        self.content_type = answer.content_type
        self.redirect_location = answer.url if answer.url != asked else ""

    def close(self) -> None:
        """The answer is in memory."""


class _NoHistory(GraphWalker):
    """We have no commits that a server could leave out."""

    def __init__(self) -> None:
        self.shallow: set[ObjectID] = set()
        self.unshallow: set[ObjectID] = set()

    def __next__(self) -> None:
        return None

    def ack(self, sha: ObjectID) -> None:
        """Nothing is known, so nothing can be acknowledged."""

    def nak(self) -> None:
        """Nothing is known."""


@contextmanager
def _errors() -> Iterator[None]:
    """Makes PackageError of what dulwich raises for an answer. A hostile one may be anything: names that are no UTF-8,
    numbers that are none."""
    try:
        yield
    except PackageError:
        raise
    except GitProtocolError as error:
        raise PackageError("Unreachable", str(error)[:_LONGEST]) from None
    except OSError as error:
        raise PackageError("Unreachable", f"cannot be written to {error.filename}: {error.strerror}") from None
    except Exception as error:
        raise PackageError("Malformed", f"the answer is not git's: {str(error)[:_LONGEST]}") from None
