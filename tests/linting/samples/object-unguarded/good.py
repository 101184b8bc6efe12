#!/usr/bin/env python3
"""Looks whether there is an object."""

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
    for context in json.load(file):
        for item in [context] if "object" in context else []:
            print(item["object"]["metadata"]["name"])
