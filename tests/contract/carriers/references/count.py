#!/usr/bin/env python3
"""Counts its contexts."""

import json
import os
import sys


def answer(run):
    return {"metrics": [{"name": "contexts", "add": len(run["contexts"])}]}


if sys.argv[1:] == ["--config"]:
    print('{"configVersion": "v1", "onStartup": 1, "settings": {"resident": true}}')
elif sys.argv[1:] == ["--resident"]:
    for message in map(json.loads, os.fdopen(3)):
        if "hello" in message:
            os.write(4, b'{"hello": {"version": 1}}\n')
        elif run := message.get("run"):
            os.write(4, json.dumps({"answer": {**answer(run), "id": run["id"]}}).encode() + b"\n")
else:
    with open(os.environ["BINDING_CONTEXT_PATH"]) as contexts, open(os.environ["METRICS_PATH"], "w") as metrics:
        metrics.writelines(json.dumps(metric) + "\n" for metric in answer({"contexts": json.load(contexts)})["metrics"])
