"""Bodies in protobuf that lie about themselves, sent to the sandbox: a 400 each, quickly, and nothing is kept.

Level: sandbox."""

import pytest

from kubetypes.bounds import OBJECT
from tests.examples import is_night, several
from tests.kubesandbox.conftest import Client
from tests.security.parsers import NAMESPACE
from tests.security.stalls import watched

PROTOBUF = "application/vnd.kubernetes.protobuf"
CONFIGMAPS = "/api/v1/namespaces/default/configmaps"
PODS = "/api/v1/namespaces/default/pods"
DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
MOST = 3 << 20
ENDLESS = b"\xff" * 9 + b"\x7f"
"""A number of 70 bits."""


def number(value: int) -> bytes:
    """A varint."""
    return bytes([value & 0x7F | 0x80]) + number(value >> 7) if value > 0x7F else bytes([value])


def field(at: int, data: bytes) -> bytes:
    """A field that has a message or a text in it."""
    return number(at << 3 | 2) + number(len(data)) + data


def envelope(api_version: str, kind: str, message: bytes) -> bytes:
    return b"k8s\0" + field(1, field(1, api_version.encode()) + field(2, kind.encode())) + field(2, message)


def configmap(metadata: bytes) -> bytes:
    return envelope("v1", "ConfigMap", field(1, metadata))


def encoded_definition(levels: int) -> bytes:
    """A schema that is `not` a schema that is `not` …"""
    schema = b""
    for _ in range(levels):
        schema = field(NOT, schema)
    version = field(1, b"v1") + field(SCHEMA, field(1, schema))
    return envelope("apiextensions.k8s.io/v1", "CustomResourceDefinition", field(2, field(VERSIONS, version)))


VERSIONS, SCHEMA, NOT = 7, 4, 28

ATTACKS = {
    "nothing": (CONFIGMAPS, b""),
    "no envelope": (CONFIGMAPS, b"k8s\0"),
    "zeros": (CONFIGMAPS, bytes(MOST)),
    "a length of 2**62": (CONFIGMAPS, b"k8s\0\x0a" + number(2**62)),
    "a length below zero": (CONFIGMAPS, b"k8s\0\x0a" + b"\xff" * 9 + b"\x01"),
    "a number without an end": (CONFIGMAPS, b"k8s\0" + b"\xff" * (MOST - 4)),
    "groups in groups": (CONFIGMAPS, b"k8s\0" + b"\x0b" * (MOST - 4)),
    "a length of 2**62 inside": (CONFIGMAPS, configmap(b"\x0a" + number(2**62))),
    "a name that is no text": (CONFIGMAPS, configmap(field(1, b"\xff\xfe"))),
    "a name that is a number": (CONFIGMAPS, configmap(b"\x08\x01")),
    "a generation of 70 bits": (CONFIGMAPS, configmap(field(1, b"x") + b"\x38" + ENDLESS)),
    "a time of 70 bits": (CONFIGMAPS, configmap(field(1, b"x") + field(9, b"\x08" + ENDLESS))),
    "JSON inside, deep": (CONFIGMAPS, configmap(field(17, field(7, field(1, b"[" * 100_000))))),
    "another kind": (CONFIGMAPS, NAMESPACE),
    "an unknown kind": (CONFIGMAPS, envelope("v1", "Stranger", b"")),
    "a schema 250 levels deep": (DEFINITIONS, encoded_definition(250)),
    "a schema 3000 levels deep": (DEFINITIONS, encoded_definition(3000)),
    "very many containers": (PODS, envelope("v1", "Pod", field(2, field(2, b"") * several(MOST // 2 - 50)))),
    "too many values": (CONFIGMAPS, configmap(field(14, b"") * OBJECT.values)),
}


DEAR = {"zeros", "very many containers"}
"""A second of work, or some. By day only once, since all methods decode alike."""


@pytest.mark.parametrize("name", [pytest.param(name, marks=[pytest.mark.slow] * (name in DEAR)) for name in ATTACKS])
async def test_garbage_in_protobuf_is_a_bad_request(client: Client, name: str) -> None:
    path, body = ATTACKS[name]
    for method in ("POST", "PUT", "DELETE") if name not in DEAR or is_night() else ("POST",):
        place = path if method == "POST" else f"{path}/x"
        with watched():
            answer = await client.send(method, place, body, Content_Type=PROTOBUF)
        expected = 404 if method == "DELETE" and not body else 400
        assert (answer.status, answer.body["kind"]) == (expected, "Status"), (method, answer.body)
        assert (await client.send("GET", CONFIGMAPS)).body["items"] == []


@pytest.mark.slow
async def test_many_values_below_the_bound_are_validated_in_time_with_a_short_message(client: Client) -> None:
    """Twice as many took four times as long, and a message of a hundred times their size."""
    containers = b",".join([b"{}"] * 90_000)
    with watched():
        answer = await client.send("POST", PODS, b'{"metadata":{"name":"x"},"spec":{"containers":[%b]}}' % containers)
    assert (answer.status, len(answer.body["details"]["causes"])) == (422, 1001)
    assert answer.body["details"]["causes"][-1]["message"] == "there are more than 1000 problems"


@pytest.mark.slow
async def test_unchanged_invalid_items_are_found_among_many_in_time(client: Client) -> None:
    """Seeds of a test may be wrong; a write that leaves them so is taken."""
    twice = {"metadata": {"name": "x", "labels": {f"a{number}": "b" for number in range(30_000)}}}
    with watched():
        assert (await client.send("POST", CONFIGMAPS, twice)).status == 201
        assert (await client.send("PUT", f"{CONFIGMAPS}/x", twice)).status == 200
