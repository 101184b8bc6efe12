#!/usr/bin/env python3
"""Gives new pods what they should have and do not say: the label `team` of their namespace, and requests for CPU and
memory.

Only in namespaces that ask for it:  kubectl label namespace shop hookrunner.io/pod-defaults=yes

Defaults are not worth stopping a pod for: if hookrunner is away, it is created without them (`failurePolicy: Ignore`).
"""

import json
import os
import sys
from collections.abc import Iterator

CONFIG = """
configVersion: v1
kubernetesMutating:
- name: pod-defaults.hookrunner.io
  rules:
  - {apiGroups: [""], apiVersions: [v1], resources: [pods], operations: [CREATE]}
  namespace:
    labelSelector: {matchLabels: {hookrunner.io/pod-defaults: "yes"}}
  failurePolicy: Ignore
  timeoutSeconds: 5
  includeSnapshotsFrom: [namespaces]
kubernetes:
- name: namespaces
  kind: Namespace
  executeHookOnEvent: []
  executeHookOnSynchronization: false
  keepFullObjectsInMemory: false
  labelSelector: {matchLabels: {hookrunner.io/pod-defaults: "yes"}}
  jqFilter: "{name: .metadata.name, team: .metadata.labels.team}"
"""
REQUESTS = {"cpu": "100m", "memory": "128Mi"}


def main() -> None:
    with open(os.environ["BINDING_CONTEXT_PATH"]) as file:
        context = json.load(file)[0]
    request = context["review"]["request"]
    teams = {one["filterResult"]["name"]: one["filterResult"]["team"] for one in context["snapshots"]["namespaces"]}
    patch = [*label(request["object"], teams.get(request["namespace"])), *requests(request["object"])]
    with open(os.environ["ADMISSION_RESPONSE_PATH"], "w") as file:
        json.dump({"allowed": True, "patch": patch}, file)


def label(pod: dict, team: str | None) -> Iterator[dict]:
    """The steps that give it the label."""
    labels = pod["metadata"].get("labels")
    if team and labels is None:
        yield {"op": "add", "path": "/metadata/labels", "value": {"team": team}}
    elif team and "team" not in labels:
        yield {"op": "add", "path": "/metadata/labels/team", "value": team}


def requests(pod: dict) -> Iterator[dict]:
    """The steps for each container. A limit without a request is one, too."""
    for place, container in enumerate(pod["spec"]["containers"]):
        resources = container.get("resources") or {}
        said = {**(resources.get("limits") or {}), **(resources.get("requests") or {})}
        missing = {key: value for key, value in REQUESTS.items() if key not in said}
        if missing:
            value = {**resources, "requests": {**(resources.get("requests") or {}), **missing}}
            yield {"op": "add", "path": f"/spec/containers/{place}/resources", "value": value}


if __name__ == "__main__":
    print(CONFIG) if sys.argv[1:] == ["--config"] else main()
