"""A full disk, a deleted hook, a kill during a run, truncated answers: reported, and repaired without a restart.

Level: control plane."""

import os
import subprocess
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from resource import RLIM_INFINITY, RLIMIT_FSIZE, prlimit
from signal import SIGKILL

import pytest

from tests.flows.conftest import Start
from tests.flows.objects import ConfigMaps
from tests.flows.operator import Operator
from tests.flows.scripts import FAIL_ONCE, HOLD, hook, watching
from tests.flows.waiting import until


@contextmanager
def limited_files(program: Operator) -> Iterator[None]:
    """No file may grow beyond 64 KB: needs no rights."""
    prlimit(program.pid, RLIMIT_FSIZE, (1 << 16, RLIM_INFINITY))
    try:
        yield
    finally:
        prlimit(program.pid, RLIMIT_FSIZE, (RLIM_INFINITY, RLIM_INFINITY))


@contextmanager
def small_disk(program: Operator) -> Iterator[None]:
    """A file system of 64 KB over the temp dir."""
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "none", str(program.tmp)], check=True)
    try:
        yield
    finally:
        subprocess.run(["umount", "--lazy", str(program.tmp)], check=True)  # a file may be being written there


def files_of_runs(program: Operator) -> list[Path]:
    """Those in its temp directory; what they are in stays as long as it runs."""
    return [path for path in Path(program.tmp).rglob("*") if not path.is_dir()]


FULL = [limited_files, *[small_disk] * (os.geteuid() == 0)]


@pytest.mark.parametrize("full", FULL)
async def test_a_run_is_retried_until_the_disk_has_space_for_its_files(
    operator: Start, cms: ConfigMaps, full: Callable[[Operator], AbstractContextManager[None]]
) -> None:
    """A hook never sees half a context."""
    program = await operator({"h.sh": watching(cms.namespace)})
    await until(lambda: files_of_runs(program) == [], "the end of the first run")  # a mount would hide its files
    with full(program):
        cms.create("large", text="x" * 200_000)
        record = await program.wait_log("cannot write")
        assert (record["hook"], len(program.runs("h.sh"))) == ("h.sh", 1)
        assert "free space there" in record["error"]
    assert await program.hears("h.sh", 1) == [("Added", "large")]
    await until(lambda: not any(program.queue_list().values()), "empty queues")
    await until(lambda: files_of_runs(program) == [], "no files of runs")


async def test_a_deleted_hook_fails_until_its_file_is_restored(operator: Start, cms: ConfigMaps) -> None:
    script = watching(cms.namespace)
    program = await operator({"h.sh": script, "other.sh": watching(cms.namespace, queue="other")})
    (program.directory / "hooks" / "h.sh").unlink()
    cms.create("new")
    record = await program.wait_log("the file is not there")
    assert record["hook"] == "h.sh"
    assert await program.hears("other.sh", 1) == [("Added", "new")]
    program.write_hooks({"h.sh": script})
    assert await program.hears("h.sh", 1) == [("Added", "new")]


async def test_a_start_after_a_kill_during_a_run_synchronizes_all_objects(operator: Start, cms: ConfigMaps) -> None:
    """The queue is not kept, but what there is comes with the Synchronization; nothing of the dead is in the way."""
    program = await operator({"h.sh": watching(cms.namespace, HOLD)}, ready=False)
    await program.has_run("h.sh")
    cms.create("queued")
    program.send(SIGKILL)
    assert await program.ended() == -SIGKILL
    program.tell("go")
    await until(lambda: not program.left_behind(), "the end of the orphaned hook")
    cms.create("while-down")
    program.start()
    await program.ready()
    names = [found["object"]["metadata"]["name"] for found in program.contexts("h.sh")[-1]["objects"]]
    assert names == ["queued", "while-down"]
    assert program.command("hook", "list") == '["h.sh"]\n'


async def test_a_failed_hook_leaves_no_files_behind(operator: Start, cms: ConfigMaps) -> None:
    program = await operator({"h.sh": hook({"onStartup": 1}, FAIL_ONCE)})
    await until(lambda: files_of_runs(program) == [], "no files of runs")
    assert len(program.runs("h.sh")) == 2
