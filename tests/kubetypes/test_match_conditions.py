"""`matchConditions` as the API server evaluates them: the same requests are left out, called for, refused.

Level: control plane."""

import time
from collections.abc import Iterator
from typing import Any

import pytest

from kubetypes.cel import NoValue, WrongExpression
from kubetypes.match_conditions import MASTERS, failing
from tests.controlplane.cluster import Cluster
from tests.kubesandbox.oracle import Oracle, oracle_of
from tests.kubesandbox.recording import Recording
from tests.tables import each

CONFIGURATIONS = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations"
USER = {"username": "admin", "groups": [MASTERS, "system:authenticated"]}
BREAKGLASS = "authorizer.group('a.io').resource('b').name('c').check('breakglass').allowed()"

# Each with its outcome: the name of the condition that is false, nothing, or the end of an error.
OUTCOMES: list[tuple[list[str], str | None]] = [
    (["true"], None),
    (["object.metadata.name == 'a'"], None),
    (["object.metadata.namespace == request.namespace"], None),
    (["object.metadata.labels['team-a'] == 'x'"], "c0"),
    (["object.data.port == '80'", "object.data.port == '81'", "false"], "c1"),
    (["oldObject == null"], None),
    (["namespaceObject == null"], None),
    (["!(request.kind.group == '' && request.kind.kind == 'ConfigMap')"], "c0"),
    (["request.operation == 'CREATE' && request.resource.resource == 'configmaps'"], None),
    (["request.dryRun"], None),
    (["request.operation == 'CREATE' ? !request.dryRun : false"], "c0"),
    (["!('system:nodes' in request.userInfo.groups)"], None),
    (["has(object.metadata.annotations)"], "c0"),
    (["object.metadata.?annotations.?x.orValue('no') == 'no'"], None),
    (["object.metadata.name.matches('^b')"], "c0"),
    (["object.data.exists(key, key.startsWith('po'))"], None),
    (["object.nothing == 1"], "!no such key: nothing"),
    (["object.nothing == 1", "false"], "c1"),
    (["object.nothing == 1", "object.data.other == ''"], "!no such key: other"),
    (["oldObject.metadata.name == 'a'"], "!no such key"),
    ([BREAKGLASS], None),
    ([f"!{BREAKGLASS}"], "c0"),
    (["authorizer.requestResource.check('create').allowed()"], None),
    (["authorizer.path('/healthz').check('get').allowed()"], None),
    (["authorizer.serviceAccount('default', 'unknown').group('').resource('pods').check('get').allowed()"], "c0"),
]
WRONG = ["object.", "1 + 1", "object.data.port", "unknown == 1", "'a'"]


def named(expressions: list[str]) -> list[Any]:
    return [{"name": f"c{place}", "expression": text} for place, text in enumerate(expressions)]


def config_map(case: str) -> Any:
    labels = {"case": case, "team-a": "y"}
    metadata = {"name": "a", "namespace": "n", "labels": labels}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"port": "80"}}


def request() -> Any:
    return {
        "uid": "1",
        "kind": {"group": "", "version": "v1", "kind": "ConfigMap"},
        "resource": {"group": "", "version": "v1", "resource": "configmaps"},
        "name": "a",
        "namespace": "n",
        "operation": "CREATE",
        "userInfo": USER,
        "object": config_map("0"),
        "oldObject": None,
        "dryRun": True,
    }


def ours(expressions: list[str]) -> str | None:
    try:
        return failing(named(expressions), request())
    except NoValue as error:
        return f"!{error}"


@each(("expressions", "outcome"), OUTCOMES)
def test_a_condition_decides(expressions: list[str], outcome: str | None) -> None:
    found = ours(expressions)
    if outcome is None or not outcome.startswith("!"):
        assert found == outcome
    else:
        assert found is not None
        assert found.startswith("!")
        assert outcome[1:] in found


@each("expression", WRONG)
def test_an_expression_that_cannot_be_used_is_recognised(expression: str) -> None:
    with pytest.raises(WrongExpression):
        failing(named([expression]), request())


def test_who_is_no_master_is_allowed_nothing() -> None:
    asked = request() | {"userInfo": {"username": "u"}}
    assert failing(named([BREAKGLASS]), asked) == "c0"


@pytest.fixture
def oracle(cluster: Cluster) -> Iterator[Oracle]:
    """A configuration with a webhook for each case, selected by a label; no server answers."""
    with oracle_of(cluster, Recording("")) as oracle:
        hooks = [
            {
                "name": f"w{place}.example.com",
                "clientConfig": {"url": "https://127.0.0.1:1/"},
                "rules": [
                    {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["configmaps"]}
                ],
                "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": oracle.namespace}},
                "objectSelector": {"matchLabels": {"case": str(place)}},
                "matchConditions": named(expressions),
                "sideEffects": "None",
                "admissionReviewVersions": ["v1"],
            }
            for place, (expressions, _) in enumerate(OUTCOMES)
        ]
        oracle.made(CONFIGURATIONS, {"metadata": {"name": oracle.namespace}, "webhooks": hooks})
        deadline = time.monotonic() + 60
        while theirs(oracle, 0) is not True:
            assert time.monotonic() < deadline, "the API server does not call webhooks"
        yield oracle
        oracle.ask("DELETE", f"{CONFIGURATIONS}/{oracle.namespace}")


def theirs(oracle: Oracle, case: int) -> bool | str:
    """Whether the webhook was called for, or what was said of its conditions."""
    obj = config_map(str(case))
    obj["metadata"]["namespace"] = oracle.namespace
    code, body = oracle.ask("POST", "/api/v1/{ns}/configmaps", obj, dryRun="All")
    if code == 403:
        return str(body["message"])
    return code == 500 and "failed calling webhook" in body["message"]


def test_the_api_server_decides_the_same(oracle: Oracle) -> None:
    for case, (expressions, _) in enumerate(OUTCOMES):
        found, said = ours(expressions), theirs(oracle, case)
        if found is not None and found.startswith("!"):
            assert isinstance(said, str), expressions
            assert found[1:] in said, expressions
        else:
            assert said is (found is None), expressions


def test_the_api_server_refuses_the_same_expressions(oracle: Oracle) -> None:
    for expression in WRONG:
        code, body = oracle.ask("GET", f"{CONFIGURATIONS}/{oracle.namespace}")
        body["webhooks"][0]["matchConditions"] = named([expression])
        code, body = oracle.ask("PUT", f"{CONFIGURATIONS}/{oracle.namespace}", body, dryRun="All")
        assert (code, "matchConditions[0].expression" in body["message"]) == (422, True), expression
