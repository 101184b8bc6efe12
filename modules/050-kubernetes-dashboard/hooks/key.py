#!/usr/bin/env python3
"""Keeps the key by which the parts of the dashboard know each other's tokens against forged requests: internal.key.

It is made once. The Secret that the chart makes of it is where it survives a restart.
"""

import base64
import binascii
import json
import os
import secrets
import sys

CONFIG = """
configVersion: v1
beforeHelm: 1
kubernetes:
- name: secrets
  kind: Secret
  nameSelector: {matchNames: [kubernetes-dashboard-csrf]}
  executeHookOnEvent: []
  executeHookOnSynchronization: false
  keepFullObjectsInMemory: false
  jqFilter: '{namespace: .metadata.namespace, key: .data["private.key"]}'
"""


def main() -> None:
    with open(os.environ["BINDING_CONTEXT_PATH"]) as file:
        stored = [entry["filterResult"] for entry in json.load(file)[-1]["snapshots"]["secrets"]]
    with open(os.environ["VALUES_PATH"]) as file:
        values = json.load(file)["kubernetesDashboard"]
    if (values.get("internal") or {}).get("key"):
        return
    known = [decoded(one["key"]) for one in stored if one["namespace"] == values["namespace"] and one["key"]]
    key = next(filter(None, known), "") or base64.b64encode(secrets.token_bytes(256)).decode()
    with open(os.environ["VALUES_JSON_PATCH_PATH"], "w") as patch:
        json.dump({"op": "add", "path": "/kubernetesDashboard/internal", "value": {"key": key}}, patch)


def decoded(text: str) -> str:
    """The key in a Secret, which holds it in base64 twice; empty if the text is not a key."""
    try:
        key = base64.b64decode(text)
        return key.decode() if len(base64.b64decode(key, validate=True)) == 256 else ""
    except (binascii.Error, UnicodeDecodeError):
        return ""


if __name__ == "__main__":
    print(CONFIG) if sys.argv[1:] == ["--config"] else main()
