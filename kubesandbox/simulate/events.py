"""Events, as controllers, the scheduler and the kubelet write them.

https://kubernetes.io/docs/reference/kubernetes-api/cluster-resources/event-v1/
"""

from datetime import datetime

from kubesandbox.rules import Object
from kubesandbox.simulate.steps import Tell
from kubesandbox.times import rfc3339


def event(tell: Tell, component: str, now: datetime, number: int, host: str = "") -> Object:
    """The core/v1 Event for a message. `host` is the node where the component is the kubelet.

    Names go up with the time, and with the `number` inside a second: lists show Events in the order in which they came.
    """
    meta = tell.about["metadata"]
    about = {
        "kind": tell.about["kind"],
        "apiVersion": tell.about["apiVersion"],
        "namespace": meta.get("namespace", ""),
        "name": meta["name"],
        "uid": meta["uid"],
        "resourceVersion": meta["resourceVersion"],
        "fieldPath": tell.field,
    }
    return {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {
            "name": f"{meta['name']}.{int(now.timestamp()) * 10**9 + number:x}",
            "namespace": meta.get("namespace") or "default",
        },
        "involvedObject": {key: value for key, value in about.items() if value},
        "reason": tell.reason,
        "message": tell.message,
        "type": "Warning" if tell.warning else "Normal",
        "source": {"component": component, **({"host": host} if host else {})},
        "reportingComponent": component,
        "reportingInstance": host,
        "count": 1,
        "firstTimestamp": rfc3339(now),
        "lastTimestamp": rfc3339(now),
        "eventTime": None,
    }
