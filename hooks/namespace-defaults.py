#!/usr/bin/env python3
"""Gives new namespaces what every namespace should have: labels, a ResourceQuota and a LimitRange.

Without any settings these are the ones below. Others come from the ConfigMap `namespace-defaults` in the namespace
`default`, with a line `key=value` for each; an empty text switches a part off:

    kubectl -n default create configmap namespace-defaults --from-literal=labels=team=unassigned \\
      --from-literal=quota="$(printf 'pods=50\\nrequests.cpu=8')" --from-literal=limits=memory=512Mi

Only new namespaces are touched, not older than ten minutes when hookrunner starts: a quota for one that is in use may
stop its pods. Labels, quotas and limits that a namespace has already stay as they are; `default` and `kube-…` get none.
"""

import json
import os
import sys
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from itertools import chain

CONFIG = """
configVersion: v1
settings:
  onFailure: park   # a mistake in the ConfigMap must not stop other hooks
  permissions:
  - {apiGroups: [""], resources: [namespaces], verbs: [patch]}
  - {apiGroups: [""], resources: [limitranges, resourcequotas], verbs: [create]}
kubernetes:
- name: namespaces
  kind: Namespace
  executeHookOnEvent: [Added]
  keepFullObjectsInMemory: false
  jqFilter: |
    {name: .metadata.name, since: .metadata.creationTimestamp, phase: .status.phase, labels: .metadata.labels}
  includeSnapshotsFrom: [namespaces, defaults]
- name: defaults
  kind: ConfigMap
  executeHookOnEvent: []
  executeHookOnSynchronization: false
  keepFullObjectsInMemory: false
  nameSelector: {matchNames: [namespace-defaults]}
  namespace: {nameSelector: {matchNames: [default]}}
  jqFilter: .data
"""
NEW = timedelta(minutes=10)
DEFAULTS = {
    "labels": "team=unassigned",
    "quota": "pods=100",
    "limits": "cpu=1\nmemory=1Gi",
}


def main() -> None:
    with open(os.environ["BINDING_CONTEXT_PATH"]) as file:
        contexts = json.load(file)
    snapshots = contexts[-1]["snapshots"]
    own = next((entry["filterResult"] for entry in snapshots["defaults"]), None) or {}
    parts = {part: pairs(part, own.get(part, text)) for part, text in DEFAULTS.items()}
    # The present namespaces: one may be deleted by now, and a retry must not wait for it without an end.
    namespaces = {entry["filterResult"]["name"]: entry["filterResult"] for entry in snapshots["namespaces"]}
    with open(os.environ["KUBERNETES_PATCH_PATH"], "w") as patches:
        for name in dict.fromkeys(chain.from_iterable(map(new, contexts))):
            if name in namespaces and namespaces[name]["phase"] == "Active":
                patches.writelines(json.dumps(one) + "\n" for one in operations(namespaces[name], parts))


def new(context: dict) -> list[str]:
    """The namespaces that are new to the cluster, not only to this hook."""
    found = [entry["filterResult"] for entry in context.get("objects", [context])]
    return [one["name"] for one in found if is_new(one) and one["name"] != "default" and one["name"][:5] != "kube-"]


def is_new(namespace: dict) -> bool:
    return datetime.now(UTC) - datetime.fromisoformat(namespace["since"]) < NEW


def pairs(part: str, text: str) -> dict[str, str]:
    """`key=value` lines as a mapping. A line without `=` ends this run."""
    found = {}
    for line in filter(None, map(str.strip, text.splitlines())):
        key, sign, value = line.partition("=")
        if not sign or not key.strip():
            sys.exit(f"ConfigMap default/namespace-defaults, {part}: '{line}' is not key=value")
        found[key.strip()] = value.strip()
    return found


def operations(namespace: dict, parts: dict[str, dict[str, str]]) -> Iterator[dict]:
    name, limits, quota = namespace["name"], parts["limits"], parts["quota"]
    missing = {key: value for key, value in parts["labels"].items() if key not in (namespace["labels"] or {})}
    given = [f"{key}={value}" for key, value in missing.items()]
    if limits:  # before the quota, which may ask of every container what this one fills in
        given.append("a LimitRange")
        yield created("LimitRange", name, {"limits": [{"type": "Container", "default": limits}]})
    if quota:
        given.append("a ResourceQuota")
        yield created("ResourceQuota", name, {"hard": quota})
    if missing:
        yield {
            "operation": "MergePatch",
            "apiVersion": "v1",
            "kind": "Namespace",
            "name": name,
            "mergePatch": {"metadata": {"labels": missing}},
            "ignoreMissingObject": True,
        }
    print(f"Namespace {name} gets {', '.join(given) or 'nothing'}")


def created(kind: str, namespace: str, spec: dict) -> dict:
    metadata = {"name": "defaults", "namespace": namespace}
    content = {"apiVersion": "v1", "kind": kind, "metadata": metadata, "spec": spec}
    return {"operation": "CreateIfNotExists", "object": content}


if __name__ == "__main__":
    print(CONFIG) if sys.argv[1:] == ["--config"] else main()
