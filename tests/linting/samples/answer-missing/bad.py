#!/usr/bin/env python3
"""Prints its answer."""

import json
import os
import sys

CONFIG = """
configVersion: v1
kubernetesValidating:
- name: policy.example.com
  rules: [{apiGroups: [""], apiVersions: [v1], resources: [services], operations: [CREATE]}]
"""
if sys.argv[1:] == ["--config"]:
    print(CONFIG)
    sys.exit()
with open(os.environ["BINDING_CONTEXT_PATH"]) as file:
    request = json.load(file)[0]["review"]["request"]
print(json.dumps({"allowed": True}))
