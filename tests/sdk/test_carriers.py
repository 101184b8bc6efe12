"""Programs of a few lines, run as hookrunner runs hooks: by files, and as residents. Level: pure."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import hookrunner.sdk
from kubetypes.json_values import JSON

SAMPLE = """
import sys
from hookrunner.sdk import Hook, HookFailed

hook = Hook()

@hook.reconcile("v1/Namespace")
def label(namespace, cluster, metrics, values):
    print("at", namespace["metadata"]["name"])
    cluster.merge(namespace, {"metadata": {"labels": {"seen": "yes"}}}, subresource="status", ignore_hook_error=True)
    metrics.add("seen")
    values.set("web.seen", 1)
    if namespace["metadata"]["name"] == "bad":
        raise HookFailed("bad is bad")
    if namespace["metadata"]["name"] == "worse":
        1 / 0

hook.run()
"""


def context(name: str) -> list[JSON]:
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
    return [{"binding": "label", "type": "Event", "watchEvent": "Added", "object": namespace}]


@pytest.fixture
def program(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    file = tmp_path / "label.py"
    file.write_text(getattr(request, "param", SAMPLE))
    return file


@pytest.fixture
def files(tmp_path: Path) -> dict[str, str]:
    """Variables of a run, whose files are empty."""
    names = ["BINDING_CONTEXT_PATH", "KUBERNETES_PATCH_PATH", "METRICS_PATH", "VALUES_PATH", "VALUES_JSON_PATCH_PATH"]
    for name in names:
        (tmp_path / name).touch()
    (tmp_path / "VALUES_PATH").write_text('{"web": {}}')
    return {name: str(tmp_path / name) for name in names}


def run_once(program: Path, files: dict[str, str], name: str) -> subprocess.CompletedProcess[str]:
    Path(files["BINDING_CONTEXT_PATH"]).write_text(json.dumps(context(name)))
    environ = {**os.environ, **files}
    return subprocess.run([sys.executable, program], env=environ, capture_output=True, text=True, check=False)


def written(files: dict[str, str], variable: str) -> list[JSON]:
    return [json.loads(line) for line in Path(files[variable]).read_text().splitlines()]


def test_the_configuration_is_printed(program: Path) -> None:
    printed = subprocess.check_output([sys.executable, program, "--config"])
    own = {"queue": "label.py/label", "waitForSynchronization": False}
    assert json.loads(printed)["kubernetes"] == [{"name": "label", "apiVersion": "v1", "kind": "Namespace", **own}]


def test_a_run_by_files_answers_in_files(program: Path, files: dict[str, str]) -> None:
    done = run_once(program, files, "shop")
    assert (done.returncode, done.stdout, done.stderr) == (0, "at shop\n", "")
    assert [one["operation"] for one in written(files, "KUBERNETES_PATCH_PATH")] == ["MergePatch"]
    assert written(files, "METRICS_PATH") == [{"action": "add", "name": "seen", "value": 1, "labels": {}}]
    assert written(files, "VALUES_JSON_PATCH_PATH") == [{"op": "add", "path": "/web/seen", "value": 1}]


@pytest.mark.parametrize(("name", "said"), [("bad", "bad is bad"), ("worse", "ZeroDivisionError")])
def test_a_failed_run_leaves_only_operations(program: Path, files: dict[str, str], name: str, said: str) -> None:
    done = run_once(program, files, name)
    assert done.returncode == 1
    assert said in done.stderr
    assert ("Traceback" in done.stderr) == (name == "worse")
    assert [one["ignoreHookError"] for one in written(files, "KUBERNETES_PATCH_PATH")] == [True]
    assert written(files, "METRICS_PATH") == []


@pytest.fixture
def resident(program: Path) -> Iterator[tuple[subprocess.Popen[bytes], int, int]]:
    """The program as a resident, with where requests are written and answers are read."""
    requests, give = os.pipe()
    take, answers = os.pipe()
    names = {"HOOKRUNNER_REQUESTS": f"/dev/fd/{requests}", "HOOKRUNNER_ANSWERS": f"/dev/fd/{answers}"}
    process = subprocess.Popen(
        [sys.executable, program, "--resident"],
        env={**os.environ, **names},
        pass_fds=(requests, answers),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    os.close(requests)
    os.close(answers)
    yield process, give, take
    process.kill()
    process.communicate()
    os.close(take)


def test_a_resident_says_hello_and_answers_until_the_requests_end(
    resident: tuple[subprocess.Popen[bytes], int, int], tmp_path: Path
) -> None:
    process, give, take = resident
    large = tmp_path / "large.json"
    large.write_text(json.dumps({"run": {"id": "x", "contexts": context("large")}}))
    messages: list[JSON] = [
        {"hello": {"protocol": "hookrunner.io/resident", "versions": [1]}},
        {"run": {"id": "1", "contexts": context("shop")}},
        {"run": {"id": "2", "contexts": context("worse")}},
        {"unknown": {}},
        {"run": {"id": "3", "file": str(large)}},
    ]
    os.write(give, b"".join(json.dumps(message).encode() + b"\n" for message in messages))
    os.close(give)
    with os.fdopen(os.dup(take)) as answers:
        hello, *answered = map(json.loads, answers)
    assert (hello["hello"]["version"], hello["hello"]["concurrency"]) == (1, 1)
    outcomes = [(one["answer"]["id"], one["answer"].get("outcome")) for one in answered]
    assert outcomes == [("1", None), ("2", "failed"), ("3", None)]
    assert answered[1]["answer"]["message"] == "ZeroDivisionError: division by zero"
    assert process.wait(30) == 0


def test_the_answer_of_a_resident_alone_has_the_reason_of_a_failure_that_its_hook_raises(
    resident: tuple[subprocess.Popen[bytes], int, int],
) -> None:
    process, give, take = resident
    hello: JSON = {"hello": {"protocol": "hookrunner.io/resident", "versions": [1]}}
    run: JSON = {"run": {"id": "1", "contexts": context("bad")}}
    os.write(give, b"".join(json.dumps(message).encode() + b"\n" for message in (hello, run)))
    os.close(give)
    with os.fdopen(os.dup(take)) as answers:
        _, answered = map(json.loads, answers)
    assert answered["answer"]["message"] == "bad is bad"
    assert process.communicate()[1] == b""


def test_a_copy_of_the_directory_works_without_hookrunner(program: Path, files: dict[str, str], tmp_path: Path) -> None:
    shutil.copytree(Path(hookrunner.sdk.__file__).parent, tmp_path / "copied_sdk")
    program.write_text(SAMPLE.replace("hookrunner.sdk", "copied_sdk"))
    Path(files["BINDING_CONTEXT_PATH"]).write_text(json.dumps(context("shop")))
    done = subprocess.run([sys.executable, "-S", program], env=files, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "at shop\n")


def test_a_run_without_files_says_what_to_do(program: Path) -> None:
    done = subprocess.run([sys.executable, program], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "hookrunner hook run" in done.stderr


AGAIN = """
from hookrunner.sdk import After, Hook

hook = Hook()
hook.startup()(lambda: After(seconds=5))
hook.run()
"""


@pytest.mark.parametrize("can_run_again", [True, False])
def test_another_run_is_asked_for_where_there_can_be_one(
    can_run_again: bool, program: Path, files: dict[str, str], tmp_path: Path
) -> None:
    program.write_text(AGAIN)
    Path(files["BINDING_CONTEXT_PATH"]).write_text('[{"binding": "onStartup"}]')
    again = {"RUN_AGAIN_PATH": str(tmp_path / "again")} if can_run_again else {}
    environ = {**os.environ, **files, **again}
    done = subprocess.run([sys.executable, program], env=environ, capture_output=True, text=True, check=True)
    assert ("`After` does nothing" in done.stderr) == (not can_run_again)
    assert [path.read_text() for path in tmp_path.glob("again")] == ["5\n"] * can_run_again


@pytest.mark.parametrize(
    ("given", "stays"), [("", True), ("resident=False", None), ("resident={'workers': 2}", {"workers": 2})]
)
def test_a_process_stays_where_hookrunner_asks_unless_it_may_not(given: str, stays: JSON, program: Path) -> None:
    program.write_text(
        f"from hookrunner.sdk import Hook\nhook = Hook({given})\nhook.startup()(lambda: None)\nhook.run()\n"
    )
    environ = {**os.environ, "HOOKRUNNER_VERSION": "1"}
    asked, by_others = (
        json.loads(subprocess.check_output([sys.executable, program, "--config"], env=env)) for env in (environ, None)
    )
    assert asked.get("settings", {}).get("resident") == stays
    assert "settings" not in by_others


ENDS = """
import sys
from hookrunner.sdk import Hook

hook = Hook()
hook.startup()(lambda: sys.exit({}))
hook.run()
"""


@pytest.mark.parametrize(("code", "status", "said"), [("0", 0, ""), ("3", 1, "exit status 3\n"), ("'why'", 1, "why\n")])
def test_an_exit_in_a_function_ends_the_run_as_it_would_end_a_process(
    code: str, status: int, said: str, program: Path, files: dict[str, str]
) -> None:
    program.write_text(ENDS.format(code))
    Path(files["BINDING_CONTEXT_PATH"]).write_text('[{"binding": "onStartup"}]')
    environ = {**os.environ, **files}
    done = subprocess.run([sys.executable, program], env=environ, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (status, said)


SIDE_BY_SIDE = """
import threading
from hookrunner.sdk import Hook

hook = Hook(queues={"wide": {"concurrency": 3}})
all_three = threading.Barrier(3, timeout=30)
hook.on("v1/Namespace", name="label", queue="wide")(lambda: all_three.wait())
hook.run()
"""


@pytest.mark.parametrize("program", [SIDE_BY_SIDE], indirect=True)
def test_runs_of_a_wide_queue_are_side_by_side(resident: tuple[subprocess.Popen[bytes], int, int]) -> None:
    _, give, take = resident
    messages: list[JSON] = [{"hello": {}}, *({"run": {"id": name, "contexts": context(name)}} for name in "abc")]
    os.write(give, b"".join(json.dumps(message).encode() + b"\n" for message in messages))
    with os.fdopen(os.dup(take)) as answers:
        hello, *answered = (json.loads(answers.readline()) for _ in range(4))
    os.close(give)
    assert hello["hello"]["concurrency"] == 3
    assert sorted(one["answer"]["id"] for one in answered) == ["a", "b", "c"]
