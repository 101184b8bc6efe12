#!/usr/bin/env python3
from typing import Any

from hookrunner.sdk import Cluster, Hook, HookFailed

hook = Hook()


@hook.reconcile("v1/ConfigMap", label_selector="mirror=yes", concurrency=10)
def mirror(source: dict[str, Any] | None, cluster: Cluster) -> None:
    if source is None:
        return  # its copy is deleted with it
    name, namespace, uid = (source["metadata"][key] for key in ("name", "namespace", "uid"))
    if not source.get("data"):
        raise HookFailed(f"{namespace}/{name} has no data to copy")
    owner = {"apiVersion": "v1", "kind": "ConfigMap", "name": name, "uid": uid}
    metadata = {"name": f"{name}-copy", "namespace": namespace, "ownerReferences": [owner]}
    cluster.apply({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": source["data"]})


hook.run()
