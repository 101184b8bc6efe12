"""The columns of namespaces and nodes, of configuration, rights, policies, and of small kinds around the API server."""

from datetime import datetime

from kubesandbox.columns.ages import human
from kubesandbox.columns.parts import NONE, UNSET, Cells, Object, Printer, age, at, condition, name

ROLE_LABEL, OLD_ROLE_LABEL = "node-role.kubernetes.io/", "kubernetes.io/role"
SUBJECTS = ("User", "Group", "ServiceAccount")


def fields(*paths: str) -> Printer:
    """Name, fields that are shown as they are (""  where they are missing), age."""
    return lambda obj, now: [name(obj), *(at(obj, path, "") for path in paths), age(obj, now)]


def count(path: str) -> Printer:
    """Name, how many there are of something, age."""
    return lambda obj, now: [name(obj), len(at(obj, path, ())), age(obj, now)]


def config_map(obj: Object, now: datetime) -> Cells:
    return [name(obj), len(at(obj, "data", {})) + len(at(obj, "binaryData", {})), age(obj, now)]


def secret(obj: Object, now: datetime) -> Cells:
    return [name(obj), obj.get("type", ""), len(at(obj, "data", {})), age(obj, now)]


def node(obj: Object, now: datetime) -> Cells:
    info = at(obj, "status.nodeInfo", {})
    kernel = info.get("kernelVersion") or "<unknown>"
    if info.get("architecture"):
        kernel += f" ({info['architecture']})"
    about = [info.get("osImage") or "<unknown>", kernel, info.get("containerRuntimeVersion") or "<unknown>"]
    addresses = [_address(obj, "InternalIP"), _address(obj, "ExternalIP")]
    roles = ",".join(sorted(_roles(obj))) or NONE
    return [name(obj), _node_status(obj), roles, age(obj, now), info.get("kubeletVersion", ""), *addresses, *about]


def _node_status(obj: Object) -> str:
    # Of several conditions of one type the last one counts here.
    ready = [one.get("status") for one in at(obj, "status.conditions", []) if one.get("type") == "Ready"]
    status = "Unknown" if not ready else "Ready" if ready[-1] == "True" else "NotReady"
    return status + (",SchedulingDisabled" if at(obj, "spec.unschedulable") else "")


def _roles(obj: Object) -> set[str]:
    found = at(obj, "metadata.labels", {})
    roles = {key.removeprefix(ROLE_LABEL) for key in found if key.startswith(ROLE_LABEL)}
    return {role for role in (*roles, found.get(OLD_ROLE_LABEL, "")) if role}


def _address(obj: Object, kind: str) -> str:
    found = (one["address"] for one in at(obj, "status.addresses", []) if one.get("type") == kind)
    return next(found, NONE)


def resource_quota(obj: Object, now: datetime) -> Cells:
    hard, used = at(obj, "status.hard", {}), at(obj, "status.used", {})
    shown = {key: f"{key}: {used.get(key, '0')}/{hard[key]}" for key in sorted(hard)}
    limits = [text for key, text in shown.items() if key.startswith("limits.")]
    requests = [text for key, text in shown.items() if not key.startswith("limits.")]
    return [name(obj), ", ".join(requests), ", ".join(limits), age(obj, now)]


def role_binding(obj: Object, now: datetime) -> Cells:
    role = f"{at(obj, 'roleRef.kind', '')}/{at(obj, 'roleRef.name', '')}"
    return [name(obj), role, age(obj, now), *(_subjects(obj, kind) for kind in SUBJECTS)]


def _subjects(obj: Object, kind: str) -> str:
    found = [one for one in obj.get("subjects") or () if one.get("kind") == kind]
    account = kind == "ServiceAccount"
    return ", ".join(f"{one.get('namespace', '')}/{one['name']}" if account else one["name"] for one in found)


def priority_class(obj: Object, now: datetime) -> Cells:
    value = [obj.get("value", 0), obj.get("globalDefault", False)]
    return [name(obj), *value, age(obj, now), obj.get("preemptionPolicy", "")]


def signing_request(obj: Object, now: datetime) -> Cells:
    spec, seconds = at(obj, "spec", {}), at(obj, "spec.expirationSeconds")
    duration = NONE if seconds is None else human(seconds)
    who = [spec.get("signerName") or NONE, spec.get("username", ""), duration]
    return [name(obj), age(obj, now), *who, _signed(obj)]


def _signed(obj: Object) -> str:
    status = "Denied" if condition(obj, "Denied") else "Approved" if condition(obj, "Approved") else "Pending"
    if condition(obj, "Failed"):
        status += ",Failed"
    return status + (",Issued" if at(obj, "status.certificate") else "")


def policy(parts: str) -> Printer:
    """An admission policy: how many validations or mutations, and of what kind its parameters are."""

    def cells(obj: Object, now: datetime) -> Cells:
        kind = at(obj, "spec.paramKind")
        parameters = f"{kind.get('apiVersion', '')}/{kind.get('kind', '')}" if kind else UNSET
        return [name(obj), len(at(obj, f"spec.{parts}", ())), parameters, age(obj, now)]

    return cells


def policy_binding(obj: Object, now: datetime) -> Cells:
    given = at(obj, "spec.paramRef")
    return [name(obj), at(obj, "spec.policyName", ""), _parameters(given) if given else UNSET, age(obj, now)]


def _parameters(reference: Object) -> str:
    if reference.get("name"):
        return f"{reference.get('namespace') or '*'}/{reference['name']}"
    return _in_go(reference["selector"]) if reference.get("selector") is not None else UNSET


def _in_go(selector: Object) -> str:
    """A selector as Go prints the struct: Kubernetes has no nicer form for this column."""
    match = "".join(f"{key}: {value}," for key, value in sorted((selector.get("matchLabels") or {}).items()))
    expressions = "".join(map(_requirement_in_go, selector.get("matchExpressions") or ()))
    inner = f"MatchLabels:map[string]string{{{match}}},MatchExpressions:[]LabelSelectorRequirement{{{expressions}}},"
    return f"&LabelSelector{{{inner}}}"


def _requirement_in_go(said: Object) -> str:
    values = " ".join(said.get("values") or ())
    return f"LabelSelectorRequirement{{Key:{said['key']},Operator:{said['operator']},Values:[{values}],}},"


CELLS = {
    "configmaps": config_map,
    "secrets": secret,
    "serviceaccounts": fields(),
    "namespaces": fields("status.phase"),
    "nodes": node,
    "resourcequotas": resource_quota,
    "rolebindings.rbac.authorization.k8s.io": role_binding,
    "clusterrolebindings.rbac.authorization.k8s.io": role_binding,
    "priorityclasses.scheduling.k8s.io": priority_class,
    "leases.coordination.k8s.io": fields("spec.holderIdentity"),
    "runtimeclasses.node.k8s.io": fields("handler"),
    "certificatesigningrequests.certificates.k8s.io": signing_request,
    "mutatingwebhookconfigurations.admissionregistration.k8s.io": count("webhooks"),
    "validatingwebhookconfigurations.admissionregistration.k8s.io": count("webhooks"),
    "validatingadmissionpolicies.admissionregistration.k8s.io": policy("validations"),
    "mutatingadmissionpolicies.admissionregistration.k8s.io": policy("mutations"),
    "validatingadmissionpolicybindings.admissionregistration.k8s.io": policy_binding,
    "mutatingadmissionpolicybindings.admissionregistration.k8s.io": policy_binding,
}
