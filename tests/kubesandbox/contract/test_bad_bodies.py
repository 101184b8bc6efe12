"""Malformed bodies: each is refused by a Status that says so, and the server goes on. Level: control plane."""

import pytest

from tests.kubesandbox.contract.api import Api, Reply
from tests.kubesandbox.contract.objects import at, config_map
from tests.tables import each

LAUGHS = b"a: &a [x, x]\n" + b"".join(
    f"{chr(98 + n)}: &{chr(98 + n)} [{', '.join([f'*{chr(97 + n)}'] * 9)}]\n".encode() for n in range(12)
)
JSON_BODIES = {
    "nothing": b"",
    "spaces": b"   ",
    "one zero byte": b"\x00",
    "random bytes": bytes(range(256)),
    "half of an object": b'{"metadata": {"name": "a"',
    "two objects": b'{"metadata": {"name": "a"}}{"metadata": {"name": "b"}}',
    "a trailing comma": b'{"metadata": {"name": "a",}}',
    "single quotes": b"{'metadata': {'name': 'a'}}",
    "a comment": b'{"metadata": {"name": "a"}} // comment',
    "not a number": b'{"metadata": {"name": "a"}, "data": NaN}',
    "a list": b"[]",
    "a number": b"5",
    "true": b"true",
    "a text": b'"text"',
    "metadata that are a number": b'{"metadata": 1}',
    "a name that is a number": b'{"metadata": {"name": 1}}',
    "labels that are a list": b'{"metadata": {"name": "a", "labels": []}}',
    "a kind that is a list": b'{"kind": [], "metadata": {"name": "a"}}',
    "a deep list": b"[" * 20_000,
    "a deep object": b'{"a":' * 20_000,
    "a number that is too large": b'{"metadata": {"generation": 1e999}}',
    "an integer that is too large": b'{"metadata": {"generation": 99999999999999999999999}}',
    "a key that is no string": b'{5: "a"}',
    "UTF-16": '{"metadata": {"name": "a"}}'.encode("utf-16"),
    "a compressed body that says it is not": b"\x1f\x8b\x08\x00\x00\x00",
}
YAML_BODIES = {
    "a tab": b"a:\n\t- b",
    "an alias to nothing": b"a: *none",
    "an alias to what holds it": b"&a [*a]",
    "two colons": b"a: b: c",
    "a zero byte": b"\0",
    "a deep list": b"[" * 100_000,
    "a tag of Python": b"!!python/object/apply:os.system ['true']",
    "many laughs": LAUGHS,
    "an open bracket": b"a: [",
    "a list": b"- a\n- b",
    "a merge of a scalar": b"<<: 5\nkind: ConfigMap",
}


def refused(reply: Reply) -> bool:
    return reply.status == 400 and reply.body["kind"] == "Status" and reply.body["status"] == "Failure"


@each("body", JSON_BODIES.values(), ids=JSON_BODIES)
def test_a_creation(api: Api, ns: str, body: bytes) -> None:
    assert refused(api.request("POST", at("configmaps", ns), body))


@each("body", YAML_BODIES.values(), ids=YAML_BODIES)
def test_a_creation_in_yaml(api: Api, ns: str, body: bytes) -> None:
    assert refused(api.request("POST", at("configmaps", ns), body, content_type="application/yaml"))


@pytest.mark.parametrize("body", JSON_BODIES.values(), ids=JSON_BODIES)
@pytest.mark.parametrize("kind", ["json-patch", "merge-patch"])
def test_a_patch(api: Api, ns: str, name: str, kind: str, body: bytes) -> None:
    api.post(at("configmaps", ns), config_map(name, {"a": "b"}))
    reply = api.request("PATCH", at("configmaps", ns, name), body, content_type=f"application/{kind}+json")
    assert refused(reply) or api.get(at("configmaps", ns, name))["data"] == {"a": "b"}


@each("body", JSON_BODIES.values(), ids=JSON_BODIES)
def test_a_custom_object(api: Api, ns: str, body: bytes) -> None:
    assert refused(api.request("POST", api.kind().path(ns), body))


@each("body", YAML_BODIES.values(), ids=YAML_BODIES)
def test_an_apply(api: Api, ns: str, name: str, body: bytes) -> None:
    path = at("configmaps", ns, name) + "?fieldManager=tester"
    assert refused(api.request("PATCH", path, body, content_type="application/apply-patch+yaml"))


@pytest.mark.parametrize("body", [b"nonsense", b"[]", b"{", b'{"kind": "ConfigMap"}'])
def test_options_of_a_deletion(api: Api, ns: str, name: str, body: bytes) -> None:
    api.post(at("configmaps", ns), config_map(name))
    assert refused(api.request("DELETE", at("configmaps", ns, name), body))
    assert api.get(at("configmaps", ns, name))


@each("path", ["/%", "/api/v1/namespaces/a%00b/configmaps/c", "/api/v1/configmaps/%ff"])
def test_a_strange_path_is_refused(api: Api, path: str) -> None:
    assert 400 <= api.request("GET", path).status < 500


@pytest.mark.parametrize(("times", "status"), [(3072, 200), (3073, 422)])
def test_copies_of_a_json_patch_have_3_mib_together(api: Api, ns: str, name: str, times: int, status: int) -> None:
    """Also where nothing of them is left."""
    api.post(at("configmaps", ns), config_map(name, {"a": "x" * 1022}))
    copy = {"op": "copy", "from": "/data/a", "path": "/data/b"}
    reply = api.request("PATCH", at("configmaps", ns, name), [copy] * times, content_type="application/json-patch+json")
    assert reply.status == status
