#!/usr/bin/env python3
"""Restarts Deployments when a ConfigMap or a Secret that they use has changed.

Kubernetes itself leaves pods on the old configuration until they are restarted. Label each object to follow:

    kubectl label configmap greeting hookrunner.io/restart=users

From then on each change of its data restarts the Deployments of its namespace whose pods use it, in the way of
`kubectl rollout restart`. What they run with is noted in an annotation of theirs, so a change while hookrunner is away
is seen when it comes back, and nothing is restarted just because this hook is new.
"""

import hashlib
import json

from hookrunner.sdk import Hook, ref

NOTE = "hookrunner.io/runs-with"
KINDS = {
    "configMap": "ConfigMap",
    "configMapRef": "ConfigMap",
    "configMapKeyRef": "ConfigMap",
    "secret": "Secret",
    "secretRef": "Secret",
    "secretKeyRef": "Secret",
}
"""Where a pod names what it uses: as a volume, as its environment, for one variable."""

hook = Hook(permissions=[{"apiGroups": ["apps"], "resources": ["deployments"], "verbs": ["patch"]}])
hook.watch(
    "apps/v1/Deployment",
    "deployments",
    group="all",
    jq_filter=f"""
    {{namespace: .metadata.namespace, name: .metadata.name, pods: .spec.template.spec,
      noted: .metadata.annotations["{NOTE}"]}}
    """,
)
for kind, data in (("ConfigMap", "[.data, .binaryData]"), ("Secret", ".data")):
    hook.watch(
        f"v1/{kind}",
        kind,
        group="all",
        label_selector="hookrunner.io/restart=users",
        jq_filter=f"{{namespace: .metadata.namespace, name: .metadata.name, data: {data}}}",
    )


@hook.group("all")
def restart(snapshots, cluster):
    digests = {
        (kind, item["namespace"], item["name"]): hashlib.sha256(json.dumps(item["data"]).encode()).hexdigest()[:12]
        for kind in ("ConfigMap", "Secret")
        for item in snapshots[kind].results
    }
    for deployment in snapshots["deployments"].results:
        bring_up(deployment, digests, cluster)


def bring_up(deployment, digests, cluster):
    """Note what a Deployment runs with, and restart it if that has changed."""
    namespace, name = deployment["namespace"], deployment["name"]
    found = {
        f"{kind}/{one}": digests.get((kind, namespace, one)) for kind, one in sorted(set(used(deployment["pods"])))
    }
    now = {what: digest for what, digest in found.items() if digest}
    noted = notes(deployment["noted"])
    if now == noted:
        return
    note = {"metadata": {"annotations": {NOTE: json.dumps(now) if now else None}}}
    patch = dict(note)
    if changed := [what for what in now if what in noted and noted[what] != now[what]]:
        print(f"{namespace}/{name} is restarted: {', '.join(changed)} has changed")
        patch["spec"] = {"template": note}
    elif now:
        print(f"{namespace}/{name} will be restarted when {', '.join(now)} changes")
    cluster.merge(ref("apps/v1/Deployment", name, namespace), patch, ignore_missing=True)


def used(value):
    """Kind and name of all that a pod template uses, wherever in it."""
    if isinstance(value, dict):
        for key, item in value.items():
            name = isinstance(item, dict) and (item.get("name") or item.get("secretName"))
            if key in KINDS and name:
                yield KINDS[key], name
            yield from used(item)
    elif isinstance(value, list):
        for item in value:
            yield from used(item)


def notes(text):
    """The noted checksums; empty if the annotation holds something else."""
    try:
        found = json.loads(text or "{}")
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


hook.run()
