#!/usr/bin/env python3
"""Copies labelled Secrets to all namespaces: pull secrets, certificates, whatever everybody needs.

    kubectl label secret registry hookrunner.io/copy=yes

New namespaces get their copies at once, changes go to every copy, and the copies of a Secret that is deleted or loses
its label go, too. What is wanted is compared with what there is each time, so it does not matter what was missed.
A Secret of the same name that is no copy is left alone. Namespaces that begin with `kube-` get none.
"""

import json
import os
import sys
from collections import defaultdict
from collections.abc import Iterator

CONFIG = """
configVersion: v1
kubernetes:
- name: originals
  kind: Secret
  group: all
  keepFullObjectsInMemory: false
  labelSelector: {matchLabels: {hookrunner.io/copy: "yes"}}
  jqFilter: "{namespace: .metadata.namespace, name: .metadata.name, type: .type, data: .data}"
- name: copies
  kind: Secret
  group: all
  keepFullObjectsInMemory: false
  labelSelector: {matchLabels: {hookrunner.io/copy: made}}
  jqFilter: |
    {namespace: .metadata.namespace, name: .metadata.name, type: .type, data: .data,
     of: .metadata.annotations["hookrunner.io/copy-of"]}
- name: namespaces
  kind: Namespace
  group: all
  keepFullObjectsInMemory: false
  jqFilter: "{name: .metadata.name, phase: .status.phase}"
"""
Secret = dict
Place = tuple[str, str]
"""Namespace and name."""


def main() -> None:
    with open(os.environ["BINDING_CONTEXT_PATH"]) as file:
        snapshots = json.load(file)[-1]["snapshots"]  # of a group the last context says it all
    originals, copies, namespaces = (
        [entry["filterResult"] for entry in snapshots[name]] for name in ("originals", "copies", "namespaces")
    )
    active = [one["name"] for one in namespaces if one["phase"] == "Active"]
    told = defaultdict(list)
    with open(os.environ["KUBERNETES_PATCH_PATH"], "w") as patches:
        for what, secret, namespace, operations in changes(wanted(originals, active), copies, active):
            told[f"{secret} {what}"].append(namespace)
            patches.writelines(json.dumps(operation) + "\n" for operation in operations)
    for text, places in told.items():
        print(f"{text} {', '.join(places)}")


def wanted(originals: list[Secret], active: list[str]) -> dict[Place, Secret]:
    """Each copy that there should be. Of two originals of one name the first one counts."""
    own = {(one["namespace"], one["name"]) for one in originals}
    found: dict[Place, Secret] = {}
    for original in originals:
        for namespace in active:
            place = (namespace, original["name"])
            if place not in own and not namespace.startswith("kube-"):
                found.setdefault(place, copied(original, namespace))
    return found


def copied(original: Secret, namespace: str) -> Secret:
    return original | {"namespace": namespace, "of": f"{original['namespace']}/{original['name']}"}


def changes(
    wanted: dict[Place, Secret], copies: list[Secret], active: list[str]
) -> Iterator[tuple[str, str, str, list[dict]]]:
    """What is done, to which Secret, where, and the operations that do it."""
    there = {(one["namespace"], one["name"]): one for one in copies}
    for place, secret in wanted.items():
        copy = there.get(place)
        if copy is None:
            yield "is copied to", secret["of"], place[0], [written("CreateIfNotExists", secret)]
        elif copy["type"] != secret["type"]:  # a field that the API server treats as immutable
            yield "is replaced in", secret["of"], place[0], [deletion(place), written("CreateIfNotExists", secret)]
        elif copy != secret:
            yield "is updated in", secret["of"], place[0], [written("CreateOrUpdate", secret)]
    for place, copy in there.items():
        if place not in wanted and place[0] in active:
            yield "is removed from", copy["of"] or copy["name"], place[0], [deletion(place)]


def written(operation: str, secret: Secret) -> dict:
    metadata = {
        "namespace": secret["namespace"],
        "name": secret["name"],
        "labels": {"hookrunner.io/copy": "made"},
        "annotations": {"hookrunner.io/copy-of": secret["of"]},
    }
    content = {"type": secret["type"], "data": secret["data"]}
    return {
        "operation": operation,
        "object": {"apiVersion": "v1", "kind": "Secret", "metadata": metadata, **content},
    }


def deletion(place: Place) -> dict:
    return {"operation": "DeleteInBackground", "kind": "Secret", "namespace": place[0], "name": place[1]}


if __name__ == "__main__":
    print(CONFIG) if sys.argv[1:] == ["--config"] else main()
