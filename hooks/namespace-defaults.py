#!/usr/bin/env python3
"""Gives new namespaces what every namespace should have: labels, a ResourceQuota and a LimitRange.

Without any settings these are the ones below. Others come from the ConfigMap `namespace-defaults` in the namespace
`default`, with a line `key=value` for each; an empty text switches a part off:

    kubectl -n default create configmap namespace-defaults --from-literal=labels=team=unassigned \\
      --from-literal=quota="$(printf 'pods=50\\nrequests.cpu=8')" --from-literal=limits=memory=512Mi

Only new namespaces are touched, not older than ten minutes when hookrunner starts: a quota for one that is in use may
stop its pods. Labels, quotas and limits that a namespace has already stay as they are; `default` and `kube-…` get none.
"""

from datetime import UTC, datetime, timedelta

from hookrunner.sdk import Hook, HookFailed, ref

NEW = timedelta(minutes=10)
DEFAULTS = {
    "labels": "team=unassigned",
    "quota": "pods=100",
    "limits": "cpu=1\nmemory=1Gi",
}

hook = Hook(
    on_failure="park",  # a mistake in the ConfigMap must not stop other hooks
    permissions=[
        {"apiGroups": [""], "resources": ["namespaces"], "verbs": ["patch"]},
        {"apiGroups": [""], "resources": ["limitranges", "resourcequotas"], "verbs": ["create"]},
    ],
)
hook.watch("v1/ConfigMap", "defaults", namespaces=["default"], names=["namespace-defaults"], jq_filter=".data // {}")


@hook.reconcile("v1/Namespace", name="namespaces", events=["Added"], include_snapshots_from=["namespaces", "defaults"])
def complete(namespace, snapshots, cluster):
    own = next(iter(snapshots["defaults"].results), {})
    labels, quota, limits = (pairs(part, own.get(part, text)) for part, text in DEFAULTS.items())
    name = namespace["metadata"]["name"]
    if not is_new(namespace) or name == "default" or name.startswith("kube-"):
        return
    # The present one: it may be deleted by now, and a retry must not wait for it without an end.
    present = {one["metadata"]["name"]: one for one in snapshots["namespaces"].objects}.get(name)
    if not present or present["status"]["phase"] != "Active":
        return
    missing = {key: value for key, value in labels.items() if key not in present["metadata"].get("labels", {})}
    given = [f"{key}={value}" for key, value in missing.items()]
    if limits:  # before the quota, which may ask of every container what this one fills in
        given.append("a LimitRange")
        spec = {"limits": [{"type": "Container", "default": limits}]}
        cluster.create_if_not_exists({**ref("v1/LimitRange", "defaults", name), "spec": spec})
    if quota:
        given.append("a ResourceQuota")
        cluster.create_if_not_exists({**ref("v1/ResourceQuota", "defaults", name), "spec": {"hard": quota}})
    if missing:
        cluster.merge(namespace, {"metadata": {"labels": missing}}, ignore_missing=True)
    print(f"Namespace {name} gets {', '.join(given) or 'nothing'}")


def is_new(namespace):
    """To the cluster, not only to this hook."""
    return datetime.now(UTC) - datetime.fromisoformat(namespace["metadata"]["creationTimestamp"]) < NEW


def pairs(part, text):
    """`key=value` lines as a mapping. A line without `=` makes the run fail."""
    found = {}
    for line in filter(None, map(str.strip, text.splitlines())):
        key, sign, value = line.partition("=")
        if not sign or not key.strip():
            raise HookFailed(f"ConfigMap default/namespace-defaults, {part}: '{line}' is not key=value")
        found[key.strip()] = value.strip()
    return found


hook.run()
