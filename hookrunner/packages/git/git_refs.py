"""Which commit a name means, of the references that a repository has: values that need no git library.

    find_commit({"refs/tags/v2": "6a1…", "refs/tags/v2^{}": "2fd…"}, "v2")      # NamedCommit("6a1…", "2fd…")

A tag wins over a branch of its name, as for git itself.
Source: gitrevisions(7)
"""

from collections.abc import Mapping
from dataclasses import field
from pathlib import Path
from typing import NamedTuple

from kubetypes.light_dataclasses import dataclass

PEELED = "^{}"
"""Behind the name of an annotated tag: the commit that it is for."""


class NamedCommit(NamedTuple):
    """What a name means: the object that is fetched, which is an annotated tag or the commit itself, and the commit."""

    want: str
    commit: str


@dataclass(frozen=True, slots=True)
class CheckedOut:
    """A commit whose files are written to `tree`. `problems` are by path: what is not there, and why."""

    commit: str
    tree: Path
    problems: dict[str, str] = field(default_factory=dict)


def ref_names(ref: str) -> list[str]:
    """The full names that a reference in a location may have; the first that exists counts. "" is the default."""
    if not ref:
        return ["HEAD"]
    return [ref] if ref.startswith("refs/") else [f"refs/tags/{ref}", f"refs/heads/{ref}"]


def find_commit(refs: Mapping[str, str], ref: str) -> NamedCommit | None:
    """The commit that a reference means, None if there is no such one."""
    for name in ref_names(ref):
        if want := refs.get(name):
            return NamedCommit(want, refs.get(name + PEELED, want))
    return None
