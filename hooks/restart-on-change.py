#!/usr/bin/env python3
"""Restarts Deployments when a ConfigMap or a Secret that they use has changed.

Kubernetes itself leaves pods on the old configuration until they are restarted. Label each object to follow:

    kubectl label configmap greeting hookrunner.io/restart=users

From then on each change of its data restarts the Deployments of its namespace whose pods use it, in the way of
`kubectl rollout restart`. What they run with is noted in an annotation of theirs, so a change while hookrunner is away
is seen when it comes back, and nothing is restarted just because this hook is new.
"""

import hashlib
import json
import os
import sys
from collections.abc import Iterator

CONFIG = """
configVersion: v1
settings:
  permissions:
  - {apiGroups: [apps], resources: [deployments], verbs: [patch]}
kubernetes:
- name: deployments
  apiVersion: apps/v1
  kind: Deployment
  group: all
  keepFullObjectsInMemory: false
  jqFilter: |
    {namespace: .metadata.namespace, name: .metadata.name, pods: .spec.template.spec,
     noted: .metadata.annotations["hookrunner.io/runs-with"]}
- name: ConfigMap
  kind: ConfigMap
  group: all
  keepFullObjectsInMemory: false
  labelSelector: {matchLabels: {hookrunner.io/restart: users}}
  jqFilter: "{namespace: .metadata.namespace, name: .metadata.name, data: [.data, .binaryData]}"
- name: Secret
  kind: Secret
  group: all
  keepFullObjectsInMemory: false
  labelSelector: {matchLabels: {hookrunner.io/restart: users}}
  jqFilter: "{namespace: .metadata.namespace, name: .metadata.name, data: .data}"
"""
NOTE = "hookrunner.io/runs-with"
KINDS = {
    "configMap": "ConfigMap",
    "configMapRef": "ConfigMap",
    "configMapKeyRef": "ConfigMap",
    "secret": "Secret",
    "secretRef": "Secret",
    "secretKeyRef": "Secret",
}
"""Where a pod names what it uses: as a volume, as its environment, for one variable."""


def main() -> None:
    with open(os.environ["BINDING_CONTEXT_PATH"]) as file:
        snapshots = json.load(file)[-1]["snapshots"]  # of a group the last context says it all
    digests = {
        (kind, item["namespace"], item["name"]): hashlib.sha256(json.dumps(item["data"]).encode()).hexdigest()[:12]
        for kind in ("ConfigMap", "Secret")
        for item in results(snapshots[kind])
    }
    with open(os.environ["KUBERNETES_PATCH_PATH"], "w") as patches:
        for deployment in results(snapshots["deployments"]):
            if patch := brought_up(deployment, digests):
                patches.write(json.dumps(patch) + "\n")


def results(snapshot: list[dict]) -> list[dict]:
    return [entry["filterResult"] for entry in snapshot]


def brought_up(deployment: dict, digests: dict[tuple[str, str, str], str]) -> dict | None:
    """The patch that notes what a Deployment runs with, and restarts it if that has changed; None if all is well."""
    namespace, name = deployment["namespace"], deployment["name"]
    found = {
        f"{kind}/{one}": digests.get((kind, namespace, one)) for kind, one in sorted(set(used(deployment["pods"])))
    }
    now = {what: digest for what, digest in found.items() if digest}
    noted = notes(deployment["noted"])
    if now == noted:
        return None
    note = {"metadata": {"annotations": {NOTE: json.dumps(now) if now else None}}}
    patch = dict(note)
    if changed := [what for what in now if what in noted and noted[what] != now[what]]:
        print(f"{namespace}/{name} is restarted: {', '.join(changed)} has changed")
        patch["spec"] = {"template": note}
    elif now:
        print(f"{namespace}/{name} will be restarted when {', '.join(now)} changes")
    return {
        "operation": "MergePatch",
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "namespace": namespace,
        "name": name,
        "mergePatch": patch,
        "ignoreMissingObject": True,
    }


def used(value: object) -> Iterator[tuple[str, str]]:
    """Kind and name of whatever a pod template uses, wherever in it."""
    if isinstance(value, dict):
        for key, item in value.items():
            name = isinstance(item, dict) and (item.get("name") or item.get("secretName"))
            if key in KINDS and name:
                yield KINDS[key], name
            yield from used(item)
    elif isinstance(value, list):
        for item in value:
            yield from used(item)


def notes(text: str | None) -> dict[str, str]:
    """The noted checksums; empty if the annotation holds something else."""
    try:
        found = json.loads(text or "{}")
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


if __name__ == "__main__":
    print(CONFIG) if sys.argv[1:] == ["--config"] else main()
