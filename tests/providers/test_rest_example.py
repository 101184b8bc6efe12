"""The example in Python: a REST API as a cloud, and what each of its failures means. Level: pure."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from hookrunner.provider import CloudError
from tests.providers.fake_rest_cloud import TOKEN, RestCloud, rest_cloud
from tests.providers.provider_calls import PROVIDERS, load_provider, node, service

NODES = [
    node("node-1"),
    node("x", "rest-example://s-2"),
    node("y", "rest-example://s-9"),
    node("z"),
    node("k", "kind://k"),
]


@pytest.fixture
def cloud(monkeypatch: pytest.MonkeyPatch) -> Iterator[RestCloud]:
    with rest_cloud() as running:
        monkeypatch.setenv("CLOUD_URL", running.url)
        monkeypatch.setenv("CLOUD_TOKEN", TOKEN)
        yield running


def asked(verb: str, params: Any) -> Any:
    try:
        return getattr(load_provider(PROVIDERS / "rest-example"), verb.replace("-", "_"))(params)
    except CloudError as error:
        return error.document


def states() -> Any:
    answer = asked("instances", {"nodes": NODES, "want": ["state"]})
    return [entry["state"] for entry in answer["instances"]] if "instances" in answer else answer["code"]


def balanced(verb: str) -> Any:
    return asked(verb, {"service": service(), "name": "a1", "nodes": [node("node-1", "rest-example://s-1")]})


@pytest.mark.usefixtures("cloud")
def test_servers_of_all_pages_are_found() -> None:
    assert states() == ["running", "shutdown", "notFound", "unknown", "skip"]


@pytest.mark.parametrize(
    ("status", "text", "code"),
    [
        (500, "{}", "Unavailable"),
        (404, "{}", "Unavailable"),
        (302, "{}", "Unavailable"),
        (200, "<html>", "Unavailable"),
        (200, "{}", "Unavailable"),
        (200, "[]", "Unavailable"),
        (200, '{"servers": []}', "Unavailable"),
        (403, "{}", "Unauthenticated"),
        (429, "{}", "Throttled"),
    ],
)
def test_a_list_that_cannot_be_had_says_nothing_of_any_server(
    cloud: RestCloud, status: int, text: str, code: str
) -> None:
    cloud.answers["GET /servers?page=1"] = (status, text, {"Location": "http://127.0.0.1:1/"})
    assert states() == code


def test_a_page_that_fails_fails_the_list(cloud: RestCloud) -> None:
    cloud.answers["GET /servers?page=2"] = (502, "bad gateway", {})
    assert states() == "Unavailable"


def test_throttled_says_how_long(cloud: RestCloud) -> None:
    cloud.answers["GET /servers?page=1"] = (429, "{}", {"Retry-After": "17"})
    assert asked("instances", {"nodes": [], "want": []})["retryAfterSeconds"] == 17


def test_a_load_balancer_that_is_being_made_is_pending(cloud: RestCloud) -> None:
    cloud.answers["PUT /load-balancers/a1"] = (202, "{}", {"Retry-After": "7"})
    pending = balanced("lb-ensure")
    assert (pending["code"], pending["retryAfterSeconds"]) == ("Pending", 7)
    cloud.answers.clear()
    assert balanced("lb-ensure") == {"status": {"ingress": [{"ip": "192.0.2.1"}]}}
    assert cloud.balancers["a1"]["targets"] == ["s-1"]


def test_no_connection_is_unavailable(monkeypatch: pytest.MonkeyPatch, cloud: RestCloud) -> None:
    monkeypatch.setenv("CLOUD_URL", "http://127.0.0.1:1")
    assert states() == "Unavailable"


def test_the_file_is_executable() -> None:
    assert Path(PROVIDERS / "rest-example").stat().st_mode & 0o111
