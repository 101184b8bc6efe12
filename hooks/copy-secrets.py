#!/usr/bin/env python3
"""Copies labelled Secrets to all namespaces: pull secrets, certificates, whatever everybody needs.

    kubectl label secret registry hookrunner.io/copy=yes

New namespaces get their copies at once, changes go to every copy, and the copies of a Secret that is deleted or loses
its label go, too. What is wanted is compared with what there is each time, so it does not matter what was missed.
A Secret of the same name that is no copy is left alone. Namespaces that begin with `kube-` get none.
"""

from collections import defaultdict

from hookrunner.sdk import Hook, ref

hook = Hook(permissions=[{"apiGroups": [""], "resources": ["secrets"], "verbs": ["get", "create", "update", "delete"]}])
hook.watch(
    "v1/Secret",
    "originals",
    group="all",
    label_selector="hookrunner.io/copy=yes",
    jq_filter="{namespace: .metadata.namespace, name: .metadata.name, type: .type, data: .data}",
)
hook.watch(
    "v1/Secret",
    "copies",
    group="all",
    label_selector="hookrunner.io/copy=made",
    jq_filter="""
    {namespace: .metadata.namespace, name: .metadata.name, type: .type, data: .data,
     of: .metadata.annotations["hookrunner.io/copy-of"]}
    """,
)
hook.watch("v1/Namespace", "namespaces", group="all", jq_filter="{name: .metadata.name, phase: .status.phase}")


@hook.group("all")
def copy_secrets(snapshots, cluster):
    active = [one["name"] for one in snapshots["namespaces"].results if one["phase"] == "Active"]
    wanted = copies_of(snapshots["originals"].results, active)
    present = {place_of(copy): copy for copy in snapshots["copies"].results}
    done = defaultdict(list)
    for place, secret in wanted.items():
        if change := bring_up(cluster, secret, present.get(place)):
            done[f"{secret['of']} {change}"].append(place[0])
    for place, copy in present.items():
        if place not in wanted and place[0] in active:
            cluster.delete(secret_ref(copy), "background")
            done[f"{copy['of'] or copy['name']} is removed from"].append(place[0])
    for text, namespaces in done.items():
        print(f"{text} {', '.join(namespaces)}")


def copies_of(originals, active):
    """Each copy that there should be, by namespace and name. Of two originals of one name the first one counts."""
    own = {place_of(original) for original in originals}
    copies = {}
    for original in originals:
        for namespace in active:
            copy = original | {"namespace": namespace, "of": f"{original['namespace']}/{original['name']}"}
            if place_of(copy) not in own and not namespace.startswith("kube-"):
                copies.setdefault(place_of(copy), copy)
    return copies


def bring_up(cluster, secret, present):
    """Make a copy what it should be; what is done for that, in words."""
    if present == secret:
        return ""
    if present and present["type"] == secret["type"]:
        cluster.create_or_update(whole(secret))
        return "is updated in"
    if present:  # its type is a field that the API server treats as immutable
        cluster.delete(secret_ref(secret), "background")
    cluster.create_if_not_exists(whole(secret))
    return "is replaced in" if present else "is copied to"


def place_of(secret):
    return secret["namespace"], secret["name"]


def secret_ref(secret):
    return ref("v1/Secret", secret["name"], secret["namespace"])


def whole(secret):
    """The object of a copy."""
    obj = {**secret_ref(secret), "type": secret["type"], "data": secret["data"]}
    obj["metadata"]["labels"] = {"hookrunner.io/copy": "made"}
    obj["metadata"]["annotations"] = {"hookrunner.io/copy-of": secret["of"]}
    return obj


hook.run()
