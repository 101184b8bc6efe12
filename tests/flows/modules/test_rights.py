"""Modules with the rights that addon-operator needs: `update` of the ConfigMap, records without `watch`, the status of
definitions by `update`, Helm hooks without `patch`, no Events, no right to look for definitions.

Level: control plane."""

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

import pytest

from tests.controlplane.cluster import Cluster
from tests.fakes.objects import definition
from tests.flows.modules.hooks import hook, patch
from tests.flows.modules.world import World

ACCOUNT = "apiVersion: v1\nkind: ServiceAccount\nmetadata: {name: a, labels: {color: {{ .Values.a.color | quote }}}}\n"
RUN_BY_HELM = """\
apiVersion: v1
kind: PodTemplate
metadata: {name: run-by-helm, annotations: {helm.sh/hook: pre-install}}
template: {spec: {containers: [{name: a, image: b}]}}
"""


def rights(group: str) -> list[dict[str, Any]]:
    given = {
        ("", "configmaps"): "get list watch create update",
        ("", "secrets"): "get list create update delete",
        ("", "serviceaccounts"): "get list watch create patch delete",
        ("", "podtemplates"): "get list watch create delete",
        ("apiextensions.k8s.io", "customresourcedefinitions"): "get create update",
        ("apiextensions.k8s.io", "customresourcedefinitions/status"): "update",
        (group, "things"): "list update",
    }
    return [
        {"apiGroups": [group], "resources": [resource], "verbs": verbs.split()}
        for (group, resource), verbs in given.items()
    ]


@pytest.fixture
async def group(cluster: Cluster, namespace: str) -> AsyncIterator[str]:
    """A group for the story's own kind, which goes when it ends."""
    yield f"{namespace}.example.com"
    path = f"/apis/apiextensions.k8s.io/v1/customresourcedefinitions/things.{namespace}.example.com"
    await asyncio.to_thread(cluster.request, "DELETE", path)


async def test_the_rights_of_addon_operator_are_enough_for_modules(
    real: World, cluster: Cluster, namespace: str, group: str
) -> None:
    user = await asyncio.to_thread(cluster.user, "operator", namespace, rights(group), everywhere=True)
    real.operator.kubeconfig = user.kubeconfig
    files = {"templates/sa.yaml": ACCOUNT, "templates/hook.yaml": RUN_BY_HELM, "values.yaml": "a: {color: none}\n"}
    files["crds/thing.yaml"] = json.dumps(definition(group, "Thing", "v1alpha1", "v1"))
    files["hooks/h.sh"] = hook(patch("/a/color", '"red"', lasting=True), beforeHelm=1)
    real.module("010-a", files)
    await real.configure(aEnabled="true", other="{}")
    await real.start()
    assert (await real.configuration())["a"] == "color: red\n"

    async def color() -> object:
        found = await real.ask("GET", real.path("a", "serviceaccounts"), None)
        return found and found["metadata"]["labels"]["color"]

    await real.until(color, "red", "the object that the chart makes")
    assert await real.ask("GET", real.path("run-by-helm", "podtemplates"), None)
    await real.delete("a", "serviceaccounts")
    await real.until(color, "red", "the deleted object")
    real.module("010-a", {"crds/thing.yaml": json.dumps(definition(group, "Thing", "v1"))})
    await real.again()
    await real.module_is("a", ready=True)
