"""Evictions, and the grace of Pods that a node has. Level: control plane."""

import pytest

from tests.kubesandbox.contract.api import Api
from tests.kubesandbox.contract.objects import JSON, at

HOLD = ["example.com/hold"]


@pytest.fixture
def pod(api: Api, ns: str, name: str) -> str:
    """A Pod on a node whose kubelet says nothing; its path."""
    return made(api, ns, name)


def made(api: Api, ns: str, name: str, **meta: object) -> str:
    # A node of its own: what is on one that was missed for 40 s already is taken away within 20 s.
    spec = {"nodeName": f"no-node-{name}", "containers": [{"name": "a", "image": "a"}]}
    api.post(at("pods", ns), {"metadata": {"name": name, **meta}, "spec": spec})
    return at("pods", ns, name)


def grace(api: Api, path: str) -> int | None:
    seconds: int | None = api.get(path)["metadata"].get("deletionGracePeriodSeconds")
    return seconds


def eviction(name: str, **options: object) -> JSON:
    return {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": name}, "deleteOptions": options}


def test_an_eviction_has_options_of_its_deletion(api: Api, pod: str, name: str) -> None:
    api.post(f"{pod}/eviction", eviction(name, dryRun=["All"]))
    assert grace(api, pod) is None
    api.post(f"{pod}/eviction", eviction(name, gracePeriodSeconds=27))
    assert grace(api, pod) == 27


def test_an_eviction_is_of_the_pod_that_is_meant(api: Api, pod: str, name: str) -> None:
    other = api.request("POST", f"{pod}/eviction", eviction(name, preconditions={"uid": "another"}))
    assert (other.status, other.body["reason"]) == (409, "Conflict")
    for body in (eviction(f"{name}-other"), {}, eviction(name) | {"apiVersion": "v1", "kind": "Binding"}):
        assert api.request("POST", f"{pod}/eviction", body).status == 400
    assert grace(api, pod) is None


def test_a_finalizer_does_not_shorten_the_grace(api: Api, ns: str, name: str) -> None:
    pod = made(api, ns, name, finalizers=HOLD)
    api.delete(pod)
    api.patch(pod, {"metadata": {"finalizers": None}})
    assert grace(api, pod) == 30
    api.delete(f"{pod}?gracePeriodSeconds=0")
    assert api.request("GET", pod).status == 404


def test_grace_can_be_shortened_and_not_made_longer(api: Api, ns: str, name: str) -> None:
    pod = made(api, ns, name, finalizers=HOLD)
    seen = []
    for seconds in (20, 25, 10, 0):
        api.delete(f"{pod}?gracePeriodSeconds={seconds}")
        seen.append(grace(api, pod))
    assert seen == [20, 20, 10, 0]
    api.patch(pod, {"metadata": {"finalizers": None}})
    assert api.request("GET", pod).status == 404


@pytest.mark.parametrize(
    ("wanted", "why"),
    [
        ({"uid": "x"}, "the UID in the precondition (x) does not match the UID in record"),
        ({"resourceVersion": "1"}, "The object might have been modified"),
    ],
)
def test_a_deletion_says_what_does_not_match(api: Api, pod: str, wanted: JSON, why: str) -> None:
    answer = api.request("DELETE", pod, {"preconditions": wanted})
    assert answer.status == 409
    assert answer.body["message"].startswith('Operation cannot be fulfilled on Pod "')
    assert why in answer.body["message"]
