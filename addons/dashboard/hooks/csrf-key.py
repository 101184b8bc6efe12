#!/usr/bin/env python3
"""Fills the Secret kubernetes-dashboard-csrf with a random key, once.

The parts of the dashboard recognise each other's tokens against forged requests by it: 256 random bytes in base64. The
package has the Secret without data, so that no upgrade, repair or release record touches the key. Pods wait for it.
"""

import base64
import json
import os
import secrets
import sys

NAMESPACE, SECRET, KEY = "kubernetes-dashboard", "kubernetes-dashboard-csrf", "private.key"

CONFIG = f"""
configVersion: v1
settings:
  permissions:
  - {{apiGroups: [""], resources: [secrets], verbs: [patch], resourceNames: [{SECRET}], namespaces: [{NAMESPACE}]}}
kubernetes:
- name: secrets
  group: keys
  kind: Secret
  namespace: {{nameSelector: {{matchNames: [{NAMESPACE}]}}}}
  nameSelector: {{matchNames: [{SECRET}]}}
  keepFullObjectsInMemory: false
  jqFilter: '{{filled: ((.data["{KEY}"] // "") != "")}}'
"""


def main() -> None:
    with open(os.environ["BINDING_CONTEXT_PATH"]) as file:
        stored = json.load(file)[-1]["snapshots"]["secrets"]
    if not stored or stored[0]["filterResult"]["filled"]:
        return
    key = base64.b64encode(secrets.token_bytes(256))
    data = {KEY: base64.b64encode(key).decode()}  # the value of a Secret is base64 of the key, which is text itself
    operation = {
        "operation": "MergePatch",
        "apiVersion": "v1",
        "kind": "Secret",
        "namespace": NAMESPACE,
        "name": SECRET,
    }
    with open(os.environ["KUBERNETES_PATCH_PATH"], "w") as file:
        json.dump({**operation, "mergePatch": {"data": data}}, file)


if __name__ == "__main__":
    print(CONFIG) if sys.argv[1:] == ["--config"] else main()
