#!/usr/bin/env python3
"""Reports in condition PeersReachable whether the Nodes are connected with each other: TCP and UDP 6783, UDP 6784.

The API shows Pods, and their readiness only that a router runs. How many connections each has is in its metrics, which
are asked every minute at the Nodes themselves: through the API server that would need the right to send requests to
every Pod in kube-system. Each connection has two ends, so a few Nodes are enough. Failed connections are no sign: a
router also counts that to itself.
Source: https://github.com/weaveworks/weave/blob/master/site/tasks/manage/metrics.md
"""

import re
from concurrent.futures import ThreadPoolExecutor
from http.client import HTTPException
from urllib.request import ProxyHandler, build_opener

from hookrunner.sdk import Hook

ASKED = 20
TIMEOUT, MOST_BYTES = 2.0, 1 << 20
CONN_LIMIT = 200
"""The router's own, without a setting."""
PORTS = "TCP and UDP 6783 and UDP 6784 must be open between Nodes"
ESTABLISHED = re.compile(r'^weave_connections\{[^}]*state="established"[^}]*\} ([0-9]+)', re.MULTILINE)

hook = Hook()
hook.watch(
    "v1/Pod",
    "pods",
    group="peers",
    synchronization=False,
    namespaces=["kube-system"],
    label_selector="name=weave-net",
    jq_filter="""
    {node: (.spec.nodeName // ""), ip: (.status.podIP // ""),
     ready: ([.status.conditions[]? | select(.type == "Ready").status] == ["True"]),
     waiting: [.status.containerStatuses[]?, .status.initContainerStatuses[]? | .state.waiting.reason // empty]}
    """,
)


@hook.group("peers")
def report(snapshots, values, conditions):
    spec = values.get("weaveNet")
    pods = sorted((pod for pod in snapshots["pods"].results if pod["node"]), key=lambda pod: pod["node"])
    if not pods:
        return
    if unready := [pod for pod in pods if not pod["ready"]]:
        shown = ", ".join(f"{pod['node']} ({' '.join(pod['waiting']) or 'not ready'})" for pod in unready[:3])
        message = f"Weave Net is not ready on {len(unready)} of {len(pods)} Nodes: {shown}"
        conditions.set("PeersReachable", "False", "PodsNotReady", message)
        return
    port = spec.get("metricsAddr", ":6782").rpartition(":")[2]
    others = min(len(pods) - 1, spec.get("connLimit", CONN_LIMIT))
    conditions.set("PeersReachable", **judged(ask(pods[:ASKED], port), others))


hook.schedule("@every 1m", group="peers")(report)


def ask(pods, port):
    """The connections of each Node; the error if it cannot be asked."""
    with ThreadPoolExecutor(len(pods)) as threads:
        return dict(threads.map(lambda pod: (pod["node"], connections(f"http://{pod['ip']}:{port}/metrics")), pods))


def connections(url):
    """How many are established, as the metrics at this URL have it; the error if there is no answer."""
    try:
        with build_opener(ProxyHandler({})).open(url, timeout=TIMEOUT) as answer:
            text = answer.read(MOST_BYTES).decode(errors="replace")
    except (OSError, HTTPException) as error:
        return error
    return sum(map(int, ESTABLISHED.findall(text)))


def judged(answers, others):
    """The condition for what was answered where each Node should have so many connections."""
    counts = {node: answer for node, answer in answers.items() if isinstance(answer, int)}
    if not counts:
        node, error = next(iter(answers.items()))
        message = f"Pods are ready, but hookrunner cannot read the metrics of {node}: {error}"
        return {"status": "Unknown", "reason": "NoMetrics", "message": message}
    if lacking := {node: count for node, count in counts.items() if count < others}:
        shown = ", ".join(f"{node} has {count}" for node, count in list(lacking.items())[:3])
        message = f"each Node should be connected with {others} others, {shown}: {PORTS}"
        return {"status": "False", "reason": "NotConnected", "message": message, "healthy": False}
    return {"status": "True", "reason": "Connected", "message": "all Nodes are connected with each other"}


hook.run()
