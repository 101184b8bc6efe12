#!/usr/bin/env python3
"""Never looks at a snapshot."""

import json
import os
import sys

if sys.argv[1:] == ["--config"]:
    print("""
configVersion: v1
kubernetes:
- name: namespaces
  kind: Namespace
schedule:
- {crontab: "@hourly", includeSnapshotsFrom: [namespaces]}
""")
    sys.exit()
with open(os.environ["BINDING_CONTEXT_PATH"]) as file:
    for context in json.load(file):
        print(context["type"])
