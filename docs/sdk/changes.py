#!/usr/bin/env python3
from hookrunner.sdk import Event, Hook, Metrics

hook = Hook()


@hook.on(
    "v1/ConfigMap",
    namespaces=["shop"],
    events=["Added", "Modified"],
    synchronization=False,
    jq_filter=".data",
    queue="notes",
)
def note(event: Event, metrics: Metrics) -> None:
    print(f"{event.type} {event.name}: {event.filter_result['color']}")
    metrics.add("changes", labels={"name": event.name})


hook.run()
