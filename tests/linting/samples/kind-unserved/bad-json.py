#!/usr/bin/env python3
"""Creates an Ingress in a version that was removed."""

import json
import os
import sys

if "--config" in sys.argv:
    print(json.dumps({"configVersion": "v1", "onStartup": 1}))
else:
    obj = {"kind": "Ingress", "apiVersion": "extensions/v1beta1", "metadata": {"name": "a", "namespace": "default"}}
    with open(os.environ["KUBERNETES_PATCH_PATH"], "w") as patches:
        json.dump({"operation": "Create", "object": obj}, patches)
