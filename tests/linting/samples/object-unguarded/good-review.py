#!/usr/bin/env python3
"""Reads the object of a review, which has nothing to do with bindings to objects."""

import json
import os
import sys

CONFIG = """
configVersion: v1
kubernetes:
- {name: nodes, kind: Node, keepFullObjectsInMemory: false}
kubernetesValidating:
- name: policy.example.com
  rules: [{apiGroups: [""], apiVersions: [v1], resources: [services], operations: [CREATE]}]
"""

if sys.argv[1:] == ["--config"]:
    print(CONFIG)
    sys.exit()
with open(os.environ["BINDING_CONTEXT_PATH"]) as file:
    for context in json.load(file):
        if "review" in context:
            name = context["review"]["request"]["object"]["metadata"]["name"]
            with open(os.environ["VALIDATING_RESPONSE_PATH"], "w") as answer:
                json.dump({"allowed": name != "bad"}, answer)
