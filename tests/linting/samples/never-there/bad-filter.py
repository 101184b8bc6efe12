#!/usr/bin/env python3
"""Reads the result of a filter that there is not."""

import json
import os
import sys

if sys.argv[1:] == ["--config"]:
    print('{"configVersion": "v1", "kubernetes": [{"name": "nodes", "kind": "Node", "group": "all"}]}')
    sys.exit()
with open(os.environ["BINDING_CONTEXT_PATH"]) as file:
    for context in json.load(file):
        print([entry["filterResult"] for entry in context["snapshots"]["nodes"]])
