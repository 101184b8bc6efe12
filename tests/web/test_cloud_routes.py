"""The cloud on the debug endpoint. Level: pure."""

from collections.abc import Sequence
from dataclasses import replace

import orjson
import pytest
from aiohttp import web

from hookrunner.cloud.answers import ErrorCode, ProviderError
from hookrunner.model.cloud import CloudDump, CloudNodeDump, OrphanDump, ProviderDump
from hookrunner.web.debug import Parameters, Views, application
from hookrunner.web.views.pages import DebugPages
from tests.web.conftest import Browse

DUMP = CloudDump(
    ProviderDump("/p", "sim", ("instances",)), True, "me", nodes=(CloudNodeDump("a", "uninitialized", reason="no id"),)
)


class Shown:
    """A cloud with one orphan, whose list of load balancers can fail."""

    def __init__(self, fails: bool = False, leads: bool = True) -> None:
        self.fails = fails
        self.leads = leads
        self.held = ["a", "b"]

    def dump(self) -> CloudDump:
        return replace(DUMP, leads=self.leads)

    def release(self) -> Sequence[str]:
        held, self.held = self.held, []
        return held

    async def find_orphans(self) -> Sequence[OrphanDump]:
        if self.fails:
            raise ProviderError(ErrorCode.NOT_IMPLEMENTED, "lb-list is unknown")
        return [OrphanDump("lb-1", "d/web", "uid-1", "the Service does not exist")]


def served(cloud: Shown | None) -> web.Application:
    return application(Views(list, list, lambda name: None, Parameters([]), DebugPages(cloud=cloud)))


async def test_the_state_is_shown_as_it_is(browse: Browse) -> None:
    async with browse(served(Shown())) as session:
        shown = orjson.loads(await (await session.get("/cloud/status.json")).text())
        assert shown["provider"]["name"] == "sim"
        assert [(node["name"], node["reason"]) for node in shown["nodes"]] == [("a", "no id")]


async def test_release_names_what_it_lets_go(browse: Browse) -> None:
    async with browse(served(Shown())) as session:
        answers = [await (await session.post("/cloud/release")).json() for _ in range(2)]
        assert answers == [{"released": ["a", "b"]}, {"released": []}]


@pytest.mark.parametrize(
    ("cloud", "method", "path", "status", "text"),
    [
        (Shown(), "GET", "/cloud/orphans.json", 200, "the Service does not exist"),
        (Shown(fails=True), "GET", "/cloud/orphans", 500, "NotImplemented: lb-list is unknown"),
        (None, "GET", "/cloud/status", 404, "there is no cloud: none was asked for"),
        (None, "POST", "/cloud/release", 404, "there is no cloud"),
        (Shown(leads=False), "POST", "/cloud/release", 409, "this replica does not lead and holds no deletion: ask me"),
    ],
)
async def test_answers(browse: Browse, cloud: Shown | None, method: str, path: str, status: int, text: str) -> None:
    async with browse(served(cloud)) as session:
        answer = await session.request(method, path)
        assert answer.status == status
        assert text in await answer.text()
