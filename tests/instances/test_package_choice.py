"""Which package an instance gets, and when its source is asked. Level: pure."""

import shutil
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from hookrunner.addons.instance_build import ChosenPackage
from hookrunner.instances.package_choice import PackageChoice
from hookrunner.metrics.names import Metrics
from hookrunner.model.addon_status import AddonObstacle
from hookrunner.model.addons import ACCEPT_DIGEST, RECONCILE, CommonFields, Instance
from hookrunner.model.releases import Head
from hookrunner.packages.directory_source import DirectorySource
from hookrunner.packages.package import parse_package
from hookrunner.packages.package_cache import PackageCache
from hookrunner.packages.package_fetcher import PackageFetcher
from hookrunner.packages.source_locations import PackageSource
from tests.instances.samples import ADDON, instance
from tests.packages.git_place import git_place
from tests.packages.places import FILES, with_checksums
from tests.packages.web_place import Answer, WebPlace, web_place

HEAD = Head("dns.default.x", "default", 3, "deployed", version="1.0")
CHANNEL = b"manifests: [{name: dns, version: %s}]\n"
DIGEST = parse_package("dns", "1.0", with_checksums(FILES)).digest
SETTLED = {
    "phase": "Current",
    "observedGeneration": 1,
    "version": "1.0",
    "revision": 3,
    "channel": "stable",
    "digest": DIGEST,
}


@pytest.fixture
async def place(tmp_path: Path) -> AsyncIterator[WebPlace]:
    async with web_place(tmp_path) as place:
        place.put_channel("stable", CHANNEL % b'"1.0"')
        for version in ("1.0", "2.0"):
            place.put_package("dns", version, with_checksums(FILES | {"version.yaml": version.encode()}))
        place.put_package("dns", "1.0", with_checksums(FILES))
        del place.files["/packages/dns/1.0/version.yaml"]
        yield place


@pytest.fixture
def cache(tmp_path: Path) -> PackageCache:
    return PackageCache(tmp_path / "cache", 1)


def choice_of(source: PackageSource, cache: PackageCache) -> PackageChoice:
    """One of a process that has just started."""
    addon = replace(ADDON, component="dns")
    metrics = Metrics("")
    return PackageChoice(addon, PackageFetcher(cache, "digest", metrics), lambda addon, kubernetes: source, metrics)


async def choose(
    choice: PackageChoice, seen: Instance, kubernetes: str = "1.34.2", head: Head = HEAD
) -> ChosenPackage | AddonObstacle:
    fields = CommonFields(channel="stable")
    return await choice.choose(replace(seen, fields=fields), seen.status, kubernetes, head)


async def chosen(choice: PackageChoice, seen: Instance, kubernetes: str = "1.34.2") -> ChosenPackage:
    answer = await choose(choice, seen, kubernetes)
    assert isinstance(answer, ChosenPackage), answer
    return answer


async def test_source_is_asked_once_for_the_same_spec(place: WebPlace, cache: PackageCache) -> None:
    choice = choice_of(place.source, cache)
    first = await chosen(choice, instance())
    assert (first.version.version, first.version.channel, first.package.digest) == ("1.0", "stable", DIGEST)
    place.requests.clear()
    assert await chosen(choice, instance()) == first
    assert place.requests == []


async def test_directory_that_a_cleaner_has_deleted_comes_back(place: WebPlace, cache: PackageCache) -> None:
    choice = choice_of(place.source, cache)
    first = await chosen(choice, instance())
    shutil.rmtree(first.directory)
    place.requests.clear()
    again = await chosen(choice, instance())
    assert (again.directory, again.directory.is_dir()) == (first.directory, True)
    assert place.requests == []


async def test_changed_spec_needs_neither_source_nor_directory_for_what_is_installed(
    place: WebPlace, cache: PackageCache
) -> None:
    choice = choice_of(place.source, cache)
    first = await chosen(choice, instance())
    shutil.rmtree(first.directory.parent)
    place.answers["/packages/dns/1.0/SHA256SUMS"] = Answer(status=503)
    again = await chosen(choice, instance(generation=2, status=SETTLED))
    assert (again.package.digest, again.directory, again.directory.is_dir()) == (DIGEST, first.directory, True)


async def test_directory_that_another_has_made_in_place_of_ours_is_not_used(
    place: WebPlace, cache: PackageCache
) -> None:
    choice = choice_of(place.source, cache)
    first = await chosen(choice, instance())
    shutil.rmtree(first.directory)
    first.directory.mkdir()
    (first.directory / "manifest.yaml").write_text("evil")
    again = await chosen(choice, instance())
    assert (again.directory / "manifest.yaml").read_bytes() == FILES["manifest.yaml"]


@pytest.mark.parametrize(
    ("seen", "kubernetes"),
    [
        (instance(generation=2), "1.34.2"),
        (instance(annotations={RECONCILE: "now"}), "1.34.2"),
        (instance(annotations={ACCEPT_DIGEST: DIGEST}), "1.34.2"),
        (instance(uid="u-2"), "1.34.2"),
        (instance(), "1.35.0"),
    ],
)
async def test_source_is_asked_when_something_has_changed(
    place: WebPlace, cache: PackageCache, seen: Instance, kubernetes: str
) -> None:
    choice = choice_of(place.source, cache)
    await chosen(choice, instance())
    place.put_channel("stable", CHANNEL % b'"2.0"')
    assert (await chosen(choice, seen, kubernetes)).version.version == "2.0"


async def test_source_is_asked_when_it_is_time(place: WebPlace, cache: PackageCache) -> None:
    choice = choice_of(place.source, cache)
    await chosen(choice, instance())
    place.put_channel("stable", CHANNEL % b'"2.0"')
    assert (await chosen(choice, instance())).version.version == "1.0"
    choice.expire()
    assert (await chosen(choice, instance())).version.version == "2.0"
    place.requests.clear()
    assert (await chosen(choice, instance())).version.version == "2.0"
    assert place.requests == []


async def test_channel_that_is_gone_changes_nothing_and_is_asked_for_again(
    place: WebPlace, cache: PackageCache
) -> None:
    choice, seen = choice_of(place.source, cache), instance(status=SETTLED)
    await chosen(choice, seen)
    channel = place.files.pop("/stable")
    choice.expire()
    for present in (seen, instance(generation=2, status=SETTLED)):
        version = (await chosen(choice, present)).version
        assert (version.version, version.channel, "'stable' does not exist" in version.unread) == (
            "1.0",
            "stable",
            True,
        )
    restored = await choose(choice, seen, head=replace(HEAD, note="pinned"))
    assert isinstance(restored, AddonObstacle)
    place.files["/stable"] = channel
    assert (await chosen(choice, seen)).version.unread == ""


async def test_restart_with_nothing_to_do_asks_no_source(place: WebPlace, cache: PackageCache) -> None:
    before = await chosen(choice_of(place.source, cache), instance())
    place.requests.clear()
    after = await chosen(choice_of(place.source, cache), instance(status=SETTLED))
    assert (after.package.files, after.version.version, after.version.channel) == (
        before.package.files,
        "1.0",
        "stable",
    )
    assert (after.directory, place.requests) == (before.directory, [])


async def test_restored_revision_is_not_what_the_spec_leads_to(place: WebPlace, cache: PackageCache) -> None:
    await chosen(choice_of(place.source, cache), instance())
    place.put_channel("stable", CHANNEL % b'"2.0"')
    pinned = replace(HEAD, note="pinned")
    after = await choose(choice_of(place.source, cache), instance(status=SETTLED), head=pinned)
    assert isinstance(after, ChosenPackage)
    assert after.version.version == "2.0"


@pytest.mark.parametrize(
    "changed",
    [
        {"phase": "PackageError"},
        {"observedGeneration": 0},
        {"version": "0.9"},
        {"revision": 2},
        {"digest": "sha256:" + "0" * 64},
        {"digest": None},
    ],
)
async def test_restart_asks_the_source_unless_the_status_is_about_what_is_installed(
    place: WebPlace, cache: PackageCache, changed: dict[str, object]
) -> None:
    await chosen(choice_of(place.source, cache), instance())
    place.requests.clear()
    await choose(choice_of(place.source, cache), instance(status=SETTLED | changed))
    assert "/stable" in [path for path, _ in place.requests]


async def test_directory_is_read_each_time(tmp_path: Path, cache: PackageCache) -> None:
    for version in ("1.0", "2.0"):
        for path, data in FILES.items():
            file = tmp_path / "source/packages/dns" / version / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(data)
    channel = tmp_path / "source/stable"
    channel.write_bytes(CHANNEL % b'"1.0"')
    choice = choice_of(DirectorySource(tmp_path / "source"), cache)
    assert (await chosen(choice, instance())).version.version == "1.0"
    channel.write_bytes(CHANNEL % b'"2.0"')
    assert (await chosen(choice, instance())).version.version == "2.0"


async def test_directories_stay_while_a_hook_may_read_them_and_no_longer(place: WebPlace, cache: PackageCache) -> None:
    """The cache is too small for anything that is not in use."""
    for version in ("2.0", "3.0", "4.0"):
        place.put_package("dns", version, with_checksums(FILES | {"version.yaml": version.encode()}))
    choice, directories = choice_of(place.source, cache), []
    for number in (b'"1.0"', b'"2.0"', b'"3.0"', b'"4.0"'):
        place.put_channel("stable", CHANNEL % number)
        choice.expire()
        directories.append((await chosen(choice, instance())).directory)
    cache.store(parse_package("dns", "8.0", FILES | {"other.yaml": b""}))
    assert [directory.is_dir() for directory in directories] == [False, False, True, True]
    choice.close()
    cache.store(parse_package("dns", "9.0", FILES | {"more.yaml": b""}))
    assert [directory.is_dir() for directory in directories] == [False] * 4


async def test_source_that_is_down_is_an_obstacle(place: WebPlace, cache: PackageCache) -> None:
    place.files.clear()
    answer = await choose(choice_of(place.source, cache), instance())
    assert isinstance(answer, AddonObstacle)
    assert (answer.phase, answer.reason) == ("VersionMismatch", "NoChannel")


async def test_channel_that_has_become_older_moves_nothing_also_after_a_restart(
    place: WebPlace, cache: PackageCache
) -> None:
    numbered = b"manifests: [{name: dns, version: %s}]\nserial: %d\n"
    place.put_channel("stable", numbered % (b'"1.0"', 7))
    assert (await chosen(choice_of(place.source, cache), instance())).version.serial == 7
    place.put_channel("stable", numbered % (b'"2.0"', 6))
    edited = instance(generation=2, status=SETTLED | {"serial": 7})
    version = (await chosen(choice_of(place.source, cache), edited)).version
    assert (version.version, version.serial, "the serial 6" in version.unread) == ("1.0", 7, True)
    place.put_channel("stable", numbered % (b'"2.0"', 8))
    assert (await chosen(choice_of(place.source, cache), edited)).version.version == "2.0"


async def test_restart_remembers_the_serial_without_asking(place: WebPlace, cache: PackageCache) -> None:
    await chosen(choice_of(place.source, cache), instance())
    place.requests.clear()
    after = await chosen(choice_of(place.source, cache), instance(status=SETTLED | {"serial": 7}))
    assert (after.version.serial, place.requests) == (7, [])


@pytest.mark.slow
async def test_commit_is_that_of_the_repository_and_stays_while_it_is_down(tmp_path: Path, cache: PackageCache) -> None:
    async with git_place(tmp_path) as place:
        place.put_package("dns", "1.0", with_checksums(FILES))
        place.put_channel("stable", CHANNEL % b'"1.0"')
        commit = place.repository.git("rev-parse", "HEAD")
        assert (await chosen(choice_of(place.source, cache), instance())).commit == commit
        seen = instance(status=SETTLED | {"commit": commit})
        assert (await chosen(choice_of(place.source, cache), seen)).commit == commit, "after a restart"
        place.answers["/addons.git/info/refs"] = Answer(status=503)
        changed = instance(generation=2, status=SETTLED | {"commit": commit})
        lost = choice_of(place.source_at(f"git::{place.url}"), cache)
        assert (await chosen(lost, changed)).commit == commit
