"""Locations in git repositories: `git::URL[//SUB][?ref=REF]`.

    location = parse_git_location("git::https://example.com/addons.git//coredns?ref=v2", base=Path("/addons/coredns"))
    location.at("v1.34.2")                          # `{kubernetes}` is the cluster's version

SUB is the directory that has the channels, by default the top one. REF is a branch, a tag or a commit of 40 digits;
without it the repository's own default (HEAD) counts. URL is https, http where a web server may be one, or a path on
this machine. ssh is left out: it needs keys, known hosts and a client of its own, and https serves the same files.
Source: https://developer.hashicorp.com/terraform/language/modules/sources#generic-git-repository
"""

import re
from dataclasses import replace
from pathlib import Path

from hookrunner.packages.channels import release_of
from hookrunner.packages.web_addresses import check_base, without_credentials
from kubetypes.light_dataclasses import dataclass

GIT = "git::"
_COMMIT = re.compile("[0-9a-f]{40}")
_URL = re.compile(r"(https?://[^/]*)?(.*?)(//(.*))?", re.DOTALL)
"""The server, the repository, the directory in it."""
_FORM = "write git::https://HOST/REPOSITORY//DIRECTORY?ref=BRANCH"
_NO_REF = re.compile(r"[\x00-\x20\x7f~^:?*\[\\]|\.\.|@\{|//|^[-/.]|[/.]$|\.lock$")
"""Source: git-check-ref-format(1)"""


@dataclass(frozen=True, slots=True)
class GitLocation:
    """A directory of a repository. `url` is an address or a path on this machine, `directory` "" for the top, `ref` ""
    for the default branch."""

    url: str
    directory: str = ""
    ref: str = ""

    @property
    def is_web(self) -> bool:
        """Is it asked over HTTP? Otherwise it is a path on this machine."""
        return self.url.startswith(("https://", "http://"))

    @property
    def commit(self) -> str:
        """The commit if REF is one, else ""."""
        return self.ref if _COMMIT.fullmatch(self.ref) else ""

    @property
    def repository(self) -> str:
        """The repository for messages, without user and password."""
        return without_credentials(self.url) if self.is_web else self.url

    def at(self, kubernetes: str) -> "GitLocation":
        """The same for a cluster of this version."""
        version = release_of(kubernetes).removeprefix("v")
        fields = {key: getattr(self, key).replace("{kubernetes}", version) for key in ("url", "directory", "ref")}
        return replace(self, **fields)

    def __str__(self) -> str:
        directory, ref = self.directory and f"//{self.directory}", self.ref and f"?ref={self.ref}"
        return f"{GIT}{self.repository}{directory}{ref}"


def parse_git_location(text: str, base: Path, plain_http: bool = False) -> GitLocation:
    """The location that a text means; a relative path is relative to `base`. Raises ValueError with what is wrong and
    how to write it."""
    address, question, query = text.removeprefix(GIT).partition("?")
    ref = query.removeprefix("ref=")
    if question and (not ref or ref == query or _NO_REF.search(ref)):
        raise ValueError(f"the part behind '?' names no branch, tag or commit; {_FORM}")
    local = re.sub("^file:(//)?", "", address)
    match = _URL.fullmatch(local)
    assert match
    server, path, directory = match[1] or "", match[2].rstrip("/"), (match[4] or "").strip("/")
    if any(part in ("", ".", "..") for part in directory.split("/")[: len(directory)]) or "\0" in directory:
        raise ValueError(f"the part behind '//' is no plain path in the repository; {_FORM}")
    if server:
        check_base(server + path, plain_http)
        return GitLocation(server + path, directory, ref)
    if not path or (local == address and re.match(r"[a-zA-Z][a-zA-Z0-9+.-]*:|[^/]*@", path)):
        problem = "ssh and git:// are not supported, https is" if path else "it names no repository"
        raise ValueError(f"'{GIT}' takes an address or a path: {problem}; {_FORM}")
    return GitLocation(str(base / path), directory, ref)
