#!/usr/bin/env python3
"""Counts the contexts."""

import json
import os
import sys

if sys.argv[1:] == ["--config"]:
    print("""
configVersion: v1
kubernetes:
- name: namespaces
  kind: Namespace
""")
    sys.exit()
with open(os.environ["BINDING_CONTEXT_PATH"]) as file:
    contexts = json.load(file)
print(f"{len(contexts)} contexts, the first of type {contexts[0]['type']}")
