"""Instances with hooks are deleted: while these hang or fail, and so often that a leak would show. Level: sandbox."""

import asyncio
import os
from pathlib import Path

import pytest

from hookrunner.kube.client import ApiCall
from tests.instances.lives.site import LiveSite

HOOK = """\
#!/bin/bash
if [[ $1 == --config ]]; then
  echo '{{"configVersion": "v1", {binding}}}'
elif [[ -e {flag} ]]; then
  : >> {flag}.seen
  {what}
fi
"""
BEFORE = '"beforeHelm": 1'
MAPS = '"kubernetes": [{"name": "m", "kind": "ConfigMap", "namespace": {"nameSelector": {"matchNames": ["n1"]}}}]'
HANGS, FAILS = "exec /bin/sleep 600", "exit 1"


def add_hook(directory: Path, binding: str, what: str) -> Path:
    """A hook of the addon; the file by which it begins to do this."""
    hook, flag = directory / "addons/thing/hooks/h", directory / "flag"
    hook.parent.mkdir()
    hook.write_text(HOOK.format(binding=binding, flag=flag, what=what))
    hook.chmod(0o755)
    return flag


@pytest.mark.slow
@pytest.mark.parametrize(("binding", "what"), [(BEFORE, HANGS), (MAPS, HANGS), (MAPS, FAILS)])
async def test_hook_that_hangs_or_fails_keeps_no_instance_alive(
    site: LiveSite, tmp_path: Path, binding: str, what: str
) -> None:
    flag = add_hook(tmp_path, binding, what)
    async with site.started(**{"shutdown-grace": "0.5s"}) as process:
        await site.places.create(["n1"])
        await site.until(site.places.phases, {"n1": "Current"})
        flag.touch()
        await site.places.patch("/api/v1/namespaces/n1/configmaps/a", {"metadata": {"labels": {"a": "b"}}})
        await site.places.change(["n1"], {"version": "2.0.0"})
        await site.until(lambda: is_seen(flag), True)
        await site.places.delete(["n1"])
        await site.until(site.places.phases, {})
        await site.until(process.series, [])
    assert await site.places.maps() == {}


@pytest.mark.slow
async def test_instances_come_and_go_and_leave_no_file_open(site: LiveSite, tmp_path: Path) -> None:
    """Nor a task: not one for each of them. Connections are kept for a while, so they do not count."""
    add_hook(tmp_path, f"{BEFORE}, {MAPS}", "")
    places, counts = [f"n{number}" for number in range(8)], list[int]()
    async with site.started() as process:
        for _ in range(3):
            await site.places.create(places)
            await site.until(site.places.phases, dict.fromkeys(places, "Current"))
            await site.places.delete(places)
            await site.until(process.series, [])
            for place in places:
                await site.client.send(ApiCall("DELETE", f"/api/v1/namespaces/{place}"))
            await site.until(lambda: site.places.exist(places), False)
            counts.append(count_open_files() + count_tasks())
    assert counts[2] - counts[1] < len(places)


def count_open_files() -> int:
    """What this process has open, but for connections."""
    targets = (os.readlink(entry) for entry in Path("/proc/self/fd").iterdir() if entry.is_symlink())
    return sum(not target.startswith("socket:") for target in targets)


def count_tasks() -> int:
    """Tasks of hookrunner: those that its background keeps have a name."""
    return sum(not task.get_name().startswith("Task-") for task in asyncio.all_tasks())


async def is_seen(flag: Path) -> bool:
    return flag.with_name("flag.seen").exists()
