"""Requests that cost the sandbox more than they cost their sender: memory, depth, time. It refuses them and goes on.

Level: sandbox."""

from typing import Any

import pytest

from kubesandbox.verbs import bodies
from kubetypes.patches.json_patch import MOST_COPIED
from tests.kubesandbox.conftest import Answer, Client
from tests.security.stalls import watched
from tests.tables import each

CONFIGMAPS = "/api/v1/namespaces/default/configmaps"
PODS = "/api/v1/namespaces/default/pods"
DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
BOXES = "/apis/example.com/v1/namespaces/default/boxes"
JSON_PATCH = "application/json-patch+json"


def nested(levels: int) -> str:
    """JSON of an object in an object in an object …"""
    return '{"a":' * (levels - 1) + "{}" + "}" * (levels - 1)


def box(name: str, spec: str) -> bytes:
    """A custom object as JSON text."""
    text = f'{{"apiVersion":"example.com/v1","kind":"Box","metadata":{{"name":"{name}"}},"spec":{spec}}}'
    return text.encode()


@pytest.fixture
async def boxes(client: Client) -> Client:
    """With a kind that keeps all fields, fields with a format, and an object `x` of it."""
    spec: dict[str, Any] = {"type": "object", "x-kubernetes-preserve-unknown-fields": True, "properties": {}}
    spec["properties"] = {
        form: {"type": "string", "format": form} for form in ("duration", "email", "uri", "date-time")
    }
    spec["properties"]["name"] = {"type": "string", "pattern": "^([a-z0-9]+-?)+$"}
    spec["properties"]["words"] = {
        "type": "array",
        "items": {"type": "string"},
        "x-kubernetes-validations": [{"rule": "self.all(a, self.exists(b, a == b))"}],
    }
    schema = {"type": "object", "properties": {"spec": spec}}
    versions = [{"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}]
    names = {"plural": "boxes", "kind": "Box"}
    described = {"group": "example.com", "scope": "Namespaced", "names": names, "versions": versions}
    await client.create(DEFINITIONS, {"metadata": {"name": "boxes.example.com"}, "spec": described})
    while (await client.send("GET", BOXES)).status != 200:
        pass
    await client.send("POST", BOXES, box("x", '{"a": {"text": "1234567890"}}'))
    return client


async def patch(client: Client, operations: list[dict[str, Any]]) -> Answer:
    return await client.send("PATCH", f"{BOXES}/x", operations, Content_Type=JSON_PATCH)


# ── copies ────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.slow
async def test_copies_that_double_an_object_again_and_again_are_refused(boxes: Client) -> None:
    """40 of them would make a terabyte of 22 bytes."""
    answer = await patch(boxes, [{"op": "copy", "from": "/spec", "path": f"/spec/b{n}"} for n in range(40)])
    assert (answer.status, answer.body["reason"]) == (422, "Invalid")
    assert (await boxes.send("GET", f"{BOXES}/x")).body["spec"] == {"a": {"text": "1234567890"}}


@pytest.mark.slow
async def test_copies_count_also_where_they_are_removed_again(boxes: Client) -> None:
    add = {"op": "add", "path": "/spec/b", "value": "x" * 1022}
    pair = [{"op": "copy", "from": "/spec/b", "path": "/spec/c"}, {"op": "remove", "path": "/spec/c"}]
    taken, refused = [
        await patch(boxes, [add, *pair * times]) for times in (MOST_COPIED // 1024, MOST_COPIED // 1024 + 1)
    ]
    assert (taken.status, refused.status) == (200, 422)


async def test_a_patch_of_too_many_operations_is_refused(boxes: Client) -> None:
    answer = await patch(boxes, [{"op": "add", "path": "/spec/b", "value": 1}] * 10_001)
    assert (answer.status, answer.body["reason"]) == (413, "RequestEntityTooLarge")


# ── depth ─────────────────────────────────────────────────────────────────────────────────────────────────────────

DEEP = 1000
WRITES = {
    "create": ("POST", BOXES, box("y", nested(DEEP)), "application/json"),
    "create in YAML": ("POST", BOXES, box("y", nested(DEEP)), "application/yaml"),
    "create in YAML that is no JSON": ("POST", BOXES, b"spec: " + nested(DEEP).encode(), "application/yaml"),
    "update": ("PUT", f"{BOXES}/x", box("x", nested(DEEP)), "application/json"),
    "merge patch": ("PATCH", f"{BOXES}/x", b'{"spec":' + nested(DEEP).encode() + b"}", "application/merge-patch+json"),
    "JSON patch": (
        "PATCH",
        f"{BOXES}/x",
        b'[{"op":"add","path":"/spec/b","value":' + nested(DEEP).encode() + b"}]",
        JSON_PATCH,
    ),
    "apply": ("PATCH", f"{BOXES}/y?fieldManager=m", box("y", nested(DEEP)), "application/apply-patch+yaml"),
    "an unknown field": ("POST", CONFIGMAPS, b'{"metadata":{"name":"y"},"x":' + nested(DEEP).encode() + b"}", ""),
    "metadata": ("POST", CONFIGMAPS, b'{"metadata":{"name":"y","x":' + nested(DEEP).encode() + b"}}", ""),
    "lists": ("POST", CONFIGMAPS, b'{"metadata":{"name":"y"},"x":' + b"[" * DEEP + b"]" * DEEP + b"}", ""),
    "strategic merge patch": (
        "PATCH",
        f"{CONFIGMAPS}/x",
        b'{"x":' + nested(DEEP).encode() + b"}",
        "application/strategic-merge-patch+json",
    ),
    "options of a deletion": ("DELETE", f"{BOXES}/x", b'{"x":' + nested(DEEP).encode() + b"}", "application/json"),
    "a definition": (
        "POST",
        DEFINITIONS,
        b'{"metadata":{"name":"y"},"spec":' + nested(DEEP).encode() + b"}",
        "application/json",
    ),
}


@each("levels", [250, 400, DEEP])
@pytest.mark.parametrize("write", WRITES.values(), ids=WRITES)
async def test_bodies_nested_too_deep_are_bad_requests(
    boxes: Client, write: tuple[str, str, bytes, str], levels: int
) -> None:
    method, path, body, kind = write
    await boxes.send("POST", CONFIGMAPS, {"metadata": {"name": "x"}})
    body = body.replace(nested(DEEP).encode(), nested(levels).encode())
    answer = await boxes.send(method, path, body, Content_Type=kind)
    assert (answer.status, answer.body["reason"]) == (400, "BadRequest")
    assert "exceeded max depth" in answer.body["message"] or "nested too deep" in answer.body["message"]
    assert [item["metadata"]["name"] for item in (await boxes.send("GET", BOXES)).body["items"]] == ["x"]


async def test_moves_that_nest_a_value_too_deep_are_a_bad_request(boxes: Client) -> None:
    wrap: list[dict[str, Any]] = [
        {"op": "add", "path": "/spec/outer", "value": {}},
        {"op": "move", "from": "/spec/a", "path": "/spec/outer/a"},
        {"op": "move", "from": "/spec/outer", "path": "/spec/a"},
    ]
    answers = [
        await patch(boxes, wrap * 2000),
        await patch(boxes, [*wrap * 300, {"op": "copy", "from": "", "path": "/b"}]),
    ]
    assert [answer.status for answer in answers] in ([400, 400], [400, 422])


async def test_bodies_of_the_greatest_depth_are_stored_and_read_in_every_form(boxes: Client) -> None:
    spec = nested(bodies.DEEPEST - 2)
    assert (await boxes.send("POST", BOXES, box("y", spec))).status == 201
    read = await boxes.send("GET", f"{BOXES}/y")
    forms = ["application/json;as=Table;v=v1;g=meta.k8s.io", "application/yaml", "application/json"]
    assert [(await boxes.send("GET", BOXES, Accept=form)).status for form in forms] == [200] * 3
    assert (await boxes.send("PUT", f"{BOXES}/y", read.body)).status == 200
    applied = await boxes.send(
        "PATCH", f"{BOXES}/z?fieldManager=m", box("z", spec), Content_Type="application/apply-patch+yaml"
    )
    assert applied.status == 201


# ── time ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def pod(**container: Any) -> dict[str, Any]:
    return {"metadata": {"name": "y"}, "spec": {"containers": [{"name": "c", "image": "i", **container}]}}


ONES = "1" * 1_000_000
SLOW = {
    "digits without a suffix": (PODS, pod(resources={"requests": {"cpu": ONES + "!"}}), 400),
    "dots and digits": (PODS, pod(resources={"requests": {"cpu": "1." * 500_000 + "!"}}), 400),
    "an amount that is nearly one": (PODS, pod(resources={"requests": {"cpu": ONES + "e-1!"}}), 400),
    "brackets in a path of a field": (
        PODS,
        pod(env=[{"name": "e", "valueFrom": {"fieldRef": {"apiVersion": "v1", "fieldPath": "['" * 500_000}}}]),
        422,
    ),
    "an image": (PODS, pod(image="a-" * 500_000), 201),
    "a duration of digits": (BOXES, {"spec": {"duration": ONES}}, 422),
    "a duration of spaces": (BOXES, {"spec": {"duration": "1" + " " * 1_000_000}}, 422),
    "an address": (BOXES, {"spec": {"email": "a@" + "a." * 500_000}}, 422),
    "a text that makes a pattern backtrack": (BOXES, {"spec": {"name": "a" * 40 + "!"}}, 422),
    "a long list for a rule of a definition": (BOXES, {"spec": {"words": [str(n) for n in range(3000)]}}, 422),
    "a date": (BOXES, {"spec": {"date-time": "1t" * 500_000}}, 422),
    "a URI": (BOXES, {"spec": {"uri": "a" * 1_000_000}}, 422),
}


@pytest.mark.slow
@each(("path", "body", "status"), SLOW.values(), ids=SLOW)
async def test_no_text_takes_longer_than_its_length(
    boxes: Client, path: str, body: dict[str, Any], status: int
) -> None:
    named = {"apiVersion": "example.com/v1", "kind": "Box", "metadata": {"name": "y"}} if path == BOXES else {}
    with watched():
        answer = await boxes.send("POST", path, named | body)
    assert answer.status == status
