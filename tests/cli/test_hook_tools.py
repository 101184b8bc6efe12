"""`hook config`, `hook run`, `hook test` and `new hook` on the command line. What they do in detail: tests/testing.

Level: sandbox."""

import itertools
import json
import os
import pty
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as Xml

import pytest

from tests import launcher
from tests.cli.test_main import imported_by
from tests.fakes.command_line import Command

CONFIG = """\
configVersion: v1
onStartup: 5
kubernetes: [{name: cms, kind: ConfigMap, jqFilter: .data.x, namespace: {nameSelector: {matchNames: [shop]}}}]
schedule: [{name: hourly, crontab: "0 * * * *", includeSnapshotsFrom: [cms]}]
"""
SCRIPT = """\
echo "hello from the hook"
[ -z "${VALUES_PATH-}" ] || echo '{"op": "add", "path": "/m/b", "value": 1}' > "$VALUES_JSON_PATCH_PATH"
echo '{"name": "seen", "add": 1}' > "$METRICS_PATH"
if grep -q Added "$BINDING_CONTEXT_PATH"; then cat > "$KUBERNETES_PATCH_PATH" <<EOF
{operation: MergePatch, kind: ConfigMap, namespace: shop, name: a, mergePatch: {data: {y: "2"}}}
EOF
fi
if grep -q Deleted "$BINDING_CONTEXT_PATH"; then echo "not that" >&2; exit 3; fi
"""
CM: dict[str, Any] = {
    "apiVersion": "v1",
    "kind": "ConfigMap",
    "metadata": {"name": "a", "namespace": "shop"},
    "data": {"x": "1"},
}


@pytest.fixture
def workdir(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory to work in, with a hook and objects."""
    (tmp_path / "hooks").mkdir()
    hook = tmp_path / "hooks" / "copy.sh"
    hook.write_text(f"#!/bin/bash\nif [ \"$1\" = --config ]; then cat <<'EOF'\n{CONFIG}EOF\nexit; fi\n{SCRIPT}")
    hook.chmod(0o755)
    (tmp_path / "cm.json").write_text(json.dumps(CM))
    (tmp_path / "other.json").write_text(json.dumps(CM | {"metadata": {"name": "b", "namespace": "m"}}))
    (tmp_path / "values.yaml").write_text("m: {a: 1}\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("NO_COLOR", "1")
    return tmp_path


def test_config_table_shows_every_default(workdir: Path, command: Command) -> None:
    ended = command("hook", "config", "hooks")
    rows = dict(line.split(maxsplit=1) for line in ended.out.splitlines() if len(line.split(maxsplit=1)) == 2)
    assert ended.code == 0
    assert (rows["hook"], rows["onStartup"], rows["settings.onFailure"]) == ("copy.sh", "5", "retry")
    assert (rows["kubernetes[0].queue"], rows["kubernetes[0].namespace.nameSelector"]) == ("main", '["shop"]')
    assert rows["schedule[0].includeSnapshotsFrom"] == '["cms"]'


def test_config_as_json_and_yaml(workdir: Path, command: Command) -> None:
    (document,) = json.loads(command("hook", "config", "hooks/copy.sh", "-o", "json").out)
    assert document["kubernetes"][0]["executeHookOnEvent"] == ["Added", "Deleted", "Modified"]
    assert "  schedule:\n    - name: hourly\n" in command("hook", "config", "hooks/copy.sh", "-o", "yaml").out


def test_config_of_a_bad_hook_ends_with_1_and_shows_the_others(workdir: Path, command: Command) -> None:
    (workdir / "hooks" / "bad.sh").write_text("#!/bin/sh\necho '{}'\n")
    (workdir / "hooks" / "bad.sh").chmod(0o755)
    ended = command("hook", "config", "hooks")
    assert (ended.code, "copy.sh" in ended.out) == (1, True)
    assert "Error: hook 'bad.sh'" in ended.err
    assert command("hook", "config", "hooks/bad.sh").out == ""


def test_run_shows_output_and_wanted_changes_as_a_diff(workdir: Path, command: Command) -> None:
    ended = command("hook", "run", "hooks/copy.sh", "--event", "added", "--object", "cm.json")
    assert (ended.code, ended.err) == (0, "")
    lines = ended.out.splitlines()
    assert lines[0] == "| hello from the hook"
    assert lines[1].startswith("exit 0 after ")
    assert "  - operation: MergePatch" in lines
    assert lines[lines.index("--- shop/ConfigMap/a") + 1] == "+++ shop/ConfigMap/a"
    assert "+  y: '2'" in lines
    assert "  - name: seen" in lines


def test_run_json_is_complete(workdir: Path, command: Command) -> None:
    ended = command("hook", "run", "hooks/copy.sh", "-e", "Added", "--object", "cm.json", "-o", "json")
    document = json.loads(ended.out)
    assert (document["run"], document["exit"], document["logs"]) == (True, 0, ["hello from the hook"])
    assert document["contexts"][0]["filterResult"] == "1"
    assert document["changes"][0]["after"]["data"] == {"x": "1", "y": "2"}


def test_context_only_prints_the_context_without_a_run(workdir: Path, command: Command) -> None:
    words = ["hook", "run", "hooks/copy.sh", "--binding", "hourly", "--given", "*.json", "--context-only"]
    (context,) = json.loads(command(*words).out)
    assert (context["binding"], [entry["object"] for entry in context["snapshots"]["cms"]]) == ("hourly", [CM])
    words = ["hook", "run", "hooks/copy.sh", "--binding", "hourly", "--snapshot", "cms=cm.json", "--context-only"]
    assert len(json.loads(command(*words).out)[0]["snapshots"]["cms"]) == 1


def test_values_are_shown_as_a_diff(workdir: Path, command: Command) -> None:
    out = command("hook", "run", "hooks/copy.sh", "-e", "Startup", "--values", "values.yaml").out
    assert out.splitlines()[-6:] == [
        "--- values",
        "+++ values, patched",
        "@@ -1,2 +1,3 @@",
        " m:",
        "   a: 1",
        "+  b: 1",
    ]


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        ("-e Deleted --object cm.json", 1, "failed: copy.sh FAILED: not that"),
        (
            "-e Added --object other.json",
            3,
            "would not run: namespace: the object is in 'm', the binding watches 'shop'",
        ),
        ("-e Added --object other.json --context-only", 3, "would not run: namespace"),
        ("-e Modified --object cm.json --old-object cm.json", 3, "would not run: filter result unchanged"),
        ("-e Added", 2, "Error: an event Added is about one object, not 0: give `object`"),
        ("--object cm.json --binding cmss", 2, "Error: no binding is named 'cmss'; did you mean 'cms'?"),
        ("--binding hourly --snapshot cm.json", 2, "'cm.json': write NAME=FILES"),
        ("", 2, "Error: what happens? Say it by the event or by the binding; the hook has onStartup (onStartup)"),
        ("-e Started", 2, "'Started' is not one of"),
        ("--object no.json", 2, "Error: no.json: no such file"),
        ("-e Startup --timeout soon", 2, "'soon' is not a duration"),
    ],
)
def test_exit_code_of_a_run_tells_its_outcome(
    words: str, code: int, message: str, workdir: Path, command: Command
) -> None:
    ended = command("hook", "run", "hooks/copy.sh", *words.split())
    assert ended.code == code
    assert message in (ended.err if code == 2 else ended.out)


def test_run_that_takes_too_long_has_failed(workdir: Path, command: Command) -> None:
    hook = workdir / "hooks" / "copy.sh"
    hook.write_text(hook.read_text() + "sleep 1000\n")
    ended = command("hook", "run", "hooks/copy.sh", "-e", "Startup", "--timeout", "1ms")
    assert ended.code == 1
    assert "timed out after" in ended.out


CASES = """\
- name: a new one   # comment
  when: {event: Added, object: ../cm.json}
  expect:
    patches: [{kind: ConfigMap}]
- name: a start
  when: {event: Startup}
  expect: {exit: 0, logs: [bye]}
"""


@pytest.fixture
def cases(workdir: Path) -> Path:
    path = workdir / "hooks" / "copy.sh.test.yaml"
    path.write_text(CASES)
    return path


def test_test_reports_each_case_and_totals(cases: Path, command: Command) -> None:
    ended = command("hook", "test")
    lines = ended.out.splitlines()
    assert ended.code == 1
    assert lines[0] == "hooks/copy.sh.test.yaml"
    assert [line.rpartition(" (")[0] for line in lines if line.endswith("ms)")] == [
        "  ok a new one",
        "  FAILED a start",
    ]
    assert lines[-4:-1] == ["     logs:", "       - bye", "       + hello from the hook"]
    assert lines[-1].startswith("1 passed, 1 failed in ")


def test_test_runs_only_the_selected_cases(cases: Path, command: Command) -> None:
    ended = command("hook", "test", "hooks/copy.sh", "-k", "new", "-j", "1")
    assert (ended.code, ended.out.splitlines()[-1].partition(" in ")[0]) == (0, "1 passed")
    ended = command("hook", "test", "-k", "nothing")
    assert (ended.code, "no case has 'nothing' in its name" in ended.err) == (2, True)


def test_test_update_rewrites_wrong_expectations(cases: Path, command: Command) -> None:
    ended = command("hook", "test", "--update")
    assert (ended.code, ended.out.splitlines()[-1].partition(" in ")[0]) == (0, "1 passed, 1 updated")
    expect = "  expect:\n    exit: 0\n    logs:\n      - hello from the hook\n"
    assert cases.read_text() == CASES.replace("  expect: {exit: 0, logs: [bye]}\n", expect)
    assert command("hook", "test").code == 0


def test_test_writes_junit_and_json(cases: Path, command: Command) -> None:
    ended = command("hook", "test", "--junit", "out.xml", "-o", "json")
    document = json.loads(ended.out)
    assert (ended.code, document["passed"], document["failed"]) == (1, 1, 1)
    assert document["cases"][1]["differences"] == {"logs": ["- bye", "+ hello from the hook"]}
    assert Xml.parse("out.xml").getroot().get("failures") == "1"


def test_unwritable_report_ends_with_2(cases: Path, command: Command) -> None:
    ended = command("hook", "test", "--junit", "no/such/directory.xml")
    assert (ended.code, ended.err) == (
        2,
        "Error: no/such/directory.xml: cannot be written: No such file or directory\n",
    )


@pytest.mark.usefixtures("launcher")
@pytest.mark.parametrize(
    ("environment", "colours"),
    [({}, True), ({"NO_COLOR": "1"}, False), ({"NO_COLOR": "blue"}, False), ({"NO_COLOR": ""}, True)],
)
def test_colours_are_for_terminals_without_no_color(
    environment: dict[str, str], colours: bool, cases: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("NO_COLOR")
    ours, theirs = pty.openpty()
    launcher.start(
        ["hook", "test"], cwd=Path.cwd(), env={**os.environ, **environment}, stdout=theirs, stderr=theirs
    ).wait()
    os.close(theirs)
    message = os.read(ours, 10_000)
    os.close(ours)
    assert (b"FAILED" in message, b"\x1b[" in message) == (True, colours)


def test_test_of_a_bad_file_ends_with_2(cases: Path, command: Command) -> None:
    cases.write_text("- name: a\n  wehn: {}\n")
    ended = command("hook", "test")
    assert (ended.code, ended.out) == (2, "")
    assert ended.err.startswith(
        "Error: hooks/copy.sh.test.yaml:2: [0].wehn is a forbidden property; did you mean 'when'?"
    )


@pytest.mark.slow
def test_new_hook_lists_its_files_and_the_next_steps(workdir: Path, command: Command) -> None:
    ended = command("new", "hook", "mine", "--lang", "python", "--dir", "h")
    assert ended.out.startswith("h/mine.py\nh/mine.py.test.yaml\n\nNext:\n  hookrunner hook test h/mine.py ")
    assert (ended.code, command("hook", "test", "h").code) == (0, 0)
    assert command("new", "hook", "mine.py", "--dir", "h").code == 2


@pytest.mark.usefixtures("launcher")
@pytest.mark.parametrize(
    ("number", "message", "code"),
    [(signal.SIGINT, "\n", 130), (signal.SIGTERM, "", -signal.SIGTERM), (signal.SIGHUP, "", -signal.SIGHUP)],
)
@pytest.mark.parametrize("words", [["hook", "run", "hooks/slow.sh"], ["hook", "test"]])
def test_signal_ends_the_hook_and_removes_its_files(
    words: list[str], number: signal.Signals, message: str, code: int, workdir: Path
) -> None:
    hook = workdir / "hooks" / "slow.sh"
    begun, config = workdir / "begun", '{"configVersion": "v1", "onStartup": 1}'
    hook.write_text(
        f"#!/bin/bash\n[ \"$1\" = --config ] && {{ echo '{config}'; exit; }}\nsleep 1000 & echo $! > {begun}\nwait\n"
    )
    hook.chmod(0o755)
    (workdir / "hooks" / "slow.sh.test.yaml").write_text("- {name: a, when: {event: Startup}}\n")
    (workdir / "tmp").mkdir()
    environ = {**os.environ, "TMPDIR": str(workdir / "tmp")}
    running, output = launcher.start_piped(words, cwd=workdir, env=environ)
    while not (begun.exists() and begun.read_text().strip()):
        assert running.poll() is None
        time.sleep(0.01)
    running.send_signal(number)
    with output:
        assert (output.read(), running.wait()) == (message, code)
    assert list((workdir / "tmp").iterdir()) == []
    looks = itertools.count()
    while Path(f"/proc/{begun.read_text().strip()}/cwd").exists():  # what is killed lives on for a moment
        assert next(looks) < 6000
        time.sleep(0.01)


@pytest.mark.usefixtures("launcher")
def test_closed_output_pipe_is_not_reported_as_a_bug(cases: Path) -> None:
    command = [sys.executable, "-m", "hookrunner", "hook", "test"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as running:
        assert running.stdout
        assert running.stderr
        running.stdout.close()
        assert running.stderr.read() == ""
    assert running.returncode == 1


@pytest.mark.parametrize("name", ["config", "run", "test", "lint", "list", "snapshot"])
def test_each_tool_has_help_and_the_same_line_in_the_overview(name: str, command: Command) -> None:
    words = " ".join(command("hook", name, "--help").out.split())
    (line,) = [line for line in command("hook", "--help").out.splitlines() if line.startswith(f"  {name} ")]
    assert line.split(maxsplit=1)[1].rstrip(".")[:40] in words


@pytest.mark.usefixtures("launcher")
def test_the_tools_start_without_http_and_the_debug_commands_without_the_tools(workdir: Path) -> None:
    loaded = imported_by("hook", "config", "hooks")
    assert not loaded & {"aiohttp", "hookrunner.app", "kubernetes"}
    assert not imported_by("hook", "lint", "hooks") & {"aiohttp", "hookrunner.app", "hookrunner.testing"}
    assert not imported_by("hook", "list") & {"hookrunner.testing", "asyncio", "orjson", "yaml"}
