"""Sources in git: what a location means, what is fetched, and what is refused of a repository.

Level: sandbox.
"""

import asyncio
import os
import shutil
from collections.abc import AsyncIterator
from itertools import islice
from pathlib import Path

import pytest

from hookrunner.packages.directory_source import DirectorySource
from hookrunner.packages.git.git_source import GitSource
from hookrunner.packages.package import parse_package
from hookrunner.packages.publishing.directory_target import DirectoryTarget
from hookrunner.packages.publishing.source_mirror import MirrorRequest, mirror
from tests.packages.git_place import GitPlace, git_place
from tests.packages.places import FILES, refusal_of, with_checksums
from tests.tables import each

pytestmark = pytest.mark.slow
REFS, POSTED = "/addons.git/info/refs", "/addons.git/git-upload-pack"
CHANNEL = b"manifests: [{version: 1.0.0}]\n"
SHA = "1234567890" * 4


@pytest.fixture
async def place(tmp_path: Path) -> AsyncIterator[GitPlace]:
    async with git_place(tmp_path) as place:
        yield place


@pytest.fixture
async def files(tmp_path: Path) -> AsyncIterator[GitPlace]:
    async with git_place(tmp_path, is_web=False) as place:
        yield place


def put_versions(place: GitPlace) -> dict[str, str]:
    """Commits by the names that mean them: a file `stable` that names each."""
    commits = {}
    for name in ("first", "release", "both", "main"):
        place.put_channel("stable", f"manifests: [] # {name}\n".encode())
        commits[name] = place.repository.git("rev-parse", "HEAD")
    git = place.repository.git
    git("tag", "v1.34.2", commits["first"])
    git("tag", "--annotate", "--message", "x", "v2", commits["release"])
    git("tag", "--annotate", "--message", "x", "both", commits["both"])
    git("branch", "both", commits["main"])
    git("branch", "release/1.0", commits["release"])
    return commits


REFERENCES = [
    ("", "main"),
    ("?ref=main", "main"),
    ("?ref=refs/heads/both", "main"),
    ("?ref=both", "both"),
    ("?ref=v2", "release"),
    ("?ref=release/1.0", "release"),
    ("?ref=v{kubernetes}", "first"),
]


async def require_references(place: GitPlace) -> None:
    commits, read = put_versions(place), {}
    for text, _ in REFERENCES:
        source = place.source_at(f"git::{place.url}{text}", kubernetes="v1.34.2-gke.100")
        read[text] = (await source.read_channel("stable")).split()[-1], source.commit
    assert read == {text: (name, commits[name]) for text, name in REFERENCES}


@pytest.mark.parametrize("protocol", ["version=2", ""], ids=["now", "old"])
async def test_a_reference_is_a_branch_a_tag_or_the_default(place: GitPlace, protocol: str) -> None:
    place.protocol = protocol
    await require_references(place)


async def test_references_in_files_mean_the_same(files: GitPlace) -> None:
    await require_references(files)


async def test_a_commit_that_is_named_is_fetched_without_a_question(place: GitPlace) -> None:
    commit = put_versions(place)["first"]
    source = place.source_at(f"git::{place.url}?ref={commit}")
    assert await source.read_channel("stable") == "manifests: [] # first\n"
    place.requests.clear()
    assert await source.read_channel("stable") == "manifests: [] # first\n"
    assert place.requests == []


async def test_an_unchanged_commit_costs_the_question_alone(place: GitPlace) -> None:
    place.put_channel("stable", CHANNEL)
    place.put_package("coredns", "1.0.0", with_checksums(FILES))
    await place.source.read_channel("stable")
    assert [name for name, _ in place.requests].count("fetch") == 1
    place.requests.clear()
    source = place.source_at(f"git::{place.url}")
    await source.read_channel("stable")
    package = await source.read_package("coredns", "1.0.0")
    assert await source.read_digest("coredns", "1.0.0") == package.digest
    assert place.requests == [("GET", REFS), ("POST", POSTED)]


async def test_all_who_look_at_once_share_one_question(place: GitPlace) -> None:
    place.put_channel("stable", CHANNEL)
    sources = [place.source_at(f"git::{place.url}") for _ in range(20)]
    await asyncio.gather(*(source.read_channel("stable") for source in sources))
    assert [name for name, _ in place.requests].count("fetch") == 1


async def test_packages_are_of_the_commit_of_their_channel(place: GitPlace) -> None:
    place.put_package("coredns", "1.0.0", FILES)
    place.put_channel("stable", CHANNEL)
    await place.source.read_channel("stable")
    place.put_package("coredns", "1.0.0", {"manifest.yaml": b"kind: Changed\n"})
    assert await place.source.read_package("coredns", "1.0.0") == parse_package("coredns", "1.0.0", FILES)


async def test_a_mirror_has_the_bytes_of_one_commit(place: GitPlace, tmp_path: Path) -> None:
    files, target = with_checksums(FILES), tmp_path / "mirror"
    place.put_package("coredns", "1.0.0", files)
    place.put_channel("stable", CHANNEL)
    work = mirror(place.source, [MirrorRequest("coredns", (), ("stable",))], DirectoryTarget.opened(target))
    done = [await anext(work)]
    place.put_channel("stable", b"manifests: [{version: 2.0.0}]\n")
    done += [one async for one in work]
    assert [(one.name, one.missing) for one in done] == [("coredns 1.0.0", ()), ("channel stable", ())]
    assert (done[0].digest, (target / "stable").read_bytes()) == (
        parse_package("coredns", "1.0.0", files).digest,
        CHANNEL,
    )
    assert await DirectorySource(target).read_files("coredns", "1.0.0") == files
    assert [name for name, _ in place.requests].count("fetch") == 1


class Pushed(GitSource):
    """One to whose repository new channels are pushed before each of the first two is read."""

    texts = (b"manifests: []\n", CHANNEL)

    def __init__(self, place: GitPlace) -> None:
        super().__init__(place.location(f"git::{place.url}").at(""), place.checkouts)
        self._pushes = iter(self.texts)
        self._place = place

    async def read_channel(self, name: str) -> str:
        for text in islice(self._pushes, 1):
            self._place.put_channel("edge", text)
            self._place.put_channel("stable", text)
        return await super().read_channel(name)


async def test_a_mirror_has_channels_of_one_commit(files: GitPlace, tmp_path: Path) -> None:
    files.put_package("coredns", "1.0.0", FILES)
    request, target = MirrorRequest("coredns", ("1.0.0",), ("edge", "stable")), tmp_path / "mirror"
    assert len([one async for one in mirror(Pushed(files), [request], DirectoryTarget.opened(target))]) == 3
    assert [(target / name).read_bytes() for name in request.channels] == [CHANNEL, CHANNEL]


async def test_history_is_not_fetched(place: GitPlace, tmp_path: Path) -> None:
    """A pack with the large file of an earlier commit would be too large."""
    place.put_channel("large", os.urandom(1 << 20))
    (place.repository.directory / "large").unlink()
    place.put_channel("stable", CHANNEL)
    checkout = await place.checkouts.look(place.location(f"git::{place.url}"))
    assert await checkout.source.read_channel("stable") == CHANNEL.decode()
    assert max(place.sent) < 10_000


async def test_a_branch_that_was_forced_elsewhere_is_followed_and_the_old_files_go(
    place: GitPlace, tmp_path: Path
) -> None:
    place.put_channel("stable", CHANNEL)
    assert await place.source.read_channel("stable") == CHANNEL.decode()
    place.repository.git("checkout", "--quiet", "--orphan", "other")
    place.put_channel("stable", b"manifests: []\n")
    place.repository.git("branch", "--force", "main")
    assert await place.source.read_channel("stable") == "manifests: []\n"
    place.put_channel("edge", CHANNEL)
    place.repository.git("branch", "--force", "main")
    await place.source.read_channel("stable")
    assert len(os.listdir(tmp_path / "checkouts")) <= 2


async def test_repositories_that_are_looked_at_side_by_side_keep_their_files(files: GitPlace, tmp_path: Path) -> None:
    others = [GitPlace(tmp_path / f"{number}.git", files.reader, tmp_path / "unused") for number in range(6)]
    for place in others:
        place.put_channel("stable", CHANNEL)
    sources = [place.source_at(f"git::{place.url}", files.checkouts) for place in others]
    assert {*await asyncio.gather(*(source.read_channel("stable") for source in sources))} == {CHANNEL.decode()}
    assert len(os.listdir(tmp_path / "checkouts")) == len(others)


async def test_files_that_a_cleaner_has_deleted_are_fetched_again(place: GitPlace, tmp_path: Path) -> None:
    place.put_channel("stable", CHANNEL)
    await place.source.read_channel("stable")
    shutil.rmtree(tmp_path / "checkouts")
    assert await place.source.read_channel("stable") == CHANNEL.decode()


async def test_a_directory_of_the_repository_is_the_source(files: GitPlace) -> None:
    directory = files.repository.directory / "deploy/addons {1.34}"
    directory.mkdir(parents=True)
    (directory / "stable").write_bytes(CHANNEL)
    files.repository.commit()
    source = files.source_at(f"git::{files.url}//deploy/addons {{{{kubernetes}}}}", kubernetes="v1.34")
    assert await source.read_channel("stable") == CHANNEL.decode()


# ── what is refused ───────────────────────────────────────────────────────────────────────────────────────────────────


@each(
    "text, reason, problem",
    [
        ("?ref=gone", "NotFound", "no branch or tag has the name 'gone'; correct the part behind '?ref='"),
        ("?ref=1234567", "NotFound", "'1234567'; a commit is written with all its 40 digits"),
        (f"?ref={SHA}", "Unreachable", f"not our ref {SHA}"),
        ("//gone", "NotFound", "has no directory 'gone' in the commit"),
        ("//stable", "NotFound", "has no directory 'stable' in the commit"),
        ("//module", "NotFound", "has no directory 'module' in the commit"),
    ],
)
async def test_what_the_repository_does_not_have(place: GitPlace, text: str, reason: str, problem: str) -> None:
    place.repository.git("update-index", "--add", "--cacheinfo", f"160000,{SHA},module")
    place.put_channel("stable", CHANNEL)
    error = await refusal_of(place.source_at(f"git::{place.url}{text}").read_channel("stable"))
    assert (error.reason, problem in str(error)) == (reason, True), error
    assert str(error).startswith(f"git::{place.url}{text}: ")


async def test_an_empty_repository_and_none_are_named(files: GitPlace, tmp_path: Path) -> None:
    files.repository.git("init", "--quiet", "--bare", str(tmp_path / "empty.git"))
    error = await refusal_of(files.source_at(f"git::{tmp_path}/empty.git").read_channel("stable"))
    assert (error.reason, "no commit yet, or no default branch" in str(error)) == ("NotFound", True)
    error = await refusal_of(files.source_at(f"git::{tmp_path}/none").read_channel("stable"))
    assert (error.reason, "is no git repository" in str(error)) == ("Unreachable", True)


async def test_submodules_and_lfs_are_refused_where_they_are_needed(files: GitPlace) -> None:
    for version in ("1.0.0", "2.0.0", "3.0.0"):
        files.put_package("coredns", version, FILES)
    pointer = b"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n"
    files.put_package("coredns", "2.0.0", {"manifest.yaml": pointer})
    (files.repository.directory / "stable").write_bytes(pointer)
    files.repository.git("add", "--all")
    files.repository.git("update-index", "--add", "--cacheinfo", f"160000,{SHA},packages/coredns/3.0.0/crds")
    files.repository.git("update-index", "--add", "--cacheinfo", f"160000,{SHA},packages/flannel")
    files.repository.git("commit", "--quiet", "--message", "more")
    said = [str(await refusal_of(files.source.read_channel("stable")))]
    said += [str(await refusal_of(files.source.read_package("coredns", version))) for version in ("2.0.0", "3.0.0")]
    said += [str(await refusal_of(files.source.read_package("flannel", "1.0.0")))]
    assert [("Git LFS" in text, "is a submodule, which is not fetched" in text) for text in said] == [
        (True, False),
        (True, False),
        (False, True),
        (False, True),
    ]
    assert (await files.source.read_package("coredns", "1.0.0")).files == FILES


async def test_links_stay_inside(files: GitPlace) -> None:
    root = files.repository.directory
    (root / "edge").write_bytes(CHANNEL)
    (root / "stable").symlink_to("edge")
    (root / "outside").symlink_to("/etc/hostname")
    files.put_package("coredns", "1.0.0", FILES)
    (root / "packages/coredns/latest").symlink_to("1.0.0")
    files.repository.commit()
    assert await files.source.read_channel("stable") == CHANNEL.decode()
    assert (await files.source.read_package("coredns", "latest")).files == FILES
    assert "by a symbolic link" in str(await refusal_of(files.source.read_channel("outside")))


async def test_trees_that_no_git_makes_write_nothing_elsewhere(files: GitPlace, tmp_path: Path) -> None:
    repository, outside = files.repository, tmp_path / "outside"
    outside.mkdir()
    blob, link = repository.write_blob(b"x"), repository.write_blob(str(outside).encode())
    inner = repository.write_tree((0o100644, b"stolen", blob))
    trees = [
        ((0o120000, b"a", link), (0o40000, b"a", inner)),
        ((0o40000, b"a", inner), (0o120000, b"a", link)),
        ((0o40000, b"..", inner),),
        ((0o100644, b"../outside/stolen", blob),),
        ((0o100644, b".GIT", blob),),
        ((0o100644, b"", blob),),
        ((0o60000, b"device", blob),),
        ((0o40000, b"blob", blob),),
        ((0o100644, b"tree", inner),),
        ((0o120000, b"link", repository.write_blob(b"a\0b")),),
        ((0o100644, b"missing", SHA),),
    ]
    said = []
    for entries in trees:
        repository.commit_tree(repository.write_tree(*entries))
        said.append((await refusal_of(files.source.read_channel("stable"))).reason)
    assert said == ["NoChannel"] * 2 + ["Malformed"] * (len(trees) - 2), "of two with one name, dulwich takes one"
    assert (os.listdir(outside), len(os.listdir(tmp_path / "checkouts"))) == ([], 1)


async def test_a_repository_that_unpacks_to_more_than_allowed_is_refused(files: GitPlace, tmp_path: Path) -> None:
    repository = files.repository
    blob = repository.write_blob(bytes(5 << 20))
    tree = repository.write_tree(*((0o100644, b"f%05d" % number, blob) for number in range(20_001)))
    repository.commit_tree(tree)
    assert "more than 20,000 files and directories" in str(await refusal_of(files.source.read_channel("stable")))
    repository.commit_tree(repository.write_tree(*((0o100644, b"f%03d" % number, blob) for number in range(30))))
    assert "more than 128 MiB" in str(await refusal_of(files.source.read_channel("stable")))
    assert os.listdir(tmp_path / "checkouts") == []


async def test_a_file_that_is_too_large_is_refused_with_its_package_alone(files: GitPlace) -> None:
    files.put_package("coredns", "1.0.0", FILES)
    files.put_package("coredns", "2.0.0", {"manifest.yaml": bytes((5 << 20) + 2)})
    assert (await refusal_of(files.source.read_package("coredns", "2.0.0"))).reason == "TooLarge"
    assert (await files.source.read_package("coredns", "1.0.0")).files == FILES
