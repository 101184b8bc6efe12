"""Services and claims: who is behind a Service, and volumes that come and go. Level: pure."""

from typing import Any

import pytest

from tests.kubesandbox.simulate.lab import Lab, running

pytestmark = pytest.mark.looptime

SERVICE = """
apiVersion: v1
kind: Service
metadata: {name: web, labels: {a: b}}
spec: {selector: {app: web}, ports: [{name: http, port: 80, targetPort: http}]}
---
apiVersion: v1
kind: Pod
metadata: {name: one, labels: {app: web}}
spec: {containers: [{name: c, image: i, ports: [{name: http, containerPort: 8080}]}]}
"""
CLAIM = """
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: data}
spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}
"""
USER = """
apiVersion: v1
kind: Pod
metadata: {name: user}
spec:
  containers: [{name: c, image: i}]
  volumes: [{name: v, persistentVolumeClaim: {claimName: data}}]
"""


def slice_of(lab: Lab) -> Any:
    slices = lab.all("endpointslices.discovery.k8s.io")
    assert len(slices) == 1
    return slices[0]


async def test_a_slice_names_the_pods_behind_a_service() -> None:
    async with running() as lab:
        lab.create(SERVICE)
        await lab.later(5)
        address = lab.one("pods", "one")["status"]["podIP"]
        found = slice_of(lab)
        assert found["ports"] == [{"name": "http", "port": 8080, "protocol": "TCP"}]
        assert [one["addresses"] for one in found["endpoints"]] == [[address]]
        assert found["endpoints"][0]["conditions"] == {"ready": True, "serving": True, "terminating": False}
        assert found["metadata"]["labels"]["a"] == "b"
        assert lab.one("endpoints", "web")["subsets"][0]["addresses"][0]["ip"] == address


async def test_a_pod_that_changes_its_label_is_no_longer_behind_the_service() -> None:
    async with running() as lab:
        lab.create(SERVICE)
        await lab.later(5)
        lab.patch("pods", "one", {"metadata": {"labels": {"app": "other"}}})
        await lab.later(1)
        assert not slice_of(lab).get("endpoints")
        assert not lab.one("endpoints", "web").get("subsets")


async def test_a_pod_that_ends_is_shown_as_terminating() -> None:
    async with running() as lab:
        lab.create(SERVICE)
        await lab.later(5)
        lab.delete("pods", "one")
        await lab.later(0.1)
        assert slice_of(lab)["endpoints"][0]["conditions"] == {"ready": False, "serving": True, "terminating": True}
        await lab.later(5)
        assert not slice_of(lab).get("endpoints")


async def test_slices_and_endpoints_go_with_their_service() -> None:
    async with running() as lab:
        lab.create(SERVICE)
        await lab.later(5)
        lab.delete("services", "web")
        await lab.later(5)
        assert lab.all("endpointslices.discovery.k8s.io") + lab.all("endpoints") == []


async def test_a_claim_is_bound_at_once() -> None:
    async with running() as lab:
        lab.create(CLAIM)
        await lab.later(1)
        claim = lab.one("persistentvolumeclaims", "data")
        assert (claim["status"]["phase"], claim["status"]["capacity"]) == ("Bound", {"storage": "1Gi"})
        volume = lab.one("persistentvolumes", claim["spec"]["volumeName"])
        assert (volume["status"]["phase"], volume["spec"]["claimRef"]["name"]) == ("Bound", "data")


async def test_a_pod_gets_its_node_when_its_claim_is_bound() -> None:
    async with running() as lab:
        lab.create(USER)
        await lab.later(5)
        assert lab.one("pods", "user")["status"]["phase"] == "Pending"
        lab.create(CLAIM)
        await lab.until(lambda: lab.one("pods", "user")["status"]["phase"] == "Running")


async def test_a_claim_waits_for_its_pod_and_takes_its_volume_along() -> None:
    async with running() as lab:
        lab.create(CLAIM)
        lab.create(USER)
        await lab.later(5)
        lab.delete("persistentvolumeclaims", "data")
        await lab.later(5)
        assert "deletionTimestamp" in lab.one("persistentvolumeclaims", "data")["metadata"]
        lab.delete("pods", "user")
        await lab.later(5)
        assert lab.all("persistentvolumeclaims") + lab.all("persistentvolumes") == []
