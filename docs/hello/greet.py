#!/usr/bin/env python3
import json
import os
import sys

if "--config" in sys.argv:
    print("{configVersion: v1, kubernetes: [{kind: Namespace, executeHookOnEvent: [Added]}]}")
    sys.exit()

for event in json.load(open(os.environ["BINDING_CONTEXT_PATH"])):
    for item in event.get("objects", [event]):
        print("hello,", item["object"]["metadata"]["name"])
