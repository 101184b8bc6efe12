#!/usr/bin/env python3
from hookrunner.sdk import Hook, Metrics, Snapshot

hook = Hook()
hook.watch("v1/Node", "nodes", group="all", jq_filter=".spec.unschedulable // false")


@hook.schedule("*/5 * * * *", include_snapshots_from=["nodes"])
@hook.group("all")
def count(snapshots: dict[str, Snapshot], metrics: Metrics) -> None:
    metrics.set("cordoned", sum(snapshots["nodes"].results))


hook.run()
