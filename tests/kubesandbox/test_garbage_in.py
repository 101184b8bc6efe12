"""Whatever a client sends is answered as the API answers it: never 500, never a crash, and nothing is kept of it.

Level: sandbox."""

import asyncio
from copy import deepcopy
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import orjson
import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kubesandbox.sandbox import Options, Sandbox, serving
from tests.examples import several
from tests.kubesandbox.conftest import Client
from tests.tables import each

CONFIGMAPS = "/api/v1/namespaces/default/configmaps"
METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS")
TYPES = (
    "application/json",
    "application/yaml",
    "application/vnd.kubernetes.protobuf",
    "application/json-patch+json",
    "application/merge-patch+json",
    "application/strategic-merge-patch+json",
    "application/apply-patch+yaml",
    "text/plain",
    "",
)
SEGMENTS = (
    "api", "apis", "v1", "apps", "namespaces", "default", "configmaps", "pods", "deployments", "x", "status", "scale",
    "watch", "eviction", "binding", "finalize", "log", "..", "%2e%2e", "%00", "ü", "", "customresourcedefinitions",
    "apiextensions.k8s.io", "openapi", "v3", "_sandbox", "healthz",
)  # fmt: skip
KEYS = (
    "apiVersion", "kind", "metadata", "name", "namespace", "spec", "data", "labels", "annotations",
    "finalizers", "items", "ownerReferences", "managedFields", "resourceVersion", "uid", "template",
    "containers", "selector", "matchLabels", "replicas", "ports", "$patch", "$setElementOrder/ports",
    "$retainKeys", "op", "path", "value", "from", "versions", "schema", "openAPIV3Schema", "properties",
    "group", "names", "scope", "preconditions", "propagationPolicy",
)  # fmt: skip
leaves = st.one_of(
    st.none(), st.booleans(), st.integers(-(2**63), 2**63 - 1), st.floats(allow_nan=False, allow_infinity=False),
    st.text(max_size=8), st.sampled_from(("x", "default", "v1", "ConfigMap", "delete", "Foreground", "/data/x", "add")),
)  # fmt: skip
values = st.recursive(
    leaves,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.dictionaries(st.one_of(st.sampled_from(KEYS), st.text(max_size=4)), inner, max_size=5),
    ),
    max_leaves=25,
)
bodies = st.one_of(st.binary(max_size=64), values.map(orjson.dumps), values.map(lambda v: b"k8s\0" + orjson.dumps(v)))
COLLECTIONS = (
    "api/v1/namespaces/default/configmaps",
    "api/v1/namespaces/default/configmaps/x",
    "api/v1/namespaces/default/services",
    "api/v1/namespaces/default/pods",
    "apis/apps/v1/namespaces/default/deployments",
    "apis/apiextensions.k8s.io/v1/customresourcedefinitions",
)
paths = st.one_of(st.lists(st.sampled_from(SEGMENTS), max_size=7).map("/".join), st.sampled_from(COLLECTIONS))
PARAMETERS = (
    "limit", "continue", "resourceVersion", "labelSelector", "fieldSelector", "dryRun", "fieldValidation", "force",
    "fieldManager", "propagationPolicy", "gracePeriodSeconds", "pretty", "includeObject", "resourceVersionMatch",
)  # fmt: skip
GIVEN = ("All", "1", "a=b", "a in (b)", "metadata.name=x", "true", "0", "-1")
queries = st.dictionaries(
    st.sampled_from(PARAMETERS), st.one_of(st.text(max_size=6), st.sampled_from(GIVEN)), max_size=3
)


async def fuzzed(client: Client, method: str, path: str, query: dict[str, str], kind: str, body: bytes) -> int:
    url = client.sandbox.url + "/" + path
    async with client.session.request(method, url, params=query, data=body, headers={"Content-Type": kind}) as answer:
        text = await answer.read()
        if answer.status >= 400 and answer.headers["Content-Type"].startswith("application/json") and method != "HEAD":
            said = orjson.loads(text)
            assert (said["kind"], said["code"]) == ("Status", answer.status)
            assert said["message"]
        if answer.status == 500:
            # The API itself answers a few mistakes so, and says what they are.
            assert b"Internal error occurred" not in text, text
        return answer.status


@pytest.mark.slow
@given(data=st.data())
@settings(max_examples=several(400), deadline=None, suppress_health_check=list(HealthCheck))
async def test_random_requests_meet_no_bug(client: Client, data: st.DataObject) -> None:
    await client.send("POST", CONFIGMAPS, {"metadata": {"name": "x"}})
    path = data.draw(paths)
    if path.startswith("_sandbox") or "watch" in path:
        return
    kind, body, query = data.draw(st.sampled_from(TYPES)), data.draw(bodies), data.draw(queries)
    await fuzzed(client, data.draw(st.sampled_from(METHODS)), path, query, kind, body)


RAW = {
    "no HTTP at all": b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n",
    "half a request": b"GET /api/v1/pods HTTP/1.1\r\nHost: loc",
    "a length that is a lie": b"POST /api/v1/namespaces HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99\r\n\r\n{}",
    "a negative length": b"POST /api HTTP/1.1\r\nHost: localhost\r\nContent-Length: -1\r\n\r\n",
    "bad chunks": b"POST /api/v1/namespaces HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
    "a header without end": b"GET / HTTP/1.1\r\nHost: localhost\r\nX: " + b"x" * 100_000,
    "zeros": bytes(4096),
}


@pytest.mark.parametrize("text", RAW.values(), ids=RAW)
async def test_bytes_that_are_no_request_do_no_harm(client: Client, text: bytes) -> None:
    host, _, port = client.sandbox.url.removeprefix("http://").partition(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    writer.write(text)
    writer.write_eof()
    await reader.read()
    writer.close()
    assert (await client.send("GET", "/readyz")).status == 200


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:80", "127.0.0.1.evil.example", "[::2]:80", "", "0.0.0.0"]
)
async def test_another_host_is_not_answered(client: Client, host: str) -> None:
    """A page in a browser that was rebound to the loopback address comes with its own name."""
    answer = await client.send("GET", "/api/v1/secrets", Host=host)
    assert answer.status in (400, 403)


@pytest.mark.parametrize("origin", ["https://evil.example", "http://127.0.0.1.evil.example", "null", "http://["])
async def test_pages_of_others_may_send_nothing(client: Client, origin: str) -> None:
    """A browser sends such requests, it only does not show the page what comes back."""
    answer = await client.send("POST", CONFIGMAPS, {"metadata": {"name": "a"}}, Origin=origin)
    assert (answer.status, client.sandbox.store.select("configmaps")) == (403, [])


async def test_a_page_of_this_machine_may(client: Client) -> None:
    answer = await client.send("GET", CONFIGMAPS, Origin="http://localhost:8080")
    assert answer.status == 200


async def answer(sandbox: Sandbox, *parts: bytes) -> bytes:
    """The first line of what comes back, for each part that is sent."""
    address = urlsplit(sandbox.url)
    reader, writer = await asyncio.open_connection(address.hostname, address.port)
    found = b""
    for part in parts:
        writer.write(part)
        found += await reader.readline()
    writer.close()
    return found


@each(("token", "code"), [(b"\xff", b"401"), (b"", b"401"), (b"secret", b"200")])
async def test_a_token_may_be_any_bytes(token: bytes, code: bytes) -> None:
    async with serving(Options(token="secret")) as sandbox:
        request = b"GET /api HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer " + token + b"\r\n\r\n"
        assert (await answer(sandbox, request)).split()[1] == code


async def test_who_waits_to_be_asked_for_a_body_is_asked(client: Client) -> None:
    """curl does with a large one: without an answer it waits for a second each time."""
    body = b'\r\n{"metadata":{"name":"a"}}'
    head = f"POST {CONFIGMAPS} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    head += f"Expect: 100-continue\r\nContent-Length: {len(body)}\r\n\r\n"
    assert await answer(client.sandbox, head.encode(), body) == b"HTTP/1.1 100 Continue\r\n\r\n"


RICH = [obj for obj in yaml.safe_load_all((Path(__file__).parent / "builtin" / "rich.yaml").read_text()) if obj]


@st.composite
def damaged(draw: st.DrawFn) -> Any:
    """A good object in which something was replaced, taken away or put in."""
    obj = deepcopy(draw(st.sampled_from(RICH)))
    for _ in range(draw(st.integers(1, 3))):
        node = obj
        while True:
            keys = list(node) if isinstance(node, dict) else range(len(node))
            if not keys:
                break
            key = draw(st.sampled_from(keys))
            if isinstance(node[key], dict | list) and node[key] and draw(st.booleans()):
                node = node[key]
                continue
            node[key] = draw(values)
            break
    return obj


@pytest.mark.slow
@given(obj=damaged())
@settings(max_examples=several(300), deadline=None, suppress_health_check=list(HealthCheck))
async def test_damaged_objects_meet_no_bug(client: Client, obj: Any) -> None:
    kinds = client.sandbox.kinds
    original = next((one for one in RICH if one.get("kind") == obj.get("kind")), None)
    kind = kinds.of_kind(str(original["apiVersion"]), str(original["kind"])) if original else None
    if kind is None:
        return
    root = f"apis/{kind.api_version}" if kind.group else "api/v1"
    place = f"{root}/namespaces/default/{kind.plural}" if kind.namespaced else f"{root}/{kind.plural}"
    await fuzzed(client, "POST", place, {"dryRun": "All"}, "application/json", orjson.dumps(obj))
