"""What no instance may patch, even if addon.yaml lists it under `patches`: what gives its author rights that the
package keeps for itself (docs/decisions.md, 105).

These are another identity, the node, less isolation, a Secret, connections of others, and who may do what in the
cluster. Fields count by their names at any depth, because custom kinds have the same ones around templates of Pods. Of
volumes and of what is below `metadata` the table has what is allowed instead: new kinds of both appear.
"""

from collections.abc import Mapping

_IDENTITY = "the account that its Pods run as"
_NODE = "access to the node"
_ISOLATION = "what confines its Pods"
_INJECTED = "what is injected into its Pods"
_CONFIDENTIAL = "the contents of a Secret"
_OBJECT = "what the object is"
_VOLUME = "what its Pods read and write"
_CONNECTIONS = "connections of others"
_GRANTS = "who may do what in the cluster"
_OURS = "what hookrunner and Helm keep about it"

_GROUPS: Mapping[str, str] = {
    "rbac.authorization.k8s.io": _GRANTS,
    "authorization.openshift.io": _GRANTS,
    "certificates.k8s.io": _GRANTS,
    "admissionregistration.k8s.io": "what the API server accepts",
    "apiregistration.k8s.io": "who answers for the API server",
    "apiextensions.k8s.io": "who answers for the API server",
    "node.k8s.io": _ISOLATION,
    "security.openshift.io": _ISOLATION,
}
"""Groups of which nothing may be patched."""
_KINDS: Mapping[tuple[str, str], str] = {
    ("", "ServiceAccount"): _IDENTITY,
    ("", "Namespace"): _ISOLATION,
    ("", "Node"): _NODE,
    ("", "PersistentVolume"): _NODE,
    ("policy", "PodSecurityPolicy"): _ISOLATION,
}
_FIELDS: Mapping[str, str] = {
    **dict.fromkeys(("serviceAccountName", "serviceAccount", "automountServiceAccountToken"), _IDENTITY),
    **dict.fromkeys(("serviceAccountToken", "roleRef", "subjects", "aggregationRule"), _GRANTS),
    **dict.fromkeys(("hostNetwork", "hostPID", "hostIPC", "hostUsers", "hostPath", "hostPort"), _NODE),
    **dict.fromkeys(("hostProcess", "resourceClaims", "volumeDevices", "mountPropagation"), _NODE),
    **dict.fromkeys(("securityContext", "podSecurityContext", "containerSecurityContext"), _ISOLATION),
    **dict.fromkeys(("privileged", "allowPrivilegeEscalation", "capabilities", "runtimeClassName"), _ISOLATION),
    **dict.fromkeys(("secretKeyRef", "secretRef", "volumeName", "dataSource", "dataSourceRef"), _CONFIDENTIAL),
    **dict.fromkeys(("finalizers", "ownerReferences"), _OBJECT),
    "externalIPs": _CONNECTIONS,
}
_MAPS = frozenset({"labels", "annotations", "nodeSelector", "matchLabels", "limits", "requests"})
"""Maps whose keys are no fields."""
_DATA_KINDS, _DATA = frozenset({("", "ConfigMap"), ("", "Secret")}), frozenset({"data", "stringData", "binaryData"})
_METADATA = frozenset({"labels", "annotations"})
_VOLUMES = frozenset({"name", "emptyDir", "configMap", "downwardAPI"})
"""Keys of a volume that give nothing but room, and data that is no secret."""
_PROBES = frozenset({"httpGet", "tcpSocket"})

_MARKS: Mapping[str, str] = {
    **dict.fromkeys(("hookrunner.io/", "meta.helm.sh/", "helm.sh/", "addons.k8s.io/"), _OURS),
    "app.kubernetes.io/managed-by": _OURS,
    **dict.fromkeys(("container.apparmor.security.beta.kubernetes.io/", "security.alpha.kubernetes.io/"), _ISOLATION),
    **dict.fromkeys(("seccomp.security.alpha.kubernetes.io/", "pod-security.kubernetes.io/"), _ISOLATION),
    **dict.fromkeys(("container.seccomp.security.alpha.kubernetes.io/", "openshift.io/scc"), _ISOLATION),
    **dict.fromkeys(("io.katacontainers.", "dev.gvisor."), _ISOLATION),
    **dict.fromkeys(("io.kubernetes.cri-o.", "cdi.k8s.io/", "devices.noderesource.dev/"), _NODE),
    **dict.fromkeys(("k8s.v1.cni.cncf.io/", "v1.multus-cni.io/", "cni.projectcalico.org/"), _NODE),
    **dict.fromkeys(("sidecar.istio.io/", "inject.istio.io/", "proxy.istio.io/", "dapr.io/"), _INJECTED),
    **dict.fromkeys(("linkerd.io/", "config.linkerd.io/", "instrumentation.opentelemetry.io/"), _INJECTED),
    **dict.fromkeys(("kubernetes.io/service-account.", "iam.amazonaws.com/", "eks.amazonaws.com/"), _IDENTITY),
    **dict.fromkeys(("iam.gke.io/", "azure.workload.identity/", "aadpodidbinding"), _IDENTITY),
    **dict.fromkeys(("vault.hashicorp.com/", "vault.security.banzaicloud.io/"), _CONFIDENTIAL),
}
"""How labels and annotations begin that mean such things to Kubernetes, to runtimes of containers, or to what is often
installed beside them. It cannot be complete: what reads labels in a cluster is up to the cluster."""


def reason_of_kind(group: str, kind: str) -> str:
    """What patches of this kind would change, "" if it may be patched."""
    return _GROUPS.get(group) or _KINDS.get((group, kind), "")


def reason_of_step(group: str, kind: str, above: tuple[object, ...], step: object) -> str:
    """What a patch of this field, or of anything in it, would change; "" if this step leads to nothing of the kind.

    `step` is a key of a map as a text, or anything else for an element of a list; `above` are the steps that lead to
    it, or only the last two of them.
    """
    if not isinstance(step, str):
        return ""
    parent = above[-1] if above else ""
    if parent == "metadata" and len(above) == 1 and step not in _METADATA:
        return _OBJECT
    if isinstance(parent, str) and (parent in _MAPS or ((group, kind) in _DATA_KINDS and parent in _DATA)):
        marks = _MARKS.items() if parent in _METADATA else ()
        return next((reason for start, reason in marks if step.startswith(start)), "")
    if above[-2:-1] == ("volumes",) and not isinstance(parent, str) and step not in _VOLUMES:
        return _NODE if step == "hostPath" else _VOLUME
    if step == "host" and isinstance(parent, str) and parent in _PROBES:
        return _CONNECTIONS
    return _FIELDS.get(step, "")
