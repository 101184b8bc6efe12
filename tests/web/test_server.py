"""The public server, over a real socket: each page, and what readiness says to machines and to people. Level: pure."""

import asyncio
from collections.abc import Iterator, Sequence

import pytest
from aiohttp import web

from hookrunner.model.needs import Urgency, UserNeed
from hookrunner.model.status import Condition
from hookrunner.web.server import SCRAPES, Pages, application
from tests.web.conftest import Browse, Fetch

READY = Condition("hooks", True, "", 0.0)
WAITING = Condition("kubernetes", False, "no answer from https://10.0.0.1: connection refused", 1_750_000_000.0)


def app(conditions: Sequence[Condition] = ()) -> web.Application:
    return application(Pages(lambda: [b"m 1\n"], lambda: [b"h ", b"2\n"], lambda: conditions))


async def test_metrics_of_both_kinds_are_plain_text_0_0_4(browse: Browse) -> None:
    async with browse(app()) as session:
        ours, hooks = await session.get("/metrics"), await session.get("/metrics/hooks")
        assert (await ours.text(), await hooks.text()) == ("m 1\n", "h 2\n")
        assert ours.headers["Content-Type"] == "text/plain; version=0.0.4; charset=utf-8"


async def test_metrics_are_compressed_on_request(browse: Browse) -> None:
    async with browse(app()) as session:
        answer = await session.get("/metrics", headers={"Accept-Encoding": "gzip"})
        assert (answer.headers["Content-Encoding"], await answer.text()) == ("gzip", "m 1\n")


async def test_metrics_are_read_at_each_request(browse: Browse) -> None:
    texts = iter([[b"m 1\n"], [b"m 2\n"]])
    async with browse(application(Pages(lambda: next(texts), list, list))) as session:
        assert [await (await session.get("/metrics")).text() for _ in range(2)] == ["m 1\n", "m 2\n"]


async def test_health_is_ok_while_not_ready(browse: Browse) -> None:
    async with browse(app([WAITING])) as session:
        assert (await session.get("/healthz")).status == 200
        assert (await session.get("/readyz")).status == 503


async def test_readiness_json_names_missing_conditions(browse: Browse) -> None:
    async with browse(app([READY, WAITING])) as session:
        answer = await session.get("/readyz")
        assert await answer.json() == {
            "ready": False,
            "conditions": [
                {"name": "hooks", "ready": True, "message": "", "since": "1970-01-01T00:00:00Z"},
                {"name": "kubernetes", "ready": False, "message": WAITING.message, "since": "2025-06-15T15:06:40Z"},
            ],
        }


async def test_people_see_what_needs_them_in_the_order_of_its_urgency(browse: Browse) -> None:
    names = ("background", "tasks", "hooks", "modules", "webhooks")
    conditions = [Condition(name, name != "tasks", "" if name == "background" else "news", 0.0) for name in names]
    needs = [UserNeed(Urgency.CRITICAL, kind, "", "", "") for kind in ("webhooks", "background", "modules")]
    pages = Pages(list, list, lambda: conditions, needs=lambda: needs)
    async with browse(application(pages)) as session:
        lines = (await (await session.get("/readyz?output=text")).text()).splitlines()
    assert [line.split()[0] for line in lines] == [
        "[-]tasks",
        "[+]webhooks",
        "[+]modules",
        "[+]background",
        "[+]hooks",
        "not",
    ]


async def test_ready_means_that_every_condition_holds(browse: Browse) -> None:
    async with browse(app([READY])) as session:
        answer = await session.get("/readyz")
        assert (answer.status, (await answer.json())["ready"]) == (200, True)


@pytest.mark.parametrize(
    ("path", "accept"),
    [("/readyz?output=text", "*/*"), ("/readyz", "text/html,*/*;q=0.8"), ("/readyz?output=text", "application/json")],
)
async def test_readiness_text_lists_missing_conditions_first(fetch: Fetch, path: str, accept: str) -> None:
    assert await fetch(app([READY, WAITING]), path, headers={"Accept": accept}) == (
        503,
        "[-]kubernetes since 2025-06-15T15:06:40Z: no answer from https://10.0.0.1: connection refused\n"
        "[+]hooks since 1970-01-01T00:00:00Z\n"
        "not ready\n",
    )


async def test_front_page_links_every_route_and_discovery_lists_them(browse: Browse) -> None:
    async with browse(app()) as session:
        page, routes = await session.get("/"), await (await session.get("/discovery")).text()
        assert page.content_type == "text/html"
        assert routes == "GET /\nGET /metrics\nGET /metrics/hooks\nGET /healthz\nGET /readyz\nGET /discovery\n"
        text = await page.text()
        assert all(f'href="{line.split()[1]}' in text for line in routes.splitlines()[1:])


async def test_failing_page_is_a_500_and_the_server_stays(browse: Browse, caplog: pytest.LogCaptureFixture) -> None:
    def broken() -> list[bytes]:
        raise RuntimeError("boom")

    async with browse(application(Pages(broken, list, list))) as session:
        assert (await session.get("/metrics")).status == 500
        assert (await session.get("/healthz")).status == 200
    assert "boom" in caplog.text


async def test_other_requests_are_answered_while_metrics_are_written(browse: Browse) -> None:
    alive = list[int]()

    def until_alive() -> Iterator[bytes]:
        while not alive:
            yield b"m 1\n"

    async with browse(application(Pages(until_alive, list, list))) as session, asyncio.timeout(60):
        scrape = asyncio.create_task(session.get("/metrics"))
        alive.append((await session.get("/healthz")).status)
        await (await scrape).read()
        assert alive == [200]


async def test_scrape_over_the_limit_is_answered_with_retry_after(browse: Browse) -> None:
    over = list[bool]()

    def until_over() -> Iterator[bytes]:
        while not over:
            yield b"m 1\n"

    async with browse(application(Pages(until_over, until_over, list))) as session, asyncio.timeout(60):
        scrapes = [asyncio.create_task(session.get(path)) for path in ("/metrics", "/metrics/hooks") for _ in range(4)]
        assert len([await scrape for scrape in scrapes]) == SCRAPES
        async with session.get("/metrics") as refused:
            assert (refused.status, refused.headers["Retry-After"]) == (503, "1")
        over.append(True)
        await asyncio.gather(*[(await scrape).read() for scrape in scrapes])
        async with session.get("/metrics") as answer:
            assert (answer.status, await answer.read()) == (200, b"")


async def test_head_request_for_metrics_gets_no_body(browse: Browse) -> None:
    async with browse(app()) as session:
        answer = await session.head("/metrics")
        assert (answer.status, await answer.read()) == (200, b"")
