#!/usr/bin/env python3
from hookrunner.sdk import Hook, Snapshot, Values

hook = Hook()
hook.watch("v1/Node", "nodes", jq_filter=".metadata.name")


@hook.before_helm(order=10)
def spread(snapshots: dict[str, Snapshot], values: Values) -> None:
    values.set("web.replicas", min(len(snapshots["nodes"]), 3))


hook.run()
