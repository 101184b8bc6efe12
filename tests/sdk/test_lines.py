"""What a process of the SDK does with each message of the resident protocol. Level: pure."""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from hookrunner.hooks.resident import messages
from hookrunner.sdk import lines
from kubetypes.json_values import JSON

HOOK = """
import os, sys, time
from pathlib import Path
from hookrunner.sdk import Hook

HERE = Path(__file__).parent
hook = Hook(%s)

@hook.on("v1/Pod", name="sleep")
def sleep(progress):
    progress("began")
    try:
        for _ in range(60):  # a signal just before a sleep does not end it
            time.sleep(1)
    except Exception:
        print("a function that catches everything")

@hook.on("v1/Pod", name="asleep")
async def asleep(progress):
    import asyncio
    try:
        progress("began")
        for _ in range(60):
            await asyncio.sleep(1)
    finally:
        progress("cleaned up")

@hook.on("v1/Pod", name="polite")
def polite(task, metrics, progress):
    progress("began")
    while not task.cancelled:
        time.sleep(0.01)
    metrics.set(task.cancelled, 1)

@hook.on("v1/Pod", name="reports")
def reports(log, progress):
    progress("3 of 10")
    log.warn("hot", degrees=40, where=HERE)

@hook.on("v1/Pod", name="steps")
def steps(progress):
    progress("began")
    try:
        while True:
            time.sleep(0.01)
            progress("step")
    finally:
        progress("cleaned up")

@hook.on("v1/Pod", name="prints")
async def prints():
    import asyncio, logging, warnings
    warnings.simplefilter("ignore")  # newer versions of Python warn of a fork beside threads
    logging.basicConfig(stream=STDERR, format="%%(message)s")
    print("one", "two")
    await asyncio.to_thread(logging.warning, "in a thread")
    print("no end", end="")
    if os.fork() == 0:
        print("of a fork", flush=True)
        os._exit(0)
    os.wait()
    os.write(1, b"of the process\\n")
    raise ValueError("no luck")

@hook.on("v1/Pod", name="odd")
def odd():
    raise GeneratorExit("odd")

@hook.on("v1/Pod", name="gives_up")
async def gives_up():
    import asyncio
    raise asyncio.CancelledError

@hook.on("v1/Pod", name="starts_a_program")
def starts_a_program(progress):
    import subprocess
    count = "import os; print(len(os.listdir('/proc/self/fd')))"
    progress(subprocess.check_output([sys.executable, "-c", count], close_fds=False, text=True).strip())

@hook.on("v1/Pod", name="quick")
def quick():
    pass

STDERR = sys.stderr

hook.run()
"""


class Session:
    """hookrunner's side."""

    def __init__(self, directory: Path, settings: str) -> None:
        program = directory / "hook.py"
        program.write_text(HOOK % settings)
        self.directory = directory
        requests, self.give = os.pipe()
        take, answers = os.pipe()
        channels = {"HOOKRUNNER_REQUESTS": f"/dev/fd/{requests}", "HOOKRUNNER_ANSWERS": f"/dev/fd/{answers}"}
        self.process = subprocess.Popen(
            [sys.executable, program, "--resident"],
            env={**os.environ, **channels},
            pass_fds=(requests, answers),
            stdout=subprocess.PIPE,
            text=True,
        )
        os.close(requests)
        os.close(answers)
        self.take = os.fdopen(take)
        self.tell(messages.OUR_HELLO)
        self.hello = self.next()["hello"]

    def tell(self, line: bytes) -> None:
        os.write(self.give, line + b"\n")

    def run(self, id: str, binding: str) -> None:
        context = {"binding": binding, "type": "Event", "watchEvent": "Added", "object": {"metadata": {"name": "a"}}}
        self.tell(json.dumps({"run": {"id": id, "contexts": [context]}}).encode())

    def next(self) -> JSON:
        return json.loads(self.take.readline())

    def until_answer(self) -> list[JSON]:
        """What it says until the next answer, with that."""
        said = [self.next()]
        while "answer" not in said[-1]:
            said.append(self.next())
        return said

    def begin(self, id: str, binding: str) -> None:
        """Let a function begin that waits then."""
        self.run(id, binding)
        assert self.next() == {"progress": {"id": id, "message": "began"}}


@pytest.fixture
def session(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Session]:
    session = Session(tmp_path, getattr(request, "param", ""))
    yield session
    session.process.kill()
    session.process.communicate()
    session.take.close()
    os.close(session.give)


wide = pytest.mark.parametrize("session", ["queues={'q': {'concurrency': 2}}"], indirect=True)


def test_all_that_hookrunner_has_is_taken(session: Session) -> None:
    assert lines.VERSION == messages.VERSION
    assert session.hello["capabilities"] == list(messages.CAPABILITIES)


@pytest.mark.parametrize(("binding", "cleaned_up"), [("sleep", []), ("asleep", ["cleaned up"])])
def test_a_run_that_is_over_its_time_is_interrupted_and_the_process_stays(
    session: Session, binding: str, cleaned_up: list[str]
) -> None:
    reasons: tuple[messages.CancelReason, ...] = ("deadline", "fenced")
    for number, reason in zip("12", reasons, strict=True):
        session.begin(number, binding)
        session.tell(messages.cancel_line(number, reason))
        assert [session.next()["progress"]["message"] for _ in cleaned_up] == cleaned_up
        failed = {"outcome": "failed", "message": f"cancelled: {reason}", "operations": []}
        assert session.next()["answer"] == {"id": number, **failed}
    session.run("3", "quick")
    assert session.next() == {"answer": {"id": "3"}}


def test_a_cancel_that_comes_with_its_run_or_after_it_changes_nothing_else(session: Session) -> None:
    session.run("1", "quick")
    session.tell(messages.cancel_line("1", "deadline"))
    session.tell(messages.cancel_line("7", "deadline"))
    session.run("2", "quick")
    assert [session.next()["answer"]["id"] for _ in range(2)] == ["1", "2"]


@pytest.mark.parametrize("session", ["", "queues={'q': {'concurrency': 2}}"], indirect=True)
def test_at_a_shutdown_a_function_may_finish(session: Session) -> None:
    session.begin("1", "polite")
    session.tell(messages.cancel_line("1", "shutdown"))
    assert session.next()["answer"]["metrics"][0]["name"] == "shutdown"


@wide
def test_beside_others_a_function_asks_whether_it_is_cancelled(session: Session) -> None:
    session.begin("1", "polite")
    session.tell(messages.cancel_line("1", "deadline"))
    assert session.next()["answer"]["metrics"][0]["name"] == "deadline"


@wide
@pytest.mark.parametrize("binding", ["asleep", "steps"])
def test_beside_others_a_coroutine_is_cancelled_and_a_function_where_it_reports_progress(
    session: Session, binding: str
) -> None:
    session.begin("2", "polite")
    session.begin("1", binding)
    session.tell(messages.cancel_line("1", "deadline"))
    said = session.until_answer()
    assert said[-2:] == [
        {"progress": {"id": "1", "message": "cleaned up"}},
        {"answer": {"id": "1", "outcome": "failed", "message": "cancelled: deadline", "operations": []}},
    ]
    session.tell(messages.cancel_line("2", "shutdown"))
    assert session.next()["answer"]["metrics"][0]["name"] == "shutdown"


@wide
def test_at_a_shutdown_a_coroutine_beside_others_is_not_cancelled(session: Session) -> None:
    session.begin("1", "asleep")
    session.tell(messages.cancel_line("1", "shutdown"))
    session.run("2", "quick")
    assert session.next() == {"answer": {"id": "2"}}


@wide
@pytest.mark.parametrize(
    ("binding", "message"),
    [("odd", "GeneratorExit: odd"), ("gives_up", "RuntimeError: the function was cancelled, and not by hookrunner")],
)
def test_beside_others_a_run_is_answered_whatever_its_function_raises(
    session: Session, binding: str, message: str
) -> None:
    session.run("1", binding)
    assert session.until_answer()[-1]["answer"]["message"] == message


@wide
def test_what_functions_side_by_side_print_is_sent_with_their_runs(session: Session) -> None:
    session.begin("1", "polite")
    session.run("2", "prints")
    *logged, answer = session.until_answer()
    assert answer["answer"]["message"] == "ValueError: no luck"
    assert {message["log"]["id"] for message in logged} == {"2"}
    lines = [(message["log"]["output"], message["log"]["line"]) for message in logged]
    assert lines[:3] == [
        ("stdout", "one two"),
        ("stderr", "in a thread"),
        ("stderr", "Traceback (most recent call last):"),
    ]
    assert lines[-2:] == [("stderr", "ValueError: no luck"), ("stdout", "no end")]
    assert session.process.stdout
    assert [session.process.stdout.readline() for _ in range(2)] == ["of a fork\n", "of the process\n"]


def test_programs_of_a_function_have_neither_requests_nor_answers(session: Session) -> None:
    """Which they would hold open, or print to: standard streams, and the directory that is listed."""
    session.run("1", "starts_a_program")
    assert session.next()["progress"]["message"] == "4"


@wide
def test_the_log_of_runs_side_by_side_is_sent_with_each(session: Session) -> None:
    session.run("1", "reports")
    assert session.next() == {"progress": {"id": "1", "message": "3 of 10"}}
    record = {"id": "1", "level": "warn", "msg": "hot", "degrees": 40, "where": str(session.directory)}
    assert session.next() == {"log": record}
    assert session.next() == {"answer": {"id": "1"}}


def test_the_log_of_one_run_at_a_time_is_what_is_printed(session: Session) -> None:
    session.run("1", "reports")
    assert [next(iter(session.next())) for _ in range(2)] == ["progress", "answer"]
    assert session.process.stdout
    assert json.loads(session.process.stdout.readline())["msg"] == "hot"


ANSWERED: dict[str, Callable[..., None]] = {
    "cancel": test_a_run_that_is_over_its_time_is_interrupted_and_the_process_stays,
    "file": test_all_that_hookrunner_has_is_taken,  # with a run: tests/sdk/test_carriers.py
    "log": test_the_log_of_runs_side_by_side_is_sent_with_each,
    "progress": test_the_log_of_one_run_at_a_time_is_what_is_printed,
}


def test_each_capability_has_its_test() -> None:
    assert ANSWERED.keys() == set(messages.CAPABILITIES)
