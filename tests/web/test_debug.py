"""The debug endpoint as a client sees it: routes, formats, content types, errors. Texts are tested in test_formats.

Level: pure."""

import pytest
import yaml
from aiohttp import web

from hookrunner.model.contexts import Entry
from hookrunner.model.needs import ProgramFacts, ProgramStatus, Urgency, UserNeed
from hookrunner.model.resources import ObjectKey
from hookrunner.model.status import QueueDump, SnapshotDump
from hookrunner.web.debug import OverTcp, Parameter, Parameters, Views, application
from tests.web.conftest import Browse, Fetch

DURATION = "it has to look like 30s, 10m or 1h30m"
MAIN = QueueDump("main", "run first task", ((1, "HookRun:main:kubernetes:a.sh:pods"),))
PODS = SnapshotDump("pods", [Entry(ObjectKey("d", "Pod", "y"), b'{"on":"yes"}', None)], {"sinceStart": {"count": 1}})


def app(applied: list[str]) -> web.Application:
    parameters = Parameters([Parameter("log.level", "", "info", applied.append)])
    hooks = {"a.sh": [PODS], "dir/b c.sh": []}
    return application(Views(lambda: [MAIN, QueueDump("q")], lambda: list(hooks), hooks.get, parameters))


@pytest.mark.parametrize(
    ("path", "kind", "text"),
    [
        ("/", "text/plain", "debug endpoint is alive"),
        (
            "/queue/main",
            "text/plain",
            "Queue 'main': length 1, status: 'run first task'\n\n 1. " + MAIN.tasks[0][1] + "\n",
        ),
        (
            "/queue/main.json",
            "application/json",
            '{"name":"main","tasksCount":1,"status":"run first task",'
            '"tasks":[{"index":1,"description":"HookRun:main:kubernetes:a.sh:pods"}]}\n',
        ),
        (
            "/queue/main.yaml",
            "application/yaml",
            "name: main\ntasksCount: 1\nstatus: run first task\n"
            "tasks:\n- index: 1\n  description: HookRun:main:kubernetes:a.sh:pods\n",
        ),
        ("/hook/list.text", "text/plain", '["a.sh","dir/b c.sh"]\n'),
        ("/hook/list.json", "application/json", '["a.sh","dir/b c.sh"]\n'),
        ("/hook/list.html", "application/json", '["a.sh","dir/b c.sh"]\n'),
        (
            "/hook/a.sh/snapshots.json",
            "application/json",
            '{"pods":{"snapshot":[{"object":{"on":"yes"}}],"operations":{"sinceStart":{"count":1}}}}\n',
        ),
        ("/hook/dir/b%20c.sh/snapshots.text", "text/plain", "{}\n"),
        ("/hook/dir%2Fb%20c.sh/snapshots.text", "text/plain", "{}\n"),
    ],
)
async def test_routes_and_formats(browse: Browse, path: str, kind: str, text: str) -> None:
    async with browse(app([])) as session:
        answer = await session.get(path)
        assert (answer.status, answer.content_type, await answer.text()) == (200, kind, text)


async def test_stacks_of_tasks_and_threads_are_shown(browse: Browse) -> None:
    async with browse(app([])) as session:
        lines = (await (await session.get("/tasks")).text()).splitlines()
    assert "test_stacks_of_tasks_and_threads_are_shown" in "".join(lines)
    assert "thread MainThread" in lines


async def test_text_answer_names_its_charset(browse: Browse) -> None:
    async with browse(app([])) as session:
        assert (await session.get("/queue/list.text")).headers["Content-Type"] == "text/plain; charset=utf-8"


async def test_yaml_contains_the_summary(browse: Browse) -> None:
    async with browse(app([])) as session:
        shown = yaml.safe_load(await (await session.get("/queue/list.yaml?showEmpty=true")).text())
        assert shown["summary"]["otherQueues"] == {"active": 0, "empty": 1, "tasks": 0}
        assert shown["empty"] == [{"name": "q", "tasksCount": 0}]


async def test_words_that_yaml_reads_otherwise_are_quoted(browse: Browse) -> None:
    async with browse(app([])) as session:
        text = await (await session.get("/hook/a.sh/snapshots.yaml")).text()
        assert "'on': 'yes'" in text


async def test_empty_queues_are_shown_on_request(browse: Browse) -> None:
    async with browse(app([])) as session:
        assert "Empty queues (1):\n- q\n" in await (await session.get("/queue/list.text?showEmpty=true")).text()
        assert "Empty" not in await (await session.get("/queue/list.text")).text()


@pytest.mark.parametrize(
    ("path", "status", "text"),
    [
        ("/nothing", 404, "404 page not found\n"),
        ("/hook/none.sh/snapshots.json", 404, "hook 'none.sh' is not exist\n"),
        ("/hook//snapshots.json", 400, "'hook' parameter is required\n"),
        ("/config/set", 405, "Method Not Allowed\n"),
    ],
)
async def test_errors_are_one_line_of_text(browse: Browse, path: str, status: int, text: str) -> None:
    async with browse(app([])) as session:
        answer = await session.get(path)
        assert (answer.status, answer.content_type, await answer.text()) == (status, "text/plain", text)


async def test_failing_view_is_a_500_with_the_reason(fetch: Fetch) -> None:
    def broken() -> list[str]:
        raise RuntimeError("no hooks yet")

    failing = application(Views(list, broken, lambda _name: None, Parameters([])))
    assert await fetch(failing, "/hook/list.json") == (500, "internal error, see the log: no hooks yet\n")


async def test_parameter_is_set_and_listed(browse: Browse) -> None:
    applied: list[str] = []
    async with browse(app(applied)) as session:
        form = {"name": "log.level", "value": "error", "duration": "1h30m"}
        answer = await session.post("/config/set", data=form)
        assert (answer.status, await answer.text(), applied) == (200, "", ["error"])
        (shown,) = await (await session.get("/config/list.json")).json()
        assert (shown["value"], "expireAt" in shown) == ("error", True)
        assert (await (await session.get("/config/list.text")).text()).startswith("NAME     ")


@pytest.mark.parametrize(
    ("form", "text"),
    [
        ({"value": "x"}, "'name' parameter is required\n"),
        ({"name": "nope", "value": "x"}, 'unknown runtime parameter "nope"\n'),
        (
            {"name": "log.level", "duration": "soon"},
            f'parse duration "soon" failed: {DURATION}\n',
        ),
        (
            {"name": "log.level", "duration": "-1s"},
            f'parse duration "-1s" failed: {DURATION}\n',
        ),
    ],
)
async def test_bad_setting_is_a_400_with_the_reason(browse: Browse, form: dict[str, str], text: str) -> None:
    applied: list[str] = []
    async with browse(app(applied)) as session:
        answer = await session.post("/config/set", data=form)
        assert (answer.status, await answer.text(), applied) == (400, text, [])


async def test_status_shows_the_whole_program(browse: Browse) -> None:
    hook = UserNeed(Urgency.FAILING, "hooks", "a.sh", "has failed once for tick", "hookrunner queue list", 1)
    status = ProgramStatus("not ready", False, "startup", ProgramFacts("1.2.3", hooks=1), [hook])
    views = Views(list, list, lambda _name: None, Parameters([]), status=lambda: status)
    async with browse(application(views, OverTcp("localhost", secret=True))) as session:
        shown = await (await session.get("/status.json")).json()
    assert list(shown) == ["state", "ready", "reason", "facts", "needs"]
    assert (shown["facts"]["hooks"], shown["needs"][0]["urgency"]) == (1, "failing")
