#!/usr/bin/env python3
"""Names its snapshot once, in a constant."""

import json
import os
import sys

NAMESPACES = "namespaces"
if sys.argv[1:] == ["--config"]:
    print(f"""
configVersion: v1
kubernetes:
- {{name: {NAMESPACES}, kind: Namespace}}
schedule:
- {{crontab: "@hourly", includeSnapshotsFrom: [{NAMESPACES}]}}
""")
    sys.exit()
with open(os.environ["BINDING_CONTEXT_PATH"]) as file:
    for context in json.load(file):
        print(context.get("snapshots", {}).get(NAMESPACES))
