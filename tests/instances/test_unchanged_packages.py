"""What the runs of an instance ask its source while its channel and its package stay as they are.

Level: sandbox.
"""

from collections.abc import AsyncIterator, MutableSequence
from contextlib import AsyncExitStack, asynccontextmanager
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


@asynccontextmanager
async def open_place(kind: str, directory: Path) -> AsyncIterator[tuple[Place, MutableSequence[Any]]]:
    """A source, and the requests that have come."""
    async with AsyncExitStack() as stack:
        match kind:
            case "https":
                web = await stack.enter_async_context(web_place(directory))
                yield web, web.requests
            case "git":
                git = await stack.enter_async_context(git_place(directory))
                yield git, git.requests
            case "registry":
                server = await stack.enter_async_context(registry_server())
                yield RegistryPlace(server, "files"), server.requests
            case _:
                cluster = await stack.enter_async_context(cluster_place(ClusterLocation("ConfigMap", "default")))
                yield cluster, cluster.api.faults.requests


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "each_run", "question"),
    [
        ("https", [], [("/stable", 304)]),
        ("git", [], [("GET", "/addons.git/info/refs"), ("POST", "/addons.git/git-upload-pack")]),
        ("registry", [], [(f"/v2/{REPOSITORY}/channels/manifests/stable", 304)]),
        ("objects", ["GET"] * 2, ["GET"] * 2),
    ],
)
async def test_run_asks_the_question_to_its_source_when_it_is_time_and_nothing_else(
    tmp_path: Path, kind: str, each_run: list[Any], question: list[Any]
) -> None:
    async with open_place(kind, tmp_path) as (place, requests):
        place.put_package("dns", "1.0", FILES)
        place.put_channel("stable", PINNED)
        choice = choice_of(place.source, PackageCache(tmp_path / "cache", 0))
        first = await chosen(choice, instance())
        requests.clear()
        for is_time, expected in ((False, each_run), (True, question)):
            if is_time:
                choice.expire()
            assert (await chosen(choice, instance())).directory == first.directory
            assert [line.split()[0] if kind == "objects" else line for line in requests] == expected
            requests.clear()
        assert first.package.digest == DIGEST
