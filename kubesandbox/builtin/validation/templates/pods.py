"""Pods, their templates, and the few fields of a Pod that an update may change."""

from kubesandbox import names
from kubesandbox.builtin import metadata
from kubesandbox.builtin.validation.common import (
    HIGHEST_INT32,
    Causes,
    Object,
    named,
    one_of,
)
from kubesandbox.builtin.validation.network import address
from kubesandbox.builtin.validation.templates import containers, scheduling
from kubesandbox.builtin.validation.templates.volumes import usable, volumes
from kubesandbox.status import duplicate, forbidden_field, required, wrong

RESTARTS = ("Always", "OnFailure", "Never")
DNS = ("ClusterFirstWithHostNet", "ClusterFirst", "Default", "None")
NOT_IN_INIT = "may not be set for init containers without restartPolicy=Always"
NAMED = (
    ("serviceAccountName", names.subdomain),
    ("nodeName", names.subdomain),
    ("hostname", names.label),
    ("subdomain", names.label),
    ("priorityClassName", names.subdomain),
    ("runtimeClassName", names.subdomain),
)
MOST_NAMESERVERS = 3


def pod(obj: Object) -> Causes:
    """A Pod by itself, as it is created."""
    spec = obj.get("spec") or {}
    yield from pod_spec(spec, "spec")
    for kind in ("containers", "initContainers"):
        for at, one in enumerate(spec.get(kind) or ()):
            if one.get("image", "") != one.get("image", "").strip():
                yield wrong(f"spec.{kind}[{at}].image", one["image"], "must not have leading or trailing whitespace")
    if not spec.get("serviceAccountName"):
        yield from _tokens(spec.get("volumes") or [])
    if spec.get("ephemeralContainers"):
        yield forbidden_field("spec.ephemeralContainers", "cannot be set on create")


def _tokens(there: list[Object]) -> Causes:
    """A token is some account's."""
    for at, volume in enumerate(there):
        for index, source in enumerate((volume.get("projected") or {}).get("sources") or ()):
            if "serviceAccountToken" in source:
                field = f"spec.volumes[{at}].projected.sources[{index}].serviceAccountToken"
                yield forbidden_field(field, "must not be specified when serviceAccountName is not set")


def template(obj: Object | None, path: str) -> Causes:
    """A template of a Pod."""
    obj = obj or {}
    yield from metadata.template(obj.get("metadata") or {}, path)
    yield from pod_spec(obj.get("spec") or {}, f"{path}.spec")
    if (obj.get("spec") or {}).get("ephemeralContainers"):
        yield forbidden_field(f"{path}.spec.ephemeralContainers", "ephemeral containers not allowed in pod template")


def pod_spec(spec: Object, path: str) -> Causes:
    """What is wrong with the spec of a Pod or a template."""
    there = spec.get("volumes") or []
    yield from volumes(there, f"{path}.volumes")
    mountable = usable(there)
    claims = frozenset(one.get("name", "") for one in spec.get("resourceClaims") or ())
    yield from _containers(spec, f"{path}.containers", mountable, claims)
    yield from _init_containers(spec, f"{path}.initContainers", mountable, claims)
    if spec.get("hostNetwork"):
        yield from _host_network(spec, path)
    yield from one_of(spec.get("restartPolicy"), f"{path}.restartPolicy", RESTARTS)
    yield from one_of(spec.get("dnsPolicy"), f"{path}.dnsPolicy", DNS)
    yield from metadata.labels(spec.get("nodeSelector") or {}, f"{path}.nodeSelector")
    yield from _security(spec.get("securityContext") or {}, f"{path}.securityContext")
    yield from scheduling.affinity(spec.get("affinity") or {}, f"{path}.affinity")
    yield from _dns(spec, f"{path}.dnsConfig")
    for at, gate in enumerate(spec.get("readinessGates") or ()):
        yield from named(gate.get("conditionType", ""), f"{path}.readinessGates[{at}].conditionType", names.qualified)
    yield from _gates(spec.get("schedulingGates") or [], f"{path}.schedulingGates")
    yield from scheduling.spread(spec.get("topologySpreadConstraints") or [], f"{path}.topologySpreadConstraints")
    for key, rule in NAMED:
        if spec.get(key):
            yield from named(spec[key], f"{path}.{key}", rule)
    yield from _rest(spec, path)


def _rest(spec: Object, path: str) -> Causes:
    if not 1 <= spec.get("activeDeadlineSeconds", 1) <= HIGHEST_INT32:
        why = f"must be between 1 and {HIGHEST_INT32}, inclusive"
        yield wrong(f"{path}.activeDeadlineSeconds", spec["activeDeadlineSeconds"], why)
    yield from scheduling.tolerations(spec.get("tolerations") or [], f"{path}.tolerations")
    for at, alias in enumerate(spec.get("hostAliases") or ()):
        yield from address(alias.get("ip", ""), f"{path}.hostAliases[{at}].ip")
        for index, host in enumerate(alias.get("hostnames") or ()):
            yield from named(host, f"{path}.hostAliases[{at}].hostnames[{index}]", names.subdomain)
    policies = ("PreemptLowerPriority", "Never")
    yield from one_of(spec.get("preemptionPolicy"), f"{path}.preemptionPolicy", policies, needed=False)
    if "os" in spec:
        yield from one_of(spec["os"].get("name"), f"{path}.os", ("linux", "windows"))


def _containers(spec: Object, path: str, mountable: frozenset[str], claims: frozenset[str]) -> Causes:
    all_of_them = spec.get("containers") or []
    if not all_of_them:
        yield required(path)
    seen = set()
    for at, one in enumerate(all_of_them):
        field = f"{path}[{at}]"
        yield from containers.container(one, field, mountable, claims)
        if one.get("name", "") in seen:
            yield duplicate(f"{field}.name", one.get("name", ""))
        seen.add(one.get("name", ""))
        yield from containers.lifecycle_and_probes(one, field)
    yield from containers.host_ports(all_of_them, path)


def _init_containers(spec: Object, path: str, mountable: frozenset[str], claims: frozenset[str]) -> Causes:
    seen = {one.get("name") for one in spec.get("containers") or ()}
    for at, one in enumerate(spec.get("initContainers") or ()):
        field = f"{path}[{at}]"
        yield from containers.container(one, field, mountable, claims)
        yield from one_of(one.get("restartPolicy"), f"{field}.restartPolicy", RESTARTS, needed=False)
        if one.get("name") in seen:
            yield duplicate(f"{field}.name", one["name"])
        seen.add(one.get("name"))
        if one.get("restartPolicy") == "Always":
            yield from containers.lifecycle_and_probes(one, field)
        else:
            beside = [key for key in ("lifecycle", *containers.PROBES) if key in one]
            yield from (forbidden_field(f"{field}.{key}", NOT_IN_INIT) for key in beside)


def _host_network(spec: Object, path: str) -> Causes:
    ports = (
        (port, f"{path}.{kind}[{at}].ports[{index}].hostPort")
        for kind in ("containers", "initContainers")
        for at, one in enumerate(spec.get(kind) or ())
        for index, port in enumerate(one.get("ports") or ())
    )
    for port, field in ports:
        if port.get("hostPort") and port["hostPort"] != port.get("containerPort"):
            yield wrong(field, port["hostPort"], "must match `containerPort` when `hostNetwork` is true")


def _security(context: Object, path: str) -> Causes:
    for key in ("fsGroup", "runAsUser", "runAsGroup"):
        if not 0 <= context.get(key, 0) <= HIGHEST_INT32:
            yield wrong(f"{path}.{key}", context[key], f"must be between 0 and {HIGHEST_INT32}, inclusive")
    for at, group in enumerate(context.get("supplementalGroups") or ()):
        if not 0 <= group <= HIGHEST_INT32:
            yield wrong(f"{path}.supplementalGroups[{at}]", group, f"must be between 0 and {HIGHEST_INT32}, inclusive")
    policies = ("Always", "OnRootMismatch")
    yield from one_of(context.get("fsGroupChangePolicy"), f"{path}.fsGroupChangePolicy", policies, needed=False)


def _dns(spec: Object, path: str) -> Causes:
    config = spec.get("dnsConfig")
    if spec.get("dnsPolicy") == "None":
        if config is None:
            yield required(path, "must provide `dnsConfig` when `dnsPolicy` is None")
            return
        if not config.get("nameservers"):
            yield required(f"{path}.nameservers", "must provide at least one DNS nameserver when `dnsPolicy` is None")
            return
    servers = (config or {}).get("nameservers") or []
    if len(servers) > MOST_NAMESERVERS:
        yield wrong(f"{path}.nameservers", servers, f"must not have more than {MOST_NAMESERVERS} nameservers")
    for at, server in enumerate(servers):
        yield from address(server, f"{path}.nameservers[{at}]")
    for at, option in enumerate((config or {}).get("options") or ()):
        if not option.get("name"):
            yield required(f"{path}.options[{at}]", "must not be empty")


def _gates(gates: list[Object], path: str) -> Causes:
    seen = set()
    for at, gate in enumerate(gates):
        name = gate.get("name", "")
        yield from named(name, f"{path}[{at}]", names.qualified)
        if name in seen:
            yield duplicate(f"{path}[{at}]", name)
        seen.add(name)


# ── creation and updates ──────────────────────────────────────────────────────────────────────────────────────────────

# Pods: what is checked when they are created, and the few fields that an update may change.


UPDATABLE = (
    "`spec.containers[*].image`,`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` (only"
    " additions to existing tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was"
    " previously negative)"
)
NOT_MORE = "pod updates may not add or remove containers"


def created_or_updated(obj: Object, old: Object | None) -> Causes:
    """A Pod as it is created or changed."""
    if not old:
        yield from pod(obj)
        return
    spec, known = obj.get("spec") or {}, old.get("spec") or {}
    yield from pod_spec(spec, "spec")
    for kind in ("containers", "initContainers"):
        if len(spec.get(kind) or ()) != len(known.get(kind) or ()):
            yield forbidden_field(f"spec.{kind}", NOT_MORE)
            return
    yield from _deadline(spec.get("activeDeadlineSeconds"), known.get("activeDeadlineSeconds"))
    yield from _tolerations(spec.get("tolerations") or [], known.get("tolerations") or [])
    if _unchangeable(spec) != _unchangeable(known):
        yield forbidden_field("spec", f"pod updates may not change fields other than {UPDATABLE}")


def _deadline(now: int | None, before: int | None) -> Causes:
    field = "spec.activeDeadlineSeconds"
    if now is not None:
        if not 0 <= now <= HIGHEST_INT32:
            yield wrong(field, now, f"must be between 0 and {HIGHEST_INT32}, inclusive")
        elif before is not None and now > before:
            yield wrong(field, now, "must be less than or equal to previous value")
    elif before is not None:
        yield wrong(field, None, "must not update from a positive integer to nil value")


def _tolerations(now: list[Object], before: list[Object]) -> Causes:
    """Only more seconds, or more tolerations."""
    kept = [{**one, "tolerationSeconds": None} for one in now]
    if any({**one, "tolerationSeconds": None} not in kept for one in before):
        yield forbidden_field(
            "spec.tolerations", "existing toleration can not be modified except its tolerationSeconds"
        )


def _unchangeable(spec: Object) -> Object:
    rest = {key: value for key, value in spec.items() if key not in ("activeDeadlineSeconds", "tolerations")}
    for kind in ("containers", "initContainers"):
        if rest.get(kind):
            rest[kind] = [{**one, "image": ""} for one in rest[kind]]
    return rest | {"schedulingGates": None}


CHECKS = {"pods": created_or_updated}
