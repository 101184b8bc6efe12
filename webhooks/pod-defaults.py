#!/usr/bin/env python3
"""Gives new pods what they should have and do not say: the label `team` of their namespace, and requests for CPU and
memory.

Only in namespaces that ask for it:  kubectl label namespace shop hookrunner.io/pod-defaults=yes

Defaults are not worth stopping a pod for: if hookrunner is away, it is created without them (`failurePolicy: Ignore`).
"""

from hookrunner.sdk import Hook

REQUESTS = {"cpu": "100m", "memory": "128Mi"}
ASKING = "hookrunner.io/pod-defaults=yes"

hook = Hook()
hook.watch(
    "v1/Namespace", "namespaces", label_selector=ASKING, jq_filter="{name: .metadata.name, team: .metadata.labels.team}"
)


@hook.mutate(
    "pod-defaults.hookrunner.io",
    rules=[{"apiGroups": [""], "apiVersions": ["v1"], "resources": ["pods"], "operations": ["CREATE"]}],
    namespace_selector=ASKING,
    failure_policy="Ignore",
    timeout_seconds=5,
    include_snapshots_from=["namespaces"],
)
def complete(review, snapshots):
    pod = review.object
    teams = {one["name"]: one["team"] for one in snapshots["namespaces"].results}
    if team := teams.get(review.namespace):
        pod["metadata"].setdefault("labels", {}).setdefault("team", team)
    for container in pod["spec"]["containers"]:
        resources = container.get("resources", {})
        given = {**resources.get("limits", {}), **resources.get("requests", {})}  # a limit is a request, too
        if missing := {key: value for key, value in REQUESTS.items() if key not in given}:
            container["resources"] = {**resources, "requests": {**resources.get("requests", {}), **missing}}


hook.run()
