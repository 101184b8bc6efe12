"""Writes the files of one commit: of a pack that a server sent, or of a repository on this machine.

    checked_out = check_out(Path("fetch.pack"), want="6a1…", directory="addons", target=Path("tree"))
    checked_out.commit, checked_out.problems        # {"packages/coredns/1.14.6/crds": "is a submodule; …"}

What a server sent is hostile until shown otherwise, and may take long to look at: the call is made in a process of its
own (`process/pure_calls.py`), which writes below `target` alone. An entry is made only if nothing has its name, so that
no link that the repository has can lead a file elsewhere. Links are written as they are: what reads the directory
judges where they lead, as in each directory. Submodules and files that are kept by LFS are not here; they are reported
as problems of their paths, and only who needs them fails. A file that is too large is cut off behind the bound, so that
its package is refused, and the others are not.
Source: gitformat-pack(5), git-lfs/docs/spec.md
"""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from stat import S_ISDIR, S_ISLNK, S_ISREG
from typing import TypeVar

from dulwich.errors import NotGitRepository
from dulwich.object_format import DEFAULT_OBJECT_FORMAT
from dulwich.objects import S_ISGITLINK, Blob, Commit, ObjectID, ShaFile, Tag, Tree
from dulwich.pack import MemoryPackIndex, Pack, PackData
from dulwich.refs import Ref
from dulwich.repo import Repo

from hookrunner import safe_files
from hookrunner.errors import PackageError
from hookrunner.packages.git.git_refs import PEELED, CheckedOut, NamedCommit, find_commit, ref_names
from hookrunner.packages.names import LARGEST_FILE, LARGEST_UNPACKED, MOST_ENTRIES, shown
from kubetypes.bounds import in_units

_MOST_TAGS = 5
"""Tags of tags until a commit."""
_SUBMODULE = "is a submodule, which is not fetched; put its files into the repository"
_LFS = "is kept by Git LFS, from which nothing is fetched; put the file itself into the repository"
_LFS_POINTER = b"version https://git-lfs.github.com/spec/"
_NO_NAMES = frozenset((b"", b".", b"..", b".git"))

_Kind = TypeVar("_Kind", bound=ShaFile)
_Objects = Callable[[bytes], ShaFile]


class _Bounds:
    """What is written so far."""

    def __init__(self) -> None:
        self._entries = self._size = 0

    def count(self, entries: int, size: int) -> None:
        """Some more. Raises PackageError beyond a bound."""
        self._entries, self._size = self._entries + entries, self._size + size
        if self._entries > MOST_ENTRIES:
            raise PackageError("TooLarge", f"has more than {MOST_ENTRIES:,} files and directories; {_SMALLER}")
        if self._size > LARGEST_UNPACKED:
            raise PackageError("TooLarge", f"has more than {in_units(LARGEST_UNPACKED)}; {_SMALLER}")


_SMALLER = "keep packages in a repository or a directory of their own"


def check_out(source: Path, want: str, directory: str, target: Path) -> CheckedOut:
    """Write the files below `directory` of the commit that `want` is, or is a tag of, to `target`. `source` is a file
    with a pack, or the directory of a repository. Raises PackageError, whose message begins with a verb."""
    with _errors():
        objects = _open_pack(source) if source.is_file() else _open_repository(source).__getitem__
        commit = _find_commit(objects, want)
        problems = _write_tree(objects, _find_tree(objects, commit, directory), target)
        return CheckedOut(commit.id.decode(), target, problems)


def find_local_commit(repository: Path, ref: str) -> NamedCommit | None:
    """The commit that a reference means in a repository on this machine. Raises PackageError."""
    refs: dict[str, str] = {}
    with _errors(), _open_repository(repository) as repo:
        for name in ref_names(ref):
            with suppress(KeyError):
                refs[name] = repo.refs[Ref(name.encode())].decode()
                refs[name + PEELED] = _find_commit(repo.__getitem__, refs[name]).id.decode()
    return find_commit(refs, ref)


@contextmanager
def _errors() -> Iterator[None]:
    """Makes PackageError of what is raised about damaged and hostile objects, which may be anything."""
    try:
        yield
    except (PackageError, MemoryError):
        raise
    except FileExistsError as error:
        raise PackageError("Malformed", f"has the name {error.filename} twice; repair the repository") from None
    except OSError as error:
        text = f"cannot be read, or written to {error.filename}: {error.strerror}; see --tmp-dir"
        raise PackageError("Unreachable", text) from None
    except Exception as error:
        raise PackageError("Malformed", f"is damaged: {error}; repair the repository") from None


def _open_pack(file: Path) -> _Objects:
    data = PackData.from_path(file, DEFAULT_OBJECT_FORMAT)
    pack = Pack.from_objects(data, MemoryPackIndex.for_pack(data))
    return lambda name: pack[ObjectID(name)]


def _open_repository(directory: Path) -> Repo:
    try:
        return Repo(str(directory))
    except NotGitRepository:
        raise PackageError(
            "Unreachable", "is no git repository; name the directory with its .git or its refs"
        ) from None


def _find_commit(objects: _Objects, want: str) -> Commit:
    found = objects(want.encode())
    for _ in range(_MOST_TAGS):
        if not isinstance(found, Tag):
            break
        found = objects(found.object[1])
    if not isinstance(found, Commit):
        raise PackageError("Malformed", f"has no commit {want}, but a {found.type_name.decode()}; name another one")
    return found


def _find_tree(objects: _Objects, commit: Commit, directory: str) -> Tree:
    """The directory of the repository that is the source."""
    tree = objects(commit.tree)
    for name in filter(None, directory.split("/")):
        modes = {entry.path: (entry.mode, entry.sha) for entry in tree.iteritems()} if isinstance(tree, Tree) else {}
        mode, sha = modes.get(os.fsencode(name), (0, b""))
        if not S_ISDIR(mode) or S_ISGITLINK(mode):
            text = (
                f"has no directory {shown(directory)} in the commit {commit.id.decode()}; correct the part behind '//'"
            )
            raise PackageError("NotFound", text)
        tree = objects(sha)
    if not isinstance(tree, Tree):
        raise ValueError(f"{tree.id!r} is no tree")
    return tree


def _write_tree(objects: _Objects, top: Tree, target: Path) -> dict[str, str]:
    """The problems."""
    target.mkdir(0o700)
    bounds, problems, waiting = _Bounds(), dict[str, str](), [("", top)]
    while waiting:
        prefix, tree = waiting.pop()
        bounds.count(entries=len(tree), size=0)
        for path, mode, sha in _entries(prefix, tree):
            if S_ISGITLINK(mode):
                problems[path] = _SUBMODULE
            elif S_ISDIR(mode):
                os.mkdir(target / path, 0o700)
                waiting.append((f"{path}/", _require(objects(sha), Tree)))
            else:
                data = _require(objects(sha), Blob).data
                bounds.count(entries=0, size=len(data))
                if data.startswith(_LFS_POINTER):
                    problems[path] = _LFS
                _write_file(target / path, mode, data)
    return problems


def _entries(prefix: str, tree: Tree) -> Iterator[tuple[str, int, bytes]]:
    for entry in tree.iteritems():
        assert entry.path is not None
        assert entry.mode is not None
        assert entry.sha is not None
        if entry.path.lower() in _NO_NAMES or b"/" in entry.path or b"\0" in entry.path:
            raise ValueError(f"{prefix!r} has an entry {entry.path!r}")
        yield prefix + os.fsdecode(entry.path), entry.mode, entry.sha


def _write_file(file: Path, mode: int, data: bytes) -> None:
    if S_ISLNK(mode):
        os.symlink(os.fsdecode(data), file)
    elif S_ISREG(mode):
        with open(safe_files.create_file(file, 0o400), "wb") as opened:
            opened.write(data[: LARGEST_FILE + 1])
    else:
        raise ValueError(f"{file.name!r} has the mode {mode:o}")


def _require(found: ShaFile, kind: type[_Kind]) -> _Kind:
    if not isinstance(found, kind):
        raise ValueError(f"{found.id!r} is no {kind.type_name.decode()}")
    return found
