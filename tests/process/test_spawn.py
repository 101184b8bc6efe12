"""Commands that cannot be started: what is wrong and what to do is said, and no descriptor is left open.

Level: pure."""

import asyncio
import errno
import os
import resource
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from hookrunner.errors import HookFailed
from hookrunner.process.child import Command, Patience
from hookrunner.process.children import Children
from hookrunner.process.output import HookLog
from hookrunner.process.spawn import spawn


def write(path: Path, text: str, mode: int = 0o755) -> Path:
    path.write_text(text)
    path.chmod(mode)
    return path


@pytest.mark.parametrize(
    ("text", "mode", "says"),
    [
        ("#!/bin/sh\n", 0o644, r"permission denied; make it executable: chmod \+x .*/hook"),
        ("echo no first line\n", 0o755, "exec format error; a script needs a first line like #!/bin/bash"),
        ("#!/bin/bash\r\n", 0o755, r"its first line ends in CRLF, so /bin/bash\\r is looked for"),
        ("#! /no/such/bash -e\n", 0o755, "its interpreter /no/such/bash is not there"),
        ("#!/etc/passwd\n", 0o755, "see whether its interpreter is executable"),
    ],
)
async def test_a_file_that_cannot_run_says_why(tmp_path: Path, text: str, mode: int, says: str) -> None:
    hook = write(tmp_path / "hook", text, mode)
    before = {*os.listdir("/proc/self/fd")}
    with pytest.raises(HookFailed, match=says):
        await spawn(Command((str(hook),), tmp_path, {}))
    assert {*os.listdir("/proc/self/fd")} <= before


async def test_a_missing_file_and_a_missing_directory_have_different_errors(tmp_path: Path) -> None:
    with pytest.raises(HookFailed, match="the file is not there"):
        await spawn(Command((str(tmp_path / "hook"),), tmp_path, {}))
    with pytest.raises(HookFailed, match=r"its working directory .*/gone is not there"):
        await spawn(Command(("/bin/true",), tmp_path / "gone", {}))


@pytest.mark.parametrize(
    ("env", "says"), [({"A": "x" * 3_000_000}, "too long for the system"), ({"A": "\0"}, "null byte")]
)
async def test_an_environment_that_cannot_be_passed(tmp_path: Path, env: dict[str, str], says: str) -> None:
    with pytest.raises(HookFailed, match=says):
        await spawn(Command(("/bin/true",), tmp_path, env))


async def test_a_file_that_is_just_being_written_is_tried_again(tmp_path: Path) -> None:
    hook = write(tmp_path / "hook", "#!/bin/sh\n")
    with hook.open("a"):
        task = asyncio.create_task(spawn(Command((str(hook),), tmp_path, {})))
        await asyncio.sleep(0)
        assert not task.done()
    spawned = await task
    await asyncio.to_thread(os.waitpid, spawned.pid, 0)
    os.close(spawned.stdout)
    os.close(spawned.stderr)


async def test_no_descriptor_left_names_the_limit(tmp_path: Path) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    free = os.dup(0)
    os.close(free)
    resource.setrlimit(resource.RLIMIT_NOFILE, (free + 1, hard))
    try:
        with pytest.raises(HookFailed, match="raise the limit of open files"):
            await spawn(Command(("/bin/true",), tmp_path, {}))
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


async def test_no_process_left_names_the_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fork(*_: object, **__: object) -> None:
        raise BlockingIOError(errno.EAGAIN, os.strerror(errno.EAGAIN))

    monkeypatch.setattr(subprocess, "Popen", fork)
    with pytest.raises(HookFailed, match="raise the limit of processes"):
        await spawn(Command(("/bin/true",), tmp_path, {}))


async def test_a_command_reads_the_file_that_it_is_given_or_nothing(tmp_path: Path) -> None:
    children = Children(Patience())
    given = write(tmp_path / "given", "text")
    for stdin, printed in ((given, b"text"), (None, b"")):
        command = Command(("/bin/cat",), tmp_path, {}, keep_stdout=100, stdin=stdin)
        assert (await children.run(command, HookLog())).stdout == printed


async def test_channels_are_descriptors_3_and_4_and_nothing_else_is_open(tmp_path: Path) -> None:
    script = tmp_path / "child.sh"
    script.write_text('#!/bin/sh\nread line <&3; echo "$line" >&4; ls /dev/fd | tr "\\n" " "; pwd\n')
    script.chmod(0o755)
    (requests, ours), (theirs, answers) = os.pipe(), os.pipe()
    os.set_inheritable(ours, True)  # as one that this process was started with
    os.write(ours, b"hello\n")
    command = Command((str(script),), tmp_path, {"PATH": os.environ["PATH"]}, keep_stdout=100)
    end = await Children(Patience()).run(replace(command, channels=(requests, answers)), HookLog())
    assert os.read(theirs, 100) == b"hello\n"
    assert end.stdout.decode().split() == ["0", "1", "2", "3", "4", "5", str(tmp_path)]  # 5 is that of `ls`
    for descriptor in (requests, ours, theirs, answers):
        os.close(descriptor)
