"""Results as values: entries count for themselves, except where a part would mean something else than the whole.

Level: pure."""

import pytest

from hookrunner.cloud.answers import (
    CloudCapabilities,
    CloudRoute,
    ErrorCode,
    Ingress,
    InstanceAnswer,
    InstanceMetadata,
    InstanceState,
    Interface,
    ListedLoadBalancer,
    LoadBalancerState,
    NodeAddress,
    ProviderError,
    Want,
)
from hookrunner.cloud.provider.verbs import CAPABILITIES
from hookrunner.cloud.provider.wire_results import (
    read_applied,
    read_ensured,
    read_instances,
    read_load_balancer,
    read_load_balancers,
    read_routes,
)
from kubetypes.json_values import JSON
from tests.tables import each

BOTH = {Want.STATE, Want.METADATA}
RUNNING = {"name": "a", "state": "running"}


def of_a(*entries: JSON) -> InstanceAnswer:
    return read_instances({"instances": list(entries)}, ["a"], BOTH)["a"]


def test_an_entry_with_everything() -> None:
    entry = {
        **RUNNING,
        "providerID": "sim://a",
        "instanceType": "small",
        "zone": "z1",
        "region": "r1",
        "addresses": [{"type": "InternalIP", "address": "10.0.0.1"}],
        "additionalLabels": {"rack": "7"},
        "message": "fine",
        "unheard": 1,
    }
    metadata = InstanceMetadata("sim://a", "small", "z1", "r1", (NodeAddress("InternalIP", "10.0.0.1"),), {"rack": "7"})
    assert of_a(entry) == InstanceAnswer(InstanceState.RUNNING, metadata, "fine")
    assert read_instances({"instances": [entry]}, ["a"], {Want.STATE})["a"].metadata is None


def test_null_is_left_out() -> None:
    assert of_a({**RUNNING, "zone": None, "addresses": None}) == InstanceAnswer(
        InstanceState.RUNNING, InstanceMetadata()
    )


@each(
    ("entries", "says"),
    [
        ([], "no entry"),
        ([RUNNING, RUNNING], "2 entries"),
        ([{"name": "a", "state": "notFound"}, RUNNING], "2 entries"),
        ([{"name": "b", "state": "running"}], "no entry"),
        ([{"name": "A", "state": "running"}, 7, None, {"state": "running"}], "no entry"),
        ([{"name": "a"}], "'state' is required"),
        ([{"name": "a", "state": "gone"}], "'state' must be one of running, shutdown, notFound, skip, unknown"),
        ([{"name": "a", "state": True}], "'state' must be a text, not true or false"),
        ([{"name": "a", "state": "notFound", "zone": 7}], "'zone' must be a text, not a number"),
        ([{**RUNNING, "addresses": [{"type": "InternalIP"}]}], "'address' is required"),
        ([{**RUNNING, "addresses": "10.0.0.1"}], "'addresses' must be a list"),
        ([{**RUNNING, "additionalLabels": {"rack": 7}}], "'additionalLabels': rack must be a text; put it in quotes"),
    ],
)
def test_an_unusable_entry_is_unknown(entries: list[JSON], says: str) -> None:
    answer = of_a(*entries)
    assert (answer.state, answer.metadata) == (InstanceState.UNKNOWN, None)
    assert says in answer.message


def test_an_unusable_entry_spoils_only_itself() -> None:
    answers = read_instances({"instances": [{**RUNNING, "zone": 7}, {"name": "b", "state": "skip"}]}, "ab", BOTH)
    assert [answer.state for answer in answers.values()] == [InstanceState.UNKNOWN, InstanceState.SKIP]


def test_a_list_of_instances_that_is_none() -> None:
    results: list[JSON] = [{}, {"instances": None}, {"instances": {}}, {"instance": []}]
    for result in results:
        with pytest.raises(ProviderError, match="'instances' must be a list"):
            read_instances(result, ["a"], BOTH)


def test_load_balancers() -> None:
    ingress = {"ip": "10.0.0.1", "ipMode": "VIP", "ports": [{"port": 80, "protocol": "TCP"}]}
    read = Ingress("10.0.0.1", "", "VIP", ({"port": 80, "protocol": "TCP"},))
    assert read_ensured({"status": {"ingress": [ingress, {"hostname": "x.y"}]}}) == (read, Ingress(hostname="x.y"))
    assert read_ensured({"status": {}}) == ()
    assert read_load_balancer({"exists": True, "status": {"ingress": [ingress]}}) == LoadBalancerState(True, (read,))
    assert read_load_balancer({"exists": False}) == LoadBalancerState(False)
    entries = [{"name": "lb1", "service": "default/web", "uid": "u"}, {"service": "default/x"}, None]
    assert read_load_balancers({"loadBalancers": entries}) == (ListedLoadBalancer("lb1", "default/web", "u"),)


@each("result", [{}, {"status": None}, {"status": {"ingress": [{"ip": 7}]}}])
def test_an_unusable_load_balancer_fails_the_call(result: JSON) -> None:
    with pytest.raises(ProviderError):
        read_ensured(result)
    with pytest.raises(ProviderError):
        read_load_balancer({**result, "exists": "yes"})


def test_routes() -> None:
    routes = read_routes({"routes": [{"name": "r", "targetNode": "a", "destinationCIDR": "10.1.0.0/24"}, {}]})
    assert routes == (CloudRoute("a", "10.1.0.0/24", "r"),)
    results = read_applied({"create": [{"ok": True}, {"error": {"code": "Invalid"}}], "delete": [{}]}, 2, 1)
    assert [error and error.code for error in results.create] == [None, ErrorCode.INVALID]
    assert [error and error.code for error in results.delete] == [ErrorCode.UNAVAILABLE]
    with pytest.raises(ProviderError, match="has 0 entries in 'create' for 1"):
        read_applied({"delete": []}, 1, 0)


def test_capabilities() -> None:
    assert CAPABILITIES.read({"providerName": "sim"}, None) == CloudCapabilities("sim", ("sim://",))
    read = CAPABILITIES.read(
        {
            "providerName": "sim",
            "providerIDPrefixes": ["sim://", "rack://row-1/"],
            "interfaces": {"instances": True, "loadBalancer": True, "routes": True},
            "features": {"routeNodeAddresses": True, "serve": True},
            "limits": {"maxParallel": 2, "maxBatch": 50, "timeoutSeconds": {"lb-ensure": 300, "later": 1}},
        },
        None,
    )
    prefixes, timeouts = ("sim://", "rack://row-1/"), {"lb-ensure": 300}
    assert read == CloudCapabilities("sim", prefixes, tuple(Interface), True, True, 2, 50, timeouts)


@each(
    ("wrong", "says"),
    [
        ({"providerName": None}, "'providerName' is required"),
        ({"providerName": "my cloud"}, "'providerName' must be letters"),
        ({"providerIDPrefixes": []}, "'providerIDPrefixes' is empty"),
        ({"providerIDPrefixes": [""]}, "with a scheme like sim://"),
        ({"providerIDPrefixes": ["://"]}, "with a scheme like sim://"),
        ({"providerIDPrefixes": ["sim"]}, "with a scheme like sim://"),
        ({"providerIDPrefixes": "sim://"}, "'providerIDPrefixes' must be a list"),
        ({"interfaces": {"instances": "yes"}}, "'instances' must be true or false"),
        ({"interfaces": ["instances"]}, "'interfaces' must be an object"),
        ({"limits": {"maxParallel": 0}}, "'limits.maxParallel' must be a number from 1 to 256"),
        ({"limits": {"maxBatch": 1.5}}, "'limits.maxBatch' must be a whole number"),
        ({"limits": {"timeoutSeconds": {"instances": 0}}}, "'limits.timeoutSeconds.instances' must be a number from 1"),
    ],
)
def test_wrong_capabilities_are_refused_whole(wrong: JSON, says: str) -> None:
    with pytest.raises(ProviderError) as caught:
        CAPABILITIES.read({"providerName": "sim", **wrong}, None)
    assert says in caught.value.reason
