"""HTTP itself: methods, encodings, numbers in queries, paths that are nearly right. Level: control plane."""

import gzip
from typing import Any

import pytest

from tests.kubesandbox.contract.api import Api
from tests.kubesandbox.contract.objects import at, config_map
from tests.tables import each

BAD = "invalid syntax"
FAR = "value out of range"


@pytest.fixture
def maps(ns: str) -> str:
    return at("configmaps", ns)


@pytest.mark.parametrize("method", ["HEAD", "OPTIONS", "TRACE"])
@pytest.mark.parametrize("query", ["", "?watch=1&timeoutSeconds=1"])
def test_resources_have_no_other_methods(api: Api, maps: str, method: str, query: str) -> None:
    assert api.request(method, maps + query).status == 405


def test_a_packed_body_is_not_unpacked(api: Api, maps: str, name: str) -> None:
    body = gzip.compress(b'{"metadata":{"name":"%b"}}' % name.encode())
    assert api.request("POST", maps, body, headers={"Content-Encoding": "gzip"}).status == 400


@each(
    ("query", "status", "why"),
    [
        ("limit=x", 400, f'strconv.ParseInt: parsing "x": {BAD}'),
        ("limit=9223372036854775808", 400, f'strconv.ParseInt: parsing "9223372036854775808": {FAR}'),
        ("resourceVersion=x", 400, f'parsing "x": {BAD}'),
        ("resourceVersion=18446744073709551616", 400, FAR),
        (
            "watch=1&resourceVersion=x",
            500,
            f'resourceVersion: Invalid value: "x": strconv.ParseUint: parsing "x": {BAD}',
        ),
        ("watch=1&timeoutSeconds=99999999999999999999", 400, FAR),
    ],
)
def test_what_is_no_number_is_refused(api: Api, maps: str, query: str, status: int, why: str) -> None:
    answer = api.request("GET", f"{maps}?{query}")
    assert (answer.status, why in answer.body["message"]) == (status, True)


@each("query", ["limit=%2B5", "limit=-5", "limit=1&limit=x", "limit=%zz", "limit=x;y"])
def test_what_go_reads_as_a_number_or_not_at_all_is_good(api: Api, maps: str, query: str) -> None:
    assert api.request("GET", f"{maps}?{query}").status == 200


@pytest.mark.slow
def test_an_object_is_watched_by_the_old_path(api: Api, maps: str, name: str) -> None:
    for one in (name, f"{name}-other"):
        api.post(maps, config_map(one))
    old = maps.replace("/v1/", "/v1/watch/")
    with api.watch(f"{old}/{name}") as watch:
        assert watch.take(1) == [("ADDED", name)]
        for one in (f"{name}-other", name):
            api.delete(f"{maps}/{one}")
        assert watch.take(1) == [("DELETED", name)]
    assert api.request("POST", old, {}).status == 405
    assert api.request("GET", f"{old}/{name}?fieldSelector=metadata.name%3Dx").status == 400


@each(("path", "status"), [("//api/v1/pods", 404), ("/api/v1/pods/", 200), ("/api//v1", 404)])
def test_slashes_count_in_a_path(api: Api, path: str, status: int) -> None:
    assert api.request("GET", path).status == status


def test_an_object_may_not_be_huge(api: Api, ns: str, name: str) -> None:
    container: dict[str, Any] = {"name": "a", "image": "a", "command": ["x" * 1_600_000]}
    pod = {"metadata": {"name": name}, "spec": {"containers": [container]}}
    answer = api.request("POST", at("pods", ns), pod)
    assert (answer.status, answer.body["message"]) == (500, "etcdserver: request is too large")


def test_a_parameter_is_decoded_once(api: Api, maps: str, name: str) -> None:
    made = api.post(f"{maps}?fieldManager=a%2541%2Bb", config_map(name, data={"a": "b"}))
    assert made["metadata"]["managedFields"][0]["manager"] == "a%41+b"
