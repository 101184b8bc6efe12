"""The image of this checkout, and Pods that end with their test."""

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from tests.controlplane.cluster import Cluster
from tests.controlplane.processes import free_port
from tests.image.build import Image, store
from tests.image.pod import Container, Pod

ACCOUNT = "/run/secrets/kubernetes.io/serviceaccount"

StartPod = Callable[[Container], Pod]


@pytest.fixture(scope="session")
def built_image() -> Image:
    """Built from the Dockerfile, unless it is the one that was built last."""
    return store().find()


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
    (account := directory / "account").mkdir()
    files = {"token": user.token, "namespace": namespace, "ca.crt": cluster.ca.read_text()}
    for name, text in files.items():
        (account / name).write_text(text)
    host, _, port = cluster.url.removeprefix("https://").partition(":")
    environ = {"KUBERNETES_SERVICE_HOST": host, "KUBERNETES_SERVICE_PORT": port, "NAMESPACE": namespace}
    directory.chmod(0o755)
    return replace(
        container,
        environ={**environ, **container.environ},
        mounts={ACCOUNT: account, **container.mounts},
    )


def on_free_ports(container: Container) -> Container:
    """With ports of its own, as all Pods share the network of this machine here."""
    ports = {"HOOKRUNNER_LISTEN_PORT": str(free_port()), "HOOKRUNNER_WEBHOOK_PORT": str(free_port())}
    return replace(container, environ={**container.environ, **ports})


def records(pod: Pod) -> list[dict[str, str]]:
    """The log, whose lines are JSON in the image."""
    lines = pod.log.read_text().splitlines()
    return [json.loads(line) for line in lines if line.startswith("{")]
