"""The chart's manifests, whole, for a few sets of values, and those for `kubectl apply -f`.

`python -m tests.chart_renderings` writes them: the diff of a change of the chart then
shows what it changes in the cluster.
"""

import json
from collections.abc import Mapping
from pathlib import Path

from tests.fakes.chart import render_chart

CHARTS = Path(__file__).parents[1] / "charts"
RENDERINGS = Path(__file__).parent / "rendered_charts"
PLAIN = CHARTS / "plain" / "hookrunner.yaml"

_FIRST = {"apiVersion": "addons.x-k8s.io/v1alpha1", "kind": "CoreDNS", "metadata": {"name": "default"}}
SETS: Mapping[str, tuple[str, ...]] = {
    "defaults": (),
    "webhooks": (
        "--set",
        "replicas=2,webhooks.admission=true,hooks.check\\.sh=#!/bin/sh,networkPolicy.apiServers={10.0.0.0/28},"
        "networkPolicy.egress[0].ports[0].port=6443,priorityClassName=system-cluster-critical",
    ),
    "modules-and-addons": (
        "--set",
        "modules.enabled=true,modules.crds=true,modules.config.helloWorldEnabled=true,addons.enabled=true,"
        "addons.names={coredns},hostNetwork=true,kubernetesEndpoint.host=10.0.0.1",
        "--set-json",
        f"addons.instances=[{json.dumps(_FIRST)}]",
    ),
    "monitoring": (
        "--set",
        "monitoring.podMonitor.enabled=true,monitoring.rules.enabled=true,"
        "rbac.rules[0].apiGroups={},rbac.rules[0].resources={pods},rbac.rules[0].verbs={list,watch}",
    ),
}

_HEAD = """\
# Written from the chart by `python -m tests.chart_renderings`: hookrunner without helm, in the namespace hookrunner.
# Name your image in the Deployment, and add what hooks may watch and change as roles for the ServiceAccount
# (docs/operations.md). Other values: helm template hookrunner charts/hookrunner --namespace hookrunner --set …
apiVersion: v1
kind: Namespace
metadata:
  name: hookrunner
"""


def plain_manifests() -> str:
    """The file for `kubectl apply -f`. Helm does not manage what it makes, so it is not labelled so."""
    lines = render_chart(release="hookrunner", namespace="hookrunner").splitlines(keepends=True)
    by_helm = ("app.kubernetes.io/managed-by:", "helm.sh/chart:", "# Source:")
    return _HEAD + "".join(line for line in lines if not line.lstrip().startswith(by_helm))


def files() -> dict[Path, str]:
    """Every written file and its text."""
    rendered = {RENDERINGS / f"{name}.yaml": render_chart(*flags, namespace="watch") for name, flags in SETS.items()}
    return {**rendered, PLAIN: plain_manifests()}


if __name__ == "__main__":
    for path, text in files().items():
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
