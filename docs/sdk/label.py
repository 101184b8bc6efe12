#!/usr/bin/env python3
from typing import Any

from hookrunner.sdk import Cluster, Hook

hook = Hook()


@hook.reconcile("v1/Namespace", label_selector="team")
def label(namespace: dict[str, Any] | None, cluster: Cluster) -> None:
    if namespace:
        cluster.merge(namespace, {"metadata": {"labels": {"seen": "yes"}}})


hook.run()
