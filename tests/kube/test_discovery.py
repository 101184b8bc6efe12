"""Which resource a kind means, with and without aggregated discovery, and how often the server is asked.

Level: sandbox."""

import asyncio
import re
from collections.abc import AsyncIterator

import pytest

from hookrunner.errors import ApiError, UnknownKind
from hookrunner.kube.client import Client
from hookrunner.kube.discovery import Discovery
from kubesandbox.faults import Fault
from tests.fakes.objects import definition
from tests.flows.waiting import until
from tests.kube.server import ApiServer, api_server, without_aggregation
from tests.tables import each

pytestmark = pytest.mark.looptime
WIDGET_NAMES = {"kind": "Widget", "plural": "widgets", "shortNames": ["wd"]}
WIDGETS = definition("example.com", "Widget", "v2", "v1", names=WIDGET_NAMES)
GADGETS = definition("example.com", "Gadget", "v1", scope="Cluster")


@pytest.fixture(params=["aggregated"])
async def api(request: pytest.FixtureRequest) -> AsyncIterator[ApiServer]:
    """Tests choose by `BOTH` or `BY_GROUP`."""
    async with api_server() as api:
        if request.param == "aggregated":
            yield api
            return
        async with without_aggregation(api) as old:
            yield old


BY_GROUP = pytest.mark.parametrize("api", ["by group"], indirect=True)
BOTH = pytest.mark.parametrize("api", ["aggregated", "by group"], indirect=True)


@pytest.fixture
async def served(api: ApiServer) -> ApiServer:
    """With a group of two versions, of which only the older one has Gadgets."""
    api.put(WIDGETS)
    api.put(GADGETS)
    await until(lambda: api.sandbox.kinds.of_kind("example.com/v1", "Gadget"), "it is served")
    return api


@BOTH
@each("kind", ["Widget", "widget", "WIDGETS", "wd"])
@each(("asked", "found"), [("", "example.com/v2"), ("example.com/v1", "example.com/v1")])
async def test_kinds_plurals_and_short_names_in_any_case(
    served: ApiServer, client: Client, kind: str, asked: str, found: str
) -> None:
    resource = await Discovery(client).resolve(asked, kind)
    assert (resource.api_version, resource.kind, resource.plural) == (found, "Widget", "widgets")
    assert resource.namespaced


@BOTH
async def test_a_kind_that_only_another_version_has_is_found(served: ApiServer, discovery: Discovery) -> None:
    resource = await discovery.resolve("", "Gadget")
    assert (resource.api_version, resource.namespaced) == ("example.com/v1", False)


@BOTH
async def test_one_group_version_is_asked_for_alone(served: ApiServer, discovery: Discovery) -> None:
    await discovery.resolve("example.com/v1", "Widget")
    assert [request.path for request in served.requests] == ["/apis/example.com/v1"]


@BOTH
async def test_resolved_kinds_cost_no_second_request(served: ApiServer, discovery: Discovery) -> None:
    await asyncio.gather(*(discovery.resolve("", "Widget") for _ in range(20)))
    before = len(served.requests)
    await discovery.resolve("", "cm")
    assert len(served.requests) == before


async def test_kind_that_is_installed_later_is_resolved(api: ApiServer, discovery: Discovery) -> None:
    with pytest.raises(UnknownKind, match=r"'Widget' in apiVersion 'example.com/v1'.*CustomResourceDefinition"):
        await discovery.resolve("example.com/v1", "Widget")
    api.put(WIDGETS)
    await asyncio.sleep(3)
    assert (await discovery.resolve("example.com/v1", "Widget")).plural == "widgets"


async def test_unknown_kinds_cause_one_request_per_second(api: ApiServer, discovery: Discovery) -> None:
    for number in range(100):
        with pytest.raises(UnknownKind):
            await discovery.resolve("v1", f"Thing{number}")
    assert [request.path for request in api.requests] == ["/api/v1", "/api", "/apis"]


@BOTH
@each(
    ("api_version", "kind", "message"),
    [
        ("extensions/v1beta1", "DaemonSet", "DaemonSet is served as apps/v1"),
        ("apps/v1beta2", "deploy", "Deployment is served as apps/v1"),
        ("apps", "Deployment", "Deployment is served as apps/v1"),
        ("v1", "Deployment", "Deployment is served as apps/v1"),
        ("batch/v1beta1", "CronJob", "CronJob is served as batch/v1"),
        ("core/v1", "Event", "Event is served as v1 and events.k8s.io/v1"),
        ("example.com/v1alpha1", "Widget", "Widget is served as example.com/v2"),
        ("apps/v1", "Deploymnt", "did you mean Deployment?"),
        ("v1", "Deploymnt", "did you mean Deployment in apps/v1?"),
        ("", "Deploymnt", "did you mean Deployment in apps/v1?"),
        ("policy/v1beta1", "PodSecurityPolicy", "Kubernetes has none of this name, or has it no longer"),
        ("v1", "Config", "Kubernetes has none of this name, or has it no longer"),
        ("apps/v1", "DaemonSetList", "Kubernetes has none of this name, or has it no longer"),
    ],
)
async def test_error_names_what_is_served_instead(
    served: ApiServer, client: Client, api_version: str, kind: str, message: str
) -> None:
    with pytest.raises(UnknownKind, match=f"the server knows no kind '{kind}' in .*: {re.escape(message)}$"):
        await Discovery(client).resolve(api_version, kind)


async def test_a_kind_of_a_group_that_is_not_there_is_a_definition_that_is_missing(
    served: ApiServer, discovery: Discovery
) -> None:
    question = r"is its CustomResourceDefinition installed, and is the version served\?"
    with pytest.raises(UnknownKind, match=rf"{question} \(Service is served as v1, if that was meant\)$"):
        await discovery.resolve("serving.knative.dev/v1", "Service")
    with pytest.raises(UnknownKind, match=f"{question}$"):
        await discovery.resolve("serving.knative.dev/v1", "Route")


@pytest.mark.parametrize("kind", ["deployment", "Deployments", "deploy"])
async def test_in_manifests_a_kind_is_spelled_in_one_way(api: ApiServer, discovery: Discovery, kind: str) -> None:
    assert (await discovery.resolve("apps/v1", "Deployment", exact=True)).plural == "deployments"
    with pytest.raises(UnknownKind, match=f"no kind '{kind}' in apiVersion 'apps/v1': write kind: Deployment$"):
        await discovery.resolve("apps/v1", kind, exact=True)


async def test_where_nothing_more_can_be_asked_the_kind_is_unknown_all_the_same(
    api: ApiServer, discovery: Discovery
) -> None:
    api.faults.add(Fault("answer", "GET /apis", status=403))
    with pytest.raises(UnknownKind, match="Kubernetes has none of this name"):
        await discovery.resolve("v1", "Deployment")


@BOTH
async def test_forgotten_kind_is_asked_for_again(served: ApiServer, discovery: Discovery) -> None:
    await discovery.resolve("example.com/v1", "Widget")
    served.delete(WIDGETS)
    served.delete(GADGETS)
    await asyncio.sleep(3)
    discovery.forget("example.com/v1")
    with pytest.raises(UnknownKind):
        await discovery.resolve("example.com/v1", "Widget")


@BY_GROUP
async def test_group_that_does_not_answer_leaves_the_others(api: ApiServer, discovery: Discovery) -> None:
    api.put(definition("away.io", "Lost", "v1"))
    api.faults.add(Fault("answer", "/apis/away.io/v1", status=503))
    assert (await discovery.resolve("", "cm")).kind == "ConfigMap"
    with pytest.raises(UnknownKind, match=r"did not answer: away\.io/v1"):
        await discovery.resolve("", "Lost")


@BY_GROUP
async def test_a_server_without_any_answer_is_an_error(api: ApiServer, discovery: Discovery) -> None:
    api.faults.add(Fault("answer", "/v1", status=503))
    api.faults.add(Fault("answer", "/v2", status=503))
    with pytest.raises(ApiError, match="no API group answered"):
        await discovery.resolve("", "cm")
