"""What each shipped hook is asked to do in its life, on objects of its own."""

import json
from collections.abc import Callable, Iterator, Mapping
from http import HTTPStatus
from pathlib import Path
from typing import Any

from tests.controlplane.cluster import OwnCluster
from tests.fakes.chart import ROOT
from tests.flows.operator import Operator
from tests.flows.taken.life import Step
from tests.flows.test_shipped_hooks import FINISHED

HOOKS = ROOT / "hooks"
AT_ONCE = {"JOBS_KEEP_MINUTES": "0", "PENDING_PODS_MINUTES": "0"}
POD = {"restartPolicy": "Never", "containers": [{"name": "a", "image": "busybox"}]}


class HookWorld:
    """A cluster, and a name for the namespace and the other objects of one life."""

    def __init__(self, cluster: OwnCluster, operator: Operator, name: str) -> None:
        self.cluster, self.operator, self.name = cluster, operator, name

    def create(self, kind: str, **obj: Any) -> dict[str, Any]:
        """An object in the namespace of this life."""
        return self.cluster.create(collection(kind, self.name), {"metadata": {"name": self.name}, **obj})

    def namespace(self) -> None:
        """The namespace of this life."""
        self.cluster.create("/api/v1/namespaces", {"metadata": {"name": self.name}})

    def change(self, path: str, patch: Any) -> None:
        """Change an object."""
        assert self.cluster.request("PATCH", path, patch).status == HTTPStatus.OK

    def path(self, kind: str) -> str:
        """Of an object with the name of this life."""
        return f"{collection(kind, self.name)}/{self.name}"

    def read(self, path: str) -> Any:
        """An object, empty if it does not exist."""
        reply = self.cluster.request("GET", path)
        return reply.body if reply.status == HTTPStatus.OK else {}


def collection(kind: str, namespace: str) -> str:
    """The path of all objects of a kind in a namespace."""
    api = {"jobs": "/apis/batch/v1", "deployments": "/apis/apps/v1"}.get(kind, "/api/v1")
    return f"{api}/namespaces/{namespace}/{kind}"


def clean_jobs(world: HookWorld) -> Iterator[Step]:
    """A Job that has finished is deleted."""

    def finish() -> None:
        world.namespace()
        world.create("jobs", spec={"template": {"spec": POD}})
        world.change(f"{world.path('jobs')}/status", {"status": FINISHED})

    yield Step("the finished Job is deleted", finish, lambda: not world.read(world.path("jobs")))


def copy_secrets(world: HookWorld) -> Iterator[Step]:
    """A Secret is copied to a new namespace; its copy follows it, and is deleted with it."""
    original = f"{collection('secrets', 'default')}/{world.name}"
    labels = {"name": world.name, "labels": {"hookrunner.io/copy": "yes"}}

    def copy() -> Any:
        return world.read(world.path("secrets")).get("data")

    def begin() -> None:
        world.cluster.create(collection("secrets", "default"), {"metadata": labels, "data": {"a": "YQ=="}})
        world.namespace()

    changed = {"data": {"a": "Yg=="}}
    yield Step("a new namespace gets the copy", begin, lambda: copy() == {"a": "YQ=="})
    yield Step("the copy follows", lambda: world.change(original, changed), lambda: copy() == changed["data"])
    yield Step("the copy is deleted", lambda: world.cluster.request("DELETE", original), lambda: copy() is None)


def namespace_defaults(world: HookWorld) -> Iterator[Step]:
    """A new namespace gets a label, a LimitRange and a ResourceQuota."""

    def is_complete() -> bool:
        namespace = world.read(f"/api/v1/namespaces/{world.name}")
        parts = [world.read(f"{collection(kind, world.name)}/defaults") for kind in ("limitranges", "resourcequotas")]
        return "team" in namespace["metadata"]["labels"] and all(parts)

    yield Step("a new namespace is completed", world.namespace, is_complete)


def pending_pods(world: HookWorld) -> Iterator[Step]:
    """A Pod that no Node takes is reported."""

    def begin() -> None:
        world.namespace()
        world.cluster.create(collection("serviceaccounts", world.name), {"metadata": {"name": "default"}})
        world.create("pods", spec=POD)

    def is_reported() -> bool:
        return world.operator.hook_metric("pods_pending_seconds", pod=world.name) > 0

    yield Step("the metric", begin, is_reported)


def pod_security(world: HookWorld) -> Iterator[Step]:
    """A new namespace gets a label."""

    def is_labelled() -> bool:
        labels = world.read(f"/api/v1/namespaces/{world.name}")["metadata"]["labels"]
        return bool(labels.get("pod-security.kubernetes.io/warn") == "baseline")

    yield Step("a new namespace is labelled", world.namespace, is_labelled)


def restart_on_change(world: HookWorld) -> Iterator[Step]:
    """A Deployment is restarted when its ConfigMap changes, or its Secret."""
    uses = [{"configMapRef": {"name": world.name}}, {"secretRef": {"name": world.name}}]
    template = {"metadata": {"labels": {"a": "a"}}, "spec": {"containers": [{**POD["containers"][0], "envFrom": uses}]}}  # type: ignore[dict-item]
    followed = {"metadata": {"name": world.name, "labels": {"hookrunner.io/restart": "users"}}}

    def begin() -> None:
        world.namespace()
        world.create("configmaps", **followed, data={"a": "a"})
        world.create("secrets", **followed, data={"a": "YQ=="})
        world.create("deployments", spec={"selector": {"matchLabels": {"a": "a"}}, "template": template})

    def noted() -> Any:
        annotations = world.read(world.path("deployments"))["metadata"].get("annotations") or {}
        return json.loads(annotations.get("hookrunner.io/runs-with") or "{}")

    def restarted() -> Any:
        """With what it was restarted, None if it is not what is noted."""
        template = world.read(world.path("deployments"))["spec"]["template"]["metadata"]
        text = template.get("annotations", {}).get("hookrunner.io/runs-with")
        return text if text == json.dumps(noted()) else None

    def change(kind: str, data: str) -> Step:
        before: list[Any] = []

        def ask() -> None:
            before.append(restarted())
            world.change(world.path(kind), {"data": {"a": data}})

        return Step(f"a restart after {kind} have changed", ask, lambda: restarted() not in (None, *before))

    both = {f"{kind}/{world.name}" for kind in ("ConfigMap", "Secret")}
    yield Step("what it runs with is noted", begin, lambda: noted().keys() == both)
    yield change("configmaps", "b")
    yield change("secrets", "Yg==")


LIVES: Mapping[str, Callable[[HookWorld], Iterator[Step]]] = {
    "clean-jobs.sh": clean_jobs,
    "copy-secrets.py": copy_secrets,
    "namespace-defaults.py": namespace_defaults,
    "pending-pods.sh": pending_pods,
    "pod-security.sh": pod_security,
    "restart-on-change.py": restart_on_change,
}


def write_hook(directory: Path, name: str) -> str:
    """Put one shipped hook with its test cases into a directory, for `hookrunner rbac`. Its text, every minute made
    every second."""
    directory.mkdir(parents=True, exist_ok=True)
    for file in HOOKS.glob(f"{name}*"):
        (directory / file.name).write_bytes(file.read_bytes())
        (directory / file.name).chmod(file.stat().st_mode)
    return (HOOKS / name).read_text().replace('"* * * * *"', '"* * * * * *"')
