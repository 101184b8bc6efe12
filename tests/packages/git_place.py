"""Repositories in tests, as files and behind Git's own `git http-backend`, whose answers can be replaced.

async with git_place(directory) as place:
    place.put_channel("stable", b"…")                    # each is a commit
    place.git("tag", "--annotate", "--message", "x", "v1")
    place.answers["/addons.git/git-upload-pack"] = Answer(body=None)
"""

import asyncio
import os
import subprocess
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

from aiohttp import web
from aiohttp.abc import AbstractResolver

from hookrunner.packages.git.git_checkouts import GitCheckouts
from hookrunner.packages.git.git_source import GitSource
from hookrunner.packages.git_locations import GitLocation, parse_git_location
from hookrunner.packages.host_credentials import CredentialsFile
from hookrunner.packages.https_reader import HttpsReader
from tests.packages.places import DirectoryPlace
from tests.packages.web_place import Answer, make_tls, make_trust, serve

USER = {"GIT_AUTHOR_NAME": "a", "GIT_AUTHOR_EMAIL": "a@b", "GIT_COMMITTER_NAME": "a", "GIT_COMMITTER_EMAIL": "a@b"}


class Repository:
    """A repository with one branch, `main`, made with the program `git`."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        directory.mkdir(parents=True)
        self.git("init", "--quiet", "--initial-branch=main", ".")
        self.git("commit", "--quiet", "--allow-empty", "--message", "first")

    def git(self, *words: str, given: bytes = b"") -> str:
        """Run git here; what it prints."""
        environ = {"PATH": os.environ["PATH"], "HOME": str(self.directory), "GIT_CONFIG_NOSYSTEM": "1", **USER}
        done = subprocess.run(
            ["git", *words], cwd=self.directory, env=environ, input=given, capture_output=True, check=True
        )
        return done.stdout.decode().strip()

    def commit(self) -> str:
        """Commit all that is in the directory; its name."""
        self.git("add", "--all")
        self.git("commit", "--quiet", "--allow-empty", "--message", "more")
        return self.git("rev-parse", "HEAD")

    def write_blob(self, data: bytes) -> str:
        """A file's content as an object; its name."""
        return self.git("hash-object", "-w", "--stdin", given=data)

    def write_tree(self, *entries: tuple[int, bytes, str]) -> str:
        """A directory with these entries (mode, name, object), which git itself would refuse to make; its name."""
        data = b"".join(b"%o %s\0%s" % (mode, name, bytes.fromhex(sha)) for mode, name, sha in entries)
        return self.git("hash-object", "-t", "tree", "--literally", "-w", "--stdin", given=data)

    def pack(self) -> bytes:
        """All objects, as a server sends them."""
        words = ["git", "pack-objects", "--stdout", "--all", "--quiet"]
        return subprocess.run(words, cwd=self.directory, input=b"", capture_output=True, check=True).stdout

    def commit_tree(self, tree: str) -> str:
        """Make this directory all that `main` has; the commit."""
        commit = self.git("commit-tree", "-m", "x", tree)
        self.git("update-ref", "refs/heads/main", commit)
        return commit


class GitServer:
    """A repository behind `git http-backend`. `requests` are those that came: the method, or `fetch` for objects, and
    the path; `sent` are the sizes of answers. With the `protocol` "" the server is an old one; `answers` by path and
    `fetch_answer` are sent in place of Git's; `required` is the header Authorization that is asked for."""

    def __init__(self, directory: Path) -> None:
        self.repository = Repository(directory)
        self.files = DirectoryPlace(directory)
        self.answers: dict[str, Answer] = {}
        self.fetch_answer: Answer | None = None
        self.protocol = "version=2"
        self.requests: list[tuple[str, str]] = []
        self.sent: list[int] = []
        self.required = ""

    def put_channel(self, name: str, text: bytes) -> None:
        self.files.put_channel(name, text)
        self.repository.commit()

    def put_package(self, component: str, version: str, files: Mapping[str, bytes]) -> None:
        self.files.put_package(component, version, files)
        self.repository.commit()

    async def handle(self, request: web.BaseRequest) -> web.StreamResponse:
        """Answer as a server of repositories does."""
        is_fetch = b"want " in await request.read()
        self.requests.append(("fetch" if is_fetch else request.method, request.path))
        if answer := (self.fetch_answer if is_fetch else None) or self.answers.get(request.path):
            if answer.body is None:
                await asyncio.Event().wait()
            return web.Response(status=answer.status, headers=answer.headers, body=answer.body)
        if self.required and request.headers.get("Authorization") != self.required:
            return web.Response(status=401)
        response = await self._run_backend(request)
        assert isinstance(response.body, bytes)
        self.sent.append(len(response.body))
        return response

    async def _run_backend(self, request: web.BaseRequest) -> web.Response:
        """CGI. Source: git-http-backend(1)"""
        variables = {
            "GIT_PROJECT_ROOT": str(self.repository.directory.parent),
            "GIT_HTTP_EXPORT_ALL": "1",
            "GIT_PROTOCOL": self.protocol and request.headers.get("Git-Protocol", ""),
            "PATH_INFO": request.path,
            "QUERY_STRING": request.query_string,
            "REQUEST_METHOD": request.method,
            "CONTENT_TYPE": request.headers.get("Content-Type", ""),
            "HOME": str(self.repository.directory),
            "PATH": os.environ["PATH"],
        }
        pipe = asyncio.subprocess.PIPE
        process = await asyncio.create_subprocess_exec("git", "http-backend", env=variables, stdin=pipe, stdout=pipe)
        output, _ = await process.communicate(await request.read())
        head, _, body = output.partition(b"\r\n\r\n")
        headers = dict(_parse_headers(head))
        return web.Response(status=int(headers.pop("Status", "200").split()[0]), headers=headers, body=body)


class GitPlace(GitServer):
    """A repository and its source."""

    def __init__(self, directory: Path, reader: HttpsReader, checkouts: Path) -> None:
        super().__init__(directory)
        self.reader = reader
        self.logins = directory.parent / "config.json"
        self.logins.write_text("{}")
        self.credentials = CredentialsFile(self.logins)
        self.checkouts = GitCheckouts(checkouts, reader, self.credentials, timeout=30.0)
        self.serve_at(f"file:{directory}")

    def serve_at(self, url: str) -> None:
        self.url = url
        self.source = self.source_at(f"git::{url}")

    def source_at(self, text: str, checkouts: GitCheckouts | None = None, kubernetes: str = "") -> GitSource:
        return GitSource(self.location(text).at(kubernetes), checkouts or self.checkouts)

    def location(self, text: str) -> GitLocation:
        return parse_git_location(text, Path("/"), plain_http=True)


def _parse_headers(head: bytes) -> Iterator[tuple[str, str]]:
    for line in head.decode().split("\r\n"):
        name, _, value = line.partition(": ")
        yield name, value


@asynccontextmanager
async def git_place(
    directory: Path, is_web: bool = True, names: AbstractResolver | None = None
) -> AsyncIterator[GitPlace]:
    """A repository `addons.git` below the directory, asked over HTTPS or as files."""
    async with HttpsReader(make_trust(directory), resolver=names) as reader:
        place = GitPlace(directory / "addons.git", reader, directory / "checkouts")
        async with serve(place.handle, make_tls(directory)) as base:
            if is_web:
                place.serve_at(f"{base}/addons.git")
            yield place
