#!/usr/bin/env python3
"""Leaves the answer to another program, which knows where to write it."""

import json
import os
import subprocess
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
subprocess.run(["policy"], input=json.dumps(request), text=True, check=True)
