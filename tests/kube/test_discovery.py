"""Which resource a kind means, with and without aggregated discovery, and how often the server is asked."""

import asyncio

import pytest

from hookrunner.errors import ApiError, UnknownKind
from hookrunner.kube.discovery import Discovery
from tests.fakes.api import FakeApi

pytestmark = pytest.mark.looptime
WIDGETS = [
    ("example.com/v2", "Widget", "widgets", ["wd"], True),
    ("example.com/v1", "Widget", "widgets", ["wd"], True),
    ("example.com/v1", "Gadget", "gadgets", [], False),
]


@pytest.fixture(params=[True, False], ids=["aggregated", "by group"])
def served(request: pytest.FixtureRequest, api: FakeApi) -> FakeApi:
    api.aggregates = request.param
    api.kinds += WIDGETS
    return api


@pytest.mark.parametrize("kind", ["Widget", "widget", "WIDGETS", "wd"])
@pytest.mark.parametrize(("asked", "found"), [("", "example.com/v2"), ("example.com/v1", "example.com/v1")])
async def test_kinds_plurals_and_short_names_in_any_case(
    served: FakeApi, discovery: Discovery, kind: str, asked: str, found: str
) -> None:
    resource = await discovery.resolve(asked, kind)
    assert (resource.api_version, resource.kind, resource.plural) == (found, "Widget", "widgets")
    assert resource.namespaced


async def test_a_kind_that_only_another_version_has_is_found(served: FakeApi, discovery: Discovery) -> None:
    resource = await discovery.resolve("", "Gadget")
    assert (resource.api_version, resource.namespaced) == ("example.com/v1", False)


async def test_one_group_version_is_asked_for_alone(served: FakeApi, discovery: Discovery) -> None:
    await discovery.resolve("example.com/v1", "Widget")
    assert [request.path for request in served.requests] == ["/apis/example.com/v1"]


async def test_answers_are_kept(served: FakeApi, discovery: Discovery) -> None:
    await asyncio.gather(*(discovery.resolve("", "Widget") for _ in range(20)))
    before = len(served.requests)
    await discovery.resolve("", "cm")
    assert len(served.requests) == before


async def test_a_kind_that_comes_later_is_found(api: FakeApi, discovery: Discovery) -> None:
    with pytest.raises(UnknownKind, match=r"'Widget' in apiVersion 'example.com/v1'.*CustomResourceDefinition"):
        await discovery.resolve("example.com/v1", "Widget")
    api.kinds += WIDGETS
    await asyncio.sleep(3)
    assert (await discovery.resolve("example.com/v1", "Widget")).plural == "widgets"


async def test_unknown_kinds_do_not_hammer_the_server(api: FakeApi, discovery: Discovery) -> None:
    for number in range(100):
        with pytest.raises(UnknownKind):
            await discovery.resolve("v1", f"Thing{number}")
    assert len(api.requests) == 1


async def test_a_kind_that_went_is_forgotten(served: FakeApi, discovery: Discovery) -> None:
    await discovery.resolve("example.com/v1", "Widget")
    served.kinds = served.kinds[:2]
    await asyncio.sleep(3)
    discovery.forget("example.com/v1")
    with pytest.raises(UnknownKind):
        await discovery.resolve("example.com/v1", "Widget")


async def test_a_group_that_is_away_leaves_the_others(api: FakeApi, discovery: Discovery) -> None:
    api.aggregates = False
    api.kinds += [("away.io/v1", "Lost", "lost", [], True)]
    api.broken.add("/apis/away.io/v1")
    assert (await discovery.resolve("", "cm")).kind == "ConfigMap"
    with pytest.raises(UnknownKind, match=r"did not answer: away\.io/v1"):
        await discovery.resolve("", "Lost")


async def test_a_server_without_any_answer_is_an_error(api: FakeApi, discovery: Discovery) -> None:
    api.aggregates = False
    api.broken |= {"/api/v1"}
    with pytest.raises(ApiError, match="no API group answered"):
        await discovery.resolve("", "cm")
