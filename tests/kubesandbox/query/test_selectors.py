"""Selectors: what they select and how they refuse, compared with a real API server. Level: control plane."""

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kubesandbox.kinds import Kind
from kubesandbox.query import field_selectors, selectors
from kubesandbox.status import Refused
from tests.examples import several
from tests.kubesandbox.oracle import ONLY_LIVE, Oracle
from tests.tables import each

LABELS: list[dict[str, str]] = [
    {},
    {"a": ""},
    {"a": "b"},
    {"a": "c", "in": "notin"},
    {"a": "5", "x.io/a": "1"},
    {"a": "4", "notin": "in"},
    {"a": "x5"},
]
LONG = "x" * 64

TEXTS = [
    *(
        "",
        "a",
        "!a",
        "! a",
        "a=b",
        "a==b",
        "a!=b",
        "a = b",
        "a=",
        "a==,in",
        "a!=",
        "a in (b,c)",
        "a in(b)",
        "a notin (b)",
    ),
    *("a in ()", "a in (,)", "a in (b,)", "a in (,b)", "a notin (,,b)", "a\tin\n(b)", "in", "notin", "in in (notin)"),
    *("in=notin", "in,notin", "a>4", "a>-6", "a<5", "a<+6", "a>9223372036854775807", "x.io/a,a>1", "a=b,a=c", "a=b,!x"),
    *(",", ",a", "a,", "a,,b", "a b", "a!", "!a=b", "!!a", "!", "a>b", "a>1.5", "a<", "a<>b", "a=!b", "=b", "a=b c"),
    *(
        "a in b",
        "a in",
        "a in (x",
        "a in (x y)",
        "a in x)",
        "a in (x,",
        "a in (x=)",
        "a in (=)",
        "a notin",
        "(a)",
        "a=(",
    ),
    *(
        "a in (é,-)",
        "a=é",
        "é=1",
        "a=@b",
        "a&",
        "a!=-",
        f"a={LONG}",
        LONG,
        f"a in ({LONG},-)",
        "A_",
        "-a",
        "/a",
        "a/",
        "a/b/c",
    ),
    *(
        "A..b/c",
        "A.b/c",
        "a-/b=c",
        "a=b=c",
        "a===b",
        "a=>1",
        "a exists",
        "a><b",
        ">",
        "a\0b",
        "a=b\0",
        "\0a",
        "a in (\0b)",
    ),
    *("a>9223372036854775808", "a>1_0", "a> 1", "a>٣"),
]
CONFIG_MAPS = Kind("", "v1", "ConfigMap", "configmaps", True)


@pytest.fixture(scope="module", autouse=True)
def _labelled(oracle: Oracle) -> None:
    for place, labels in enumerate(LABELS):
        oracle.made("/api/v1/{ns}/secrets", {"metadata": {"name": f"s{place}", "labels": labels}})


def theirs(oracle: Oracle, path: str, **query: str) -> Any:
    """The names that a list has, or the sentence of the refusal."""
    code, body = oracle.ask("GET", path, **query)
    return [item["metadata"]["name"] for item in body["items"]] if code == 200 else (code, body["message"])


def by_labels(text: str) -> Any:
    try:
        selector = selectors.labels(text)
    except Refused as refused:
        return refused.code, refused.message
    return [f"s{place}" for place, labels in enumerate(LABELS) if selector.matches(labels)]


@each("text", TEXTS, ids=lambda text: ascii(text)[:40])
def test_a_label_selector_selects_or_is_refused_as_on_a_real_server(oracle: Oracle, text: str) -> None:
    assert by_labels(text) == theirs(oracle, "/api/v1/{ns}/secrets", labelSelector=text)


PIECES = ["a", "b", "in", "notin", "x.io/a", "=", "==", "!=", "!", "(", ")", ",", ">", "<", " ", "5", "-"]


@ONLY_LIVE
@settings(max_examples=several(400), deadline=None, suppress_health_check=list(HealthCheck))
@given(st.lists(st.sampled_from(PIECES), max_size=9).map("".join))
def test_random_label_selectors_do_as_on_a_real_server(oracle: Oracle, text: str) -> None:
    assert by_labels(text) == theirs(oracle, "/api/v1/{ns}/secrets", labelSelector=text)


@each(
    ("selector", "labels", "selected"),
    [
        ({}, {}, True),
        ({"matchLabels": {"a": "b"}}, {"a": "b", "c": "d"}, True),
        ({"matchLabels": {"a": "b"}, "matchExpressions": [{"key": "c", "operator": "Exists"}]}, {"a": "b"}, False),
        ({"matchExpressions": [{"key": "a", "operator": "In", "values": ["x", "y"]}]}, {"a": "y"}, True),
        ({"matchExpressions": [{"key": "a", "operator": "NotIn", "values": ["x"]}]}, {}, True),
        ({"matchExpressions": [{"key": "a", "operator": "DoesNotExist"}]}, {"a": ""}, False),
    ],
)
def test_an_object_selects_by_labels_and_expressions(selector: Any, labels: dict[str, str], selected: bool) -> None:
    assert selectors.from_object(selector).matches(labels) == selected


@each(
    ("expression", "said"),
    [
        ({"key": "a", "operator": "Eq"}, '"Eq" is not a valid label selector operator'),
        (
            {"key": "a", "operator": "In"},
            "values: Invalid value: []: for 'in', 'notin' operators, values set can't be empty",
        ),
        ({"key": "a", "operator": "Exists", "values": ["x"]}, "values set must be empty for exists and does not exist"),
        ({"key": "-", "operator": "Exists"}, 'key: Invalid value: "-": name part must consist'),
    ],
)
def test_an_object_with_wrong_expressions_is_refused(expression: Any, said: str) -> None:
    with pytest.raises(Refused) as refused:
        selectors.from_object({"matchExpressions": [expression]})
    assert said in refused.value.message


FIELD_TEXTS = [
    *(
        "",
        ",",
        ",,",
        "metadata.name",
        "metadata.name=s1",
        "metadata.name==s1",
        "metadata.name!=s1",
        "metadata.name=s1,",
    ),
    *("metadata.name=", "metadata.name!=", "metadata.name=s1,metadata.name=s2", "metadata.name=s1,metadata.name!=s2"),
    *("metadata.namespace=x", "metadata.namespace!=x", "type=Opaque", "type!=Opaque", " metadata.name=a", "=a", "a"),
    *("metadata.name=a\\", "metadata.name=a\\x", "metadata.name=s1\\,", "metadata.name=a=b", "metadata.name=a\\=b"),
    *("metadata.name in (a)", "metadata.uid=1", "data=1,metadata.name", "z=1,a=1", "metadata.name=a\\\\", "a\\,b=c"),
]
SECRETS = Kind("", "v1", "Secret", "secrets", True)


def by_fields(text: str, kind: Kind, objects: list[Any]) -> Any:
    try:
        selector = field_selectors.fields(text, kind)
    except Refused as refused:
        return refused.code, refused.message
    return [obj["metadata"]["name"] for obj in objects if selector.matches(obj)]


@each("text", FIELD_TEXTS, ids=ascii)
def test_a_field_selector_selects_or_is_refused_as_on_a_real_server(oracle: Oracle, text: str) -> None:
    objects = oracle.ask("GET", "/api/v1/{ns}/secrets")[1]["items"]
    assert by_fields(text, SECRETS, objects) == theirs(oracle, "/api/v1/{ns}/secrets", fieldSelector=text)


KINDS = [
    CONFIG_MAPS,
    SECRETS,
    Kind("", "v1", "Pod", "pods", True),
    Kind("", "v1", "Event", "events", True),
    Kind("events.k8s.io", "v1", "Event", "events", True),
    Kind("", "v1", "Service", "services", True),
    Kind("", "v1", "Node", "nodes", False),
    Kind("", "v1", "Namespace", "namespaces", False),
    Kind("", "v1", "PersistentVolume", "persistentvolumes", False),
    Kind("", "v1", "ReplicationController", "replicationcontrollers", True),
    Kind("apps", "v1", "ReplicaSet", "replicasets", True),
    Kind("batch", "v1", "Job", "jobs", True),
    Kind("certificates.k8s.io", "v1", "CertificateSigningRequest", "certificatesigningrequests", False),
    Kind("apiextensions.k8s.io", "v1", "CustomResourceDefinition", "customresourcedefinitions", False),
]
FIELDS = [
    *(
        "metadata.name",
        "metadata.namespace",
        "foo",
        "type",
        "reason",
        "source",
        "reportingComponent",
        "reportingController",
    ),
    *("involvedObject.kind", "involvedObject.fieldPath", "regarding.name", "spec.clusterIP", "spec.type", "spec.host"),
    *("spec.nodeName", "spec.restartPolicy", "spec.schedulerName", "spec.serviceAccountName", "spec.hostNetwork"),
    *(
        "status.phase",
        "status.podIP",
        "status.podIPs",
        "status.nominatedNodeName",
        "status.successful",
        "status.replicas",
    ),
    *("spec.unschedulable", "spec.signerName"),
]


@each("kind", KINDS, ids=lambda kind: kind.stored)
def test_each_kind_has_the_fields_that_it_has_on_a_real_server(oracle: Oracle, kind: Kind) -> None:
    path = f"/apis/{kind.group}/v1" if kind.group else "/api/v1"
    path = f"{path}/{{ns}}/{kind.plural}" if kind.namespaced else f"{path}/{kind.plural}"
    for field in FIELDS:
        asked = theirs(oracle, path, fieldSelector=f"{field}=no such")
        assert by_fields(f"{field}=no such", kind, []) == asked


@each(
    ("event", "selected"),
    [
        ({"source": {"component": "kubelet"}}, True),
        ({"source": {}, "reportingComponent": "kubelet"}, True),
        ({"source": {"component": "other"}, "reportingComponent": "kubelet"}, False),
    ],
)
def test_the_source_of_an_event_is_who_reports_it_if_it_names_none(event: Any, selected: bool) -> None:
    assert field_selectors.fields("source=kubelet", Kind("", "v1", "", "events", True)).matches(event) == selected


def test_custom_kinds_have_the_fields_that_their_version_lists() -> None:
    versions = [{"name": "v1", "selectableFields": [{"jsonPath": ".spec.size"}]}, {"name": "v2"}]
    first, second = (Kind("x.io", one, "X", "xs", True, definition={"versions": versions}) for one in ("v1", "v2"))
    assert field_selectors.fields("spec.size=3", first).matches({"spec": {"size": 3}})
    assert not field_selectors.fields("spec.size=3", first).matches({"spec": {}})
    with pytest.raises(Refused, match=r"field label not supported: spec\.size"):
        field_selectors.fields("spec.size=3", second)


def test_a_watch_on_one_object_is_recognised() -> None:
    assert field_selectors.fields("metadata.name=a", CONFIG_MAPS).exactly("metadata.name") == "a"
    assert field_selectors.fields("metadata.name!=a", CONFIG_MAPS).exactly("metadata.name") is None
