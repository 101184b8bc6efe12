"""Instances whose packages come from a git repository behind `git http-backend`. Level: sandbox."""

from pathlib import Path
from signal import SIGKILL

from tests.flows.modules.test_addon_instances import ADDON, MANIFEST, SPEC, channel, put, reaches, start, status
from tests.flows.modules.world import World
from tests.packages.git_place import GitServer
from tests.packages.places import with_checksums
from tests.packages.web_place import Answer, serve

REFS = "/addons.git/info/refs"


def publish(server: GitServer, version: str) -> str:
    """A commit with a package and the channel that leads to it."""
    server.files.put_package(
        "thing", version, with_checksums({"objects.yaml": MANIFEST.format(version=version).encode()})
    )
    server.files.put_channel("stable", channel(version).encode())
    return server.repository.commit()


def checkouts(world: World) -> list[str]:
    """What processes have left, or still have, of repositories."""
    return [path.name for path in Path(world.directory).rglob("hookrunner-checkouts-*/*")]


async def test_a_branch_is_followed_and_outlives_its_server_and_a_kill(world: World, tmp_path: Path) -> None:
    await follow_a_branch(world, tmp_path / "addons.git")


async def follow_a_branch(world: World, repository: Path) -> None:
    """Installed from a branch, kept while its server fails, killed in the middle of a fetch, upgraded after that."""
    server = GitServer(repository)
    server.files.root /= "deploy"
    server.files.root.mkdir()
    first = publish(server, "1.0.0")
    async with serve(server.handle) as base:
        world.write("addons/thing/addon.yaml", f"{ADDON}source: git::{base}/addons.git//deploy?ref=main\n")
        world.write("addons/thing/openapi/spec.yaml", SPEC)
        world.operator.flags += (f"--addons-dir={world.directory / 'addons'}", "--addon-refresh=1s")
        await start(world)
        await put(world)
        await reaches(world, "Current", "Current")
        assert await commit_of(world) == first

        server.answers[REFS] = Answer(status=503)
        second = publish(server, "2.0.0")
        await world.until(lambda: was_refused(world), True, "a refused question")
        await reaches(world, "Current", "Current")
        assert await commit_of(world) == first

        del server.answers[REFS]
        server.fetch_answer = Answer(body=None)
        server.requests.clear()
        await world.until(lambda: has_fetched(server), True, "a fetch")
        await world.operator.stop(SIGKILL)
        server.fetch_answer = None
        await world.start()
        await world.becomes("of-thing", text="hi", version="2.0.0")
        await world.until(lambda: commit_of(world), second, "the commit")
        assert len(checkouts(world)) == 1


async def was_refused(world: World) -> bool:
    return bool(world.operator.metric("addon_channel_reads_total", result="Unreachable"))


async def has_fetched(server: GitServer) -> bool:
    return "fetch" in [name for name, _ in server.requests]


async def commit_of(world: World) -> str:
    return str((await status(world)).get("commit"))
