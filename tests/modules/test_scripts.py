"""Real `enabled` scripts: what they see, what they may answer, how they fail. Level: pure."""

import os
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import orjson
import pytest

from hookrunner.errors import ScriptFailed
from hookrunner.modules.enabled import ScriptAnswer, ScriptValues
from hookrunner.modules.scripts import Scripts
from hookrunner.process.child import Patience
from hookrunner.process.children import Children
from hookrunner.settings import HooksSettings
from kubetypes.json_values import JSON
from tests.flows.waiting import until
from tests.modules.conftest import module


class Asking:
    """Writes a script and asks it once."""

    def __init__(self, top: Path) -> None:
        self.top = top
        self.settings = HooksSettings(tmp_dir=top / "tmp", environ={"PATH": os.environ["PATH"], "MINE": "1"})
        self.timeout = 30.0

    async def __call__(self, script: str, documents: ScriptValues, enabled: tuple[str, ...] = ()) -> ScriptAnswer:
        path = self.top / "enabled"
        path.write_text(f"#!/bin/sh\n{script}\n")
        path.chmod(0o755)
        scripts = Scripts(self.settings, Children(Patience(kill=0.2, linger=0.05)), self.timeout)
        return await scripts.ask(replace(module("my-addon"), script=path), documents, enabled)

    async def says(self, script: str) -> ScriptAnswer:
        return await self(script, ScriptValues({}, {}))


@pytest.fixture
def asking(tmp_path: Path) -> Asking:
    return Asking(tmp_path)


@pytest.mark.parametrize(
    ("script", "answer"),
    [
        ("echo true > $MODULE_ENABLED_RESULT", ScriptAnswer(True)),
        ("printf ' false\n\n' > $MODULE_ENABLED_RESULT", ScriptAnswer(False)),
        (
            "echo false > $MODULE_ENABLED_RESULT; echo no nodes > $MODULE_ENABLED_REASON",
            ScriptAnswer(False, "no nodes"),
        ),
        ("echo true > $MODULE_ENABLED_RESULT; rm $MODULE_ENABLED_REASON $VALUES_PATH", ScriptAnswer(True)),
        (
            "echo true > $MODULE_ENABLED_RESULT.new; mv $MODULE_ENABLED_RESULT.new $MODULE_ENABLED_RESULT",
            ScriptAnswer(True),
        ),
    ],
)
async def test_a_script_answers_true_or_false_and_may_give_a_reason(
    asking: Asking, script: str, answer: ScriptAnswer
) -> None:
    found = await asking.says(script)
    assert found == answer
    assert found.usage
    assert found.usage.seconds > 0
    assert list((asking.top / "tmp").iterdir()) == []


async def test_a_script_reads_values_with_the_modules_that_are_on_and_the_environment(asking: Asking) -> None:
    values: JSON = {"global": {"a": 1}, "myAddon": {"x": 12345678901}}
    documents = ScriptValues({"global": None, "myAddon": {"x": 2}}, values)
    await asking(
        f'cp $VALUES_PATH {asking.top}/values; cp $CONFIG_VALUES_PATH {asking.top}/config; echo "$MINE$# $PWD" > '
        f"{asking.top}/mine; echo true > $MODULE_ENABLED_RESULT",
        documents,
        ("a", "b"),
    )
    assert orjson.loads((asking.top / "values").read_bytes()) == {
        "global": {"a": 1, "enabledModules": ["a", "b"]},
        "myAddon": {"x": 12345678901},
    }
    assert values["global"] == {"a": 1}
    assert orjson.loads((asking.top / "config").read_bytes()) == documents.config
    assert (asking.top / "mine").read_text() == f"10 {Path.cwd()}\n"


@pytest.mark.parametrize(
    ("script", "told"),
    [
        ("exit 0", "bad enabled result: an empty text; write true or false into"),
        ("echo yes > $MODULE_ENABLED_RESULT", "bad enabled result: a text of 3 characters"),
        ("rm $MODULE_ENABLED_RESULT", "bad enabled result: an empty text"),
        ("rm $MODULE_ENABLED_RESULT; mkfifo $MODULE_ENABLED_RESULT", "bad enabled result: an empty text"),
        ("head -c 1000000 /dev/zero > $MODULE_ENABLED_RESULT", "bad enabled result"),
        (
            "echo true > $MODULE_ENABLED_RESULT; echo no such thing >&2; exit 3",
            "exit status 3; what it printed is in the log",
        ),
        ("kill -9 $$", "killed by SIGKILL"),
    ],
)
async def test_a_script_without_an_answer_has_failed_with_a_reason(asking: Asking, script: str, told: str) -> None:
    with pytest.raises(ScriptFailed) as failed:
        await asking.says(script)
    assert told in str(failed.value)
    assert len(str(failed.value)) < 1000
    assert list((asking.top / "tmp").iterdir()) == []


async def test_a_script_that_hangs_is_ended_with_all_that_it_started(asking: Asking) -> None:
    for asking.timeout in (0.2, 2, 20):  # so long may it take to begin, if the machine stands still
        with pytest.raises(ScriptFailed, match="timed out after "):
            await asking.says(f"sleep 100 & echo $! > {asking.top}/pid; wait")
        if (asking.top / "pid").exists():
            break
    await until(lambda: not command_line(asking.top / "pid"), "the end of what the script started")


def command_line(pid: Path) -> bytes:
    """Of a living process; one that is dead and not yet reaped has none."""
    with suppress(FileNotFoundError, ProcessLookupError):
        return Path(f"/proc/{pid.read_text().strip()}/cmdline").read_bytes()
    return b""


async def test_a_script_that_cannot_be_started_has_failed(asking: Asking) -> None:
    scripts = Scripts(asking.settings, Children(Patience()), 30)
    with pytest.raises(ScriptFailed, match=r"the enabled script of my-addon was not run: .* the file is not there"):
        await scripts.ask(replace(module("my-addon"), script=asking.top / "gone"), ScriptValues({}, {}), ())


async def test_values_that_cannot_be_written_are_a_failure_of_the_script(asking: Asking) -> None:
    deep: JSON = {}
    for _ in range(300):
        deep = {"x": deep}
    with pytest.raises(ScriptFailed, match="the values of my-addon cannot be written"):
        await asking("true", ScriptValues({}, {"myAddon": deep}))


async def test_a_temp_directory_that_cannot_be_written_is_a_failure_of_the_script(asking: Asking) -> None:
    (asking.top / "file").touch()
    asking.settings = replace(asking.settings, tmp_dir=asking.top / "file")
    with pytest.raises(ScriptFailed, match="or set --tmp-dir"):
        await asking.says("true")


async def test_files_are_kept_for_debugging_if_configured(asking: Asking) -> None:
    asking.settings = replace(asking.settings, keep_tmp_files=True)
    await asking.says("echo true > $MODULE_ENABLED_RESULT")
    assert len(list((asking.top / "tmp").iterdir())) == 4


async def test_the_output_of_a_script_is_logged_with_its_module(
    asking: Asking, capfd: pytest.CaptureFixture[str]
) -> None:
    await asking.says("echo hello; echo true > $MODULE_ENABLED_RESULT")
    (line,) = (line for line in capfd.readouterr().err.splitlines() if "hello" in line)
    assert "module=my-addon" in line
    assert "hook=enabled" in line
    assert "output=stdout" in line
