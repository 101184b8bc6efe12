"""What the runs of an instance ask its source while its channel and its package stay as they are.

Level: sandbox.
"""

from collections.abc import AsyncIterator, Callable, MutableSequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from hookrunner.packages.package import parse_package
from hookrunner.packages.package_cache import PackageCache
from hookrunner.packages.source_locations import ClusterLocation
from tests.instances.samples import instance
from tests.instances.test_package_choice import choice_of, chosen
from tests.packages.git_place import git_place
from tests.packages.oci.oci_places import RegistryPlace
from tests.packages.oci.registry_server import REPOSITORY, registry_server
from tests.packages.places import Place, cluster_place, with_checksums
from tests.packages.web_place import web_place

FILES = with_checksums({f"f{number:02}.yaml": b"kind: A\n# %d\n" % number for number in range(20)})
DIGEST = parse_package("dns", "1.0", FILES).digest
PINNED = f"manifests: [{{name: dns, version: '1.0', digest: '{DIGEST}'}}]\n".encode()

Asked = Callable[[], list[Any]]
"""Takes the requests that have come since the last time: method or path, and more."""


def taking(requests: MutableSequence[Any]) -> Asked:
    def take() -> list[Any]:
        taken = list(requests)
        requests.clear()
        return taken

    return take


@asynccontextmanager
async def https(directory: Path) -> AsyncIterator[tuple[Place, Asked]]:
    async with web_place(directory) as place:
        yield place, taking(place.requests)


@asynccontextmanager
async def git(directory: Path) -> AsyncIterator[tuple[Place, Asked]]:
    async with git_place(directory) as place:
        yield place, taking(place.requests)


@asynccontextmanager
async def registry(directory: Path) -> AsyncIterator[tuple[Place, Asked]]:
    async with registry_server() as server:
        yield RegistryPlace(server, "files"), taking(server.requests)


@asynccontextmanager
async def objects(directory: Path) -> AsyncIterator[tuple[Place, Asked]]:
    async with cluster_place(ClusterLocation("ConfigMap", "default")) as place:
        seen = taking(place.api.faults.requests)
        yield place, lambda: [line.split()[0] for line in seen()]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("open_place", "each_run", "question"),
    [
        (https, [], [("/stable", 304)]),
        (git, [], [("GET", "/addons.git/info/refs"), ("POST", "/addons.git/git-upload-pack")]),
        (registry, [], [(f"/v2/{REPOSITORY}/channels/manifests/stable", 304)]),
        (objects, ["GET"] * 2, ["GET"] * 2),
    ],
)
async def test_run_asks_the_question_to_its_source_when_it_is_time_and_nothing_else(
    tmp_path: Path, open_place: Callable[[Path], Any], each_run: list[Any], question: list[Any]
) -> None:
    async with open_place(tmp_path) as (place, asked):
        place.put_package("dns", "1.0", FILES)
        place.put_channel("stable", PINNED)
        choice = choice_of(place.source, PackageCache(tmp_path / "cache", 0))
        first = await chosen(choice, instance())
        asked()
        assert ((await chosen(choice, instance())).directory, asked()) == (first.directory, each_run)
        choice.expire()
        assert ((await chosen(choice, instance())).directory, asked()) == (first.directory, question)
        assert first.package.digest == DIGEST
