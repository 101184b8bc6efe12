#!/usr/bin/env python3
"""Reads a snapshot that nothing includes."""

import json
import os
import sys

if sys.argv[1:] == ["--config"]:
    print('{"configVersion": "v1", "kubernetes": [{"name": "nodes", "kind": "Node", "group": "all"}]}')
    sys.exit()
with open(os.environ["BINDING_CONTEXT_PATH"]) as file:
    for context in json.load(file):
        print(len(context["snapshots"]["Nodes"]))
