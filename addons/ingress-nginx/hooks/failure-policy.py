#!/usr/bin/env python3
"""Decides whether an Ingress is refused while the admission webhook does not answer: internal.failurePolicy.

Without an answer Fail refuses every Ingress of the cluster. So the webhook is registered with Ignore, and has Fail
while the Deployment has an available Pod. During an outage of all Pods nothing is checked.
"""

from hookrunner.sdk import Hook

hook = Hook(
    # Of the package's IngressClass, whose name is the user's.
    permissions=[{"apiGroups": ["networking.k8s.io"], "resources": ["ingressclasses"], "verbs": ["patch", "delete"]}]
)
hook.watch(
    "apps/v1/Deployment",
    "deployments",
    group="answers",
    namespaces=["ingress-nginx"],
    names=["ingress-nginx-controller"],
    synchronization=False,
    jq_filter="(.status.availableReplicas // 0) > 0",
)


@hook.before_helm(order=20)
@hook.group("answers")
def decide(snapshots, values):
    answers = any(snapshots["deployments"].results)
    values.set("ingressNginx.internal.failurePolicy", "Fail" if answers else "Ignore")


hook.run()
