"""The image of this checkout, and Pods that end with their test."""

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from tests.controlplane.cluster import Cluster
from tests.controlplane.processes import free_port
from tests.image.build import Image, store
from tests.image.kubelet import with_account
from tests.image.pod import Container, Pod

StartPod = Callable[[Container], Pod]


@pytest.fixture(scope="session")
def built_image() -> Iterator[Image]:
    """Built from the Dockerfile, unless it is the one that was built last."""
    with store().in_use() as images:
        yield images.find()


@pytest.fixture
def start(tmp_path: Path) -> Iterator[StartPod]:
    pods: list[Pod] = []

    def call(container: Container) -> Pod:
        pods.append(Pod(container, tmp_path / f"pod-{len(pods)}.log"))
        return pods[-1]

    yield call
    for pod in pods:
        pod.kill()
        print(pod.story())


def in_cluster(container: Container, cluster: Cluster, namespace: str, directory: Path) -> Container:
    """The container as in a Pod of the cluster, with an account that may do anything in it."""
    everything = {"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}
    user = cluster.user("hookrunner", namespace, [everything], everywhere=True)
    named = replace(container, environ={"NAMESPACE": namespace, **container.environ})
    return with_account(named, cluster, namespace, user.token, directory)


def on_free_ports(container: Container) -> Container:
    """With ports of its own, as all Pods share the network of this machine here."""
    ports = {"HOOKRUNNER_LISTEN_PORT": str(free_port()), "HOOKRUNNER_WEBHOOK_PORT": str(free_port())}
    return replace(container, environ={**container.environ, **ports})


def records(pod: Pod) -> list[dict[str, str]]:
    """The log, whose lines are JSON in the image."""
    lines = pod.log.read_text().splitlines()
    return [json.loads(line) for line in lines if line.startswith("{")]
