#!/usr/bin/env python3
"""Looks at the first context only."""

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
if contexts[0]["type"] == "Event":
    print(contexts[0]["object"]["metadata"]["name"])
