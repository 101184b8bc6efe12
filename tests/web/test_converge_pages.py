"""What addon-operator's users, probes and scripts read of the converge: byte for byte. Level: pure."""

import pytest
from aiohttp import web

from hookrunner.model.status import Condition, ConvergeDump
from hookrunner.web.server import Pages, application
from tests.web.conftest import Browse, Fetch

NOT_STARTED = ConvergeDump()
STARTED = ConvergeDump(begun=True, tasks=12)
BUSY = ConvergeDump(begun=True, done=True, tasks=3)
WAITING = ConvergeDump(begun=True, done=True)

READY = Condition("converge", True, "Startup converge done.", 0.0)
PARKED = Condition("modules", True, "a: no such kind", 0.0)
UNREADY = Condition("watches", False, "g.sh: pods: forbidden", 0.0)


def app(converge: ConvergeDump, *conditions: Condition, unready: int = 503) -> web.Application:
    return application(Pages(list, list, lambda: conditions, lambda: converge, unready))


@pytest.mark.parametrize(
    ("converge", "status", "text"),
    [
        (NOT_STARTED, 503, "Startup converge in progress\n"),
        (STARTED, 503, "Startup converge in progress\n"),
        (BUSY, 200, "Startup converge done.\n"),
        (WAITING, 200, "Startup converge done.\n"),
    ],
)
@pytest.mark.parametrize("accept", ["*/*", "text/html,*/*;q=0.8"])
async def test_readiness_uses_the_texts_of_addon_operator(
    browse: Browse, converge: ConvergeDump, status: int, text: str, accept: str
) -> None:
    async with browse(app(converge, READY)) as session:
        answer = await session.get("/readyz", headers={"Accept": accept})
        assert (answer.status, answer.content_type, await answer.text()) == (status, "text/plain", text)


@pytest.mark.parametrize(("converge", "status"), [(STARTED, 500), (WAITING, 200)])
async def test_unready_is_a_500_under_addon_operators_name(browse: Browse, converge: ConvergeDump, status: int) -> None:
    async with browse(app(converge, READY, unready=500)) as session:
        assert (await session.get("/readyz")).status == status
        assert (await session.get("/readyz?output=json")).status == status


@pytest.mark.parametrize(
    ("path", "accept"), [("/readyz?output=json", "*/*"), ("/readyz", "application/json"), ("/readyz?output=json", "")]
)
async def test_readiness_json_names_parked_modules(browse: Browse, path: str, accept: str) -> None:
    async with browse(app(WAITING, READY, PARKED)) as session:
        answer = await session.get(path, headers={"Accept": accept})
        assert await answer.text() == (
            '{"ready":true,"conditions":['
            '{"name":"converge","ready":true,"message":"Startup converge done.","since":"1970-01-01T00:00:00Z"},'
            '{"name":"modules","ready":true,"message":"a: no such kind","since":"1970-01-01T00:00:00Z"}]}\n'
        )


@pytest.mark.parametrize("path", ["/readyz", "/readyz?output=text"])
async def test_unready_conditions_after_the_converge_are_named(fetch: Fetch, path: str) -> None:
    assert await fetch(app(WAITING, READY, UNREADY), path) == (
        503,
        "[-]watches since 1970-01-01T00:00:00Z: g.sh: pods: forbidden\n"
        "[+]converge since 1970-01-01T00:00:00Z: Startup converge done.\n"
        "not ready\n",
    )


@pytest.mark.parametrize(
    ("converge", "text", "json"),
    [
        (
            NOT_STARTED,
            "STARTUP_CONVERGE_NOT_STARTED\n",
            '{"CONVERGE_IN_PROGRESS":0,"CONVERGE_WAIT_TASK":false,"STARTUP_CONVERGE_DONE":false,'
            '"STARTUP_CONVERGE_IN_PROGRESS":0,"STARTUP_CONVERGE_NOT_STARTED":true}\n',
        ),
        (
            STARTED,
            "STARTUP_CONVERGE_IN_PROGRESS: 12 tasks\n",
            '{"CONVERGE_IN_PROGRESS":0,"CONVERGE_WAIT_TASK":false,"STARTUP_CONVERGE_DONE":false,'
            '"STARTUP_CONVERGE_IN_PROGRESS":12,"STARTUP_CONVERGE_NOT_STARTED":false}\n',
        ),
        (
            BUSY,
            "STARTUP_CONVERGE_DONE\nCONVERGE_IN_PROGRESS: 3 tasks\n",
            '{"CONVERGE_IN_PROGRESS":3,"CONVERGE_WAIT_TASK":false,"STARTUP_CONVERGE_DONE":true,'
            '"STARTUP_CONVERGE_IN_PROGRESS":0,"STARTUP_CONVERGE_NOT_STARTED":false}\n',
        ),
        (
            WAITING,
            "STARTUP_CONVERGE_DONE\nCONVERGE_WAIT_TASK\n",
            '{"CONVERGE_IN_PROGRESS":0,"CONVERGE_WAIT_TASK":true,"STARTUP_CONVERGE_DONE":true,'
            '"STARTUP_CONVERGE_IN_PROGRESS":0,"STARTUP_CONVERGE_NOT_STARTED":false}\n',
        ),
    ],
)
async def test_converge_page_reports_begun_done_and_tasks(
    browse: Browse, converge: ConvergeDump, text: str, json: str
) -> None:
    async with browse(app(converge)) as session:
        assert await (await session.get("/status/converge")).text() == text
        assert await (await session.get("/status/converge?output=json")).text() == json


async def test_converge_page_is_missing_without_modules(browse: Browse) -> None:
    async with browse(application(Pages(list, list, list))) as session:
        assert (await session.get("/status/converge")).status == 404
