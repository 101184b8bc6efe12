"""What a container may say: its name, image, ports, environment, mounts, resources, probes."""

import re

from kubesandbox import names
from kubesandbox.builtin.validation.common import (
    NOT_NEGATIVE,
    Causes,
    Object,
    given,
    given_and_named,
    named,
    not_found,
    not_negative,
    one_of,
    port,
    repeated,
)
from kubesandbox.status import duplicate, forbidden_field, required, unsupported, wrong
from kubetypes.quantities import quantity

PULL_POLICIES = ("Always", "IfNotPresent", "Never")
PROTOCOLS = ("SCTP", "TCP", "UDP")
HANDLERS = ("exec", "httpGet", "tcpSocket", "grpc", "sleep")
PROBES = ("livenessProbe", "readinessProbe", "startupProbe")
STANDARD = frozenset({"cpu", "memory", "ephemeral-storage"})


def container(one: Object, path: str, volumes: frozenset[str], claims: frozenset[str]) -> Causes:
    """What is wrong with a container, whatever its place. `volumes`, `claims` are the names that it can refer to."""
    yield from given_and_named(one.get("name"), f"{path}.name", names.label)
    yield from given(one.get("image"), f"{path}.image")
    allowed = ("File", "FallbackToLogsOnError")
    yield from one_of(one.get("terminationMessagePolicy"), f"{path}.terminationMessagePolicy", allowed)
    yield from _ports(one.get("ports") or [], f"{path}.ports")
    yield from variables(one.get("env") or [], f"{path}.env")
    yield from variables_from(one.get("envFrom") or [], f"{path}.envFrom")
    yield from _mounts(one.get("volumeMounts") or [], f"{path}.volumeMounts", volumes)
    yield from _devices(one.get("volumeDevices") or [], f"{path}.volumeDevices", volumes)
    yield from one_of(one.get("imagePullPolicy"), f"{path}.imagePullPolicy", PULL_POLICIES)
    yield from resources(one.get("resources") or {}, f"{path}.resources", claims)
    yield from _security(one.get("securityContext") or {}, f"{path}.securityContext")


def lifecycle_and_probes(one: Object, path: str) -> Causes:
    """What runs beside a container."""
    for key, handler in (one.get("lifecycle") or {}).items():
        if key in ("postStart", "preStop"):
            yield from _handler(handler, f"{path}.lifecycle.{key}")
    for key in PROBES:
        if key in one:
            yield from _probe(one[key], f"{path}.{key}", once=key != "readinessProbe")


def host_ports(containers: list[Object], path: str) -> Causes:
    """A port of the node can be taken once."""
    seen = set()
    for at, one in enumerate(containers):
        for index, each in enumerate(one.get("ports") or ()):
            key = f"{each.get('protocol', '')}/{each.get('hostIP', '')}/{each.get('hostPort')}"
            if each.get("hostPort") and key in seen:
                yield duplicate(f"{path}[{at}].ports[{index}].hostPort", key)
            seen.add(key)


def _ports(ports: list[Object], path: str) -> Causes:
    taken = dict(repeated(one.get("name") for one in ports))
    for at, one in enumerate(ports):
        field = f"{path}[{at}]"
        if name := one.get("name"):
            broken = list(named(name, f"{field}.name", names.port_name))
            yield from broken
            if not broken and at in taken:
                yield duplicate(f"{field}.name", name)
        if one.get("containerPort"):
            yield from port(one["containerPort"], f"{field}.containerPort")
        else:
            yield required(f"{field}.containerPort")
        if one.get("hostPort"):
            yield from port(one["hostPort"], f"{field}.hostPort")
        yield from one_of(one.get("protocol"), f"{field}.protocol", PROTOCOLS)


def _mounts(mounts: list[Object], path: str, volumes: frozenset[str]) -> Causes:
    paths = dict(repeated(one.get("mountPath", "") for one in mounts))
    for at, one in enumerate(mounts):
        field, name = f"{path}[{at}]", one.get("name", "")
        yield from given(name, f"{field}.name")
        if name not in volumes:
            yield not_found(f"{field}.name", name)
        yield from given(one.get("mountPath"), f"{field}.mountPath")
        if at in paths:
            yield wrong(f"{field}.mountPath", one.get("mountPath", ""), "must be unique")
        if one.get("subPath"):
            yield from descending(one["subPath"], f"{path}.subPath")
        if one.get("subPathExpr"):
            if one.get("subPath"):
                why = "subPathExpr and subPath are mutually exclusive"
                yield wrong(f"{field}.subPathExpr", one["subPathExpr"], why)
            yield from descending(one["subPathExpr"], f"{path}.subPathExpr")
        if one.get("mountPropagation") is not None:
            allowed = ("Bidirectional", "HostToContainer", "None")
            yield from one_of(one["mountPropagation"], f"{path}.mountPropagation", allowed)


def _devices(devices: list[Object], path: str, volumes: frozenset[str]) -> Causes:
    for at, one in enumerate(devices):
        yield from given(one.get("name"), f"{path}[{at}].name")
        yield from given(one.get("devicePath"), f"{path}[{at}].devicePath")
        if one.get("name", "") not in volumes:
            yield not_found(f"{path}[{at}].name", one.get("name", ""))


def descending(value: str, field: str) -> Causes:
    """A relative path that stays below where it starts."""
    if value.startswith("/"):
        yield wrong(field, value, "must be a relative path")
    yield from no_backsteps(value, field)


def no_backsteps(value: str, field: str) -> Causes:
    """A path without `..`."""
    if ".." in value.split("/"):
        yield wrong(field, value, "must not contain '..'")


def resources(asked: Object, path: str, claims: frozenset[str] = frozenset()) -> Causes:
    """https://kubernetes.io/docs/concepts/configuration/manage-resources-containers/"""
    limits, requests = asked.get("limits") or {}, asked.get("requests") or {}
    for key, value in limits.items():
        yield from _resource(key, value, f"{path}.limits[{key}]")
    for key, value in requests.items():
        yield from _resource(key, value, f"{path}.requests[{key}]")
        yield from _within(key, value, limits, path)
    for at, claim in enumerate(asked.get("claims") or ()):
        if claim.get("name") not in claims:
            yield not_found(f"{path}.claims[{at}].name", claim.get("name", ""))


def _within(key: str, value: str, limits: Object, path: str) -> Causes:
    """A request must be within the limit; of what cannot be shared, it must be the limit."""
    shared = key in STANDARD
    if key not in limits:
        if not shared:
            yield required(f"{path}.limits", "Limit must be set for non overcommitable resources")
    elif not shared and quantity(value) != quantity(limits[key]):
        yield wrong(f"{path}.requests", value, f"must be equal to {key} limit of {limits[key]}")
    elif quantity(value) > quantity(limits[key]):
        yield wrong(f"{path}.requests", value, f"must be less than or equal to {key} limit of {limits[key]}")


def _resource(key: str, value: str, path: str) -> Causes:
    broken = names.qualified(key)
    yield from (wrong(path, key, said) for said in broken)
    if "/" not in key and key not in STANDARD and not key.startswith("hugepages-"):
        if not broken:
            yield wrong(path, key, "must be a standard resource type or fully qualified")
        yield wrong(path, key, "must be a standard resource for containers")
    if quantity(value) < 0:
        yield wrong(path, value, NOT_NEGATIVE)
    if "/" in key and quantity(value).denominator != 1:
        yield wrong(path, value, "must be an integer")


def _security(context: Object, path: str) -> Causes:
    for key in ("runAsUser", "runAsGroup"):
        if key in context and not 0 <= context[key] < 2**31:
            yield wrong(f"{path}.{key}", context[key], f"must be between 0 and {2**31 - 1}, inclusive")
    if "procMount" in context:
        yield from one_of(context["procMount"], f"{path}.procMount", ("Default", "Unmasked"))
    if context.get("allowPrivilegeEscalation") is False and context.get("privileged"):
        why = "cannot set `allowPrivilegeEscalation` to false and `privileged` to true"
        yield wrong(path, context, why)


def _probe(probe: Object, path: str, once: bool) -> Causes:
    yield from _handler(probe, path)
    keys = ("initialDelaySeconds", "timeoutSeconds", "periodSeconds", "successThreshold", "failureThreshold")
    yield from not_negative(probe, path, *keys)
    if probe.get("terminationGracePeriodSeconds", 1) <= 0:
        yield wrong(
            f"{path}.terminationGracePeriodSeconds", probe["terminationGracePeriodSeconds"], "must be greater than 0"
        )
    if once and probe.get("successThreshold", 0) != 1:
        yield wrong(f"{path}.successThreshold", probe.get("successThreshold", 0), "must be 1")


def _handler(handler: Object, path: str) -> Causes:
    there = [key for key in HANDLERS if key in handler]
    if there:
        yield from _action(there[0], handler[there[0]], f"{path}.{there[0]}")
    else:
        yield required(path, "must specify a handler type")
    for key in there[1:]:
        yield forbidden_field(f"{path}.{key}", "may not specify more than 1 handler type")


def _action(kind: str, action: Object, field: str) -> Causes:
    if kind == "exec":
        yield from given(action.get("command"), f"{field}.command")
    elif kind in ("httpGet", "tcpSocket", "grpc"):
        if kind == "httpGet":
            yield from given(action.get("path"), f"{field}.path")
        yield from port(action.get("port", 0), f"{field}.port")
    if kind == "httpGet":
        if action.get("scheme") not in ("HTTP", "HTTPS"):
            yield unsupported(f"{field}.scheme", action.get("scheme", ""), ("HTTP", "HTTPS"))
        for header in action.get("httpHeaders") or ():
            yield from named(header.get("name", ""), f"{field}.httpHeaders", names.http_header)


# ── environment ───────────────────────────────────────────────────────────────────────────────────────────────────────

# The environment of containers, and references to a Pod's own fields, which volumes have too.


RESOURCES = ("cpu", "ephemeral-storage", "memory")
SOURCES = ("fieldRef", "resourceFieldRef", "configMapKeyRef", "secretKeyRef", "fileKeyRef")
NO_SOURCE = "must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef`, `secretKeyRef` or `fileKeyRef`"
SEVERAL = "may not have more than one field specified at a time"
FIELDS = (
    "metadata.name",
    "metadata.namespace",
    "metadata.uid",
    "spec.nodeName",
    "spec.serviceAccountName",
    "status.hostIP",
    "status.hostIPs",
    "status.podIP",
    "status.podIPs",
)
VOLUME_FIELDS = ("metadata.annotations", "metadata.labels", "metadata.name", "metadata.namespace", "metadata.uid")
CONVERTED = frozenset({*FIELDS, *VOLUME_FIELDS, "spec.restartPolicy", "spec.schedulerName", "status.phase"})
RESOURCE_FIELD = re.compile(r"(limits|requests)\.(cpu|memory|ephemeral-storage|hugepages-.+)")


def variables(given_variables: list[Object], path: str) -> Causes:
    """Variables with a value or a source of it."""
    for at, one in enumerate(given_variables):
        yield from given_and_named(one.get("name"), f"{path}[{at}].name", names.environment)
        if "valueFrom" in one:
            yield from _value_from(one, f"{path}[{at}].valueFrom")


def _value_from(variable: Object, path: str) -> Causes:
    source = variable["valueFrom"]
    if "fieldRef" in source:
        yield from field_ref(source["fieldRef"], f"{path}.fieldRef", FIELDS)
    if "resourceFieldRef" in source:
        yield from resource_field(source["resourceFieldRef"], f"{path}.resourceFieldRef", in_volume=False)
    for key in ("configMapKeyRef", "secretKeyRef"):
        if key in source:
            yield from named(source[key].get("name", ""), f"{path}.{key}.name", names.subdomain)
            yield from given_and_named(source[key].get("key"), f"{path}.{key}.key", names.data_key)
    count = sum(key in source for key in SOURCES)
    if not count:
        yield wrong(path, "", NO_SOURCE)
    elif variable.get("value"):
        yield wrong(path, "", "may not be specified when `value` is not empty")
    elif count > 1:
        yield wrong(path, "", SEVERAL)


def field_ref(reference: Object, path: str, allowed: tuple[str, ...]) -> Causes:
    """A field of the Pod itself, for the environment or a volume."""
    target = reference.get("fieldPath")
    if not reference.get("apiVersion"):
        yield required(f"{path}.apiVersion")
        return
    if not target:
        yield required(f"{path}.fieldPath")
        return
    field, subscripted, key = target.rpartition("['")
    if subscripted and key.endswith("']") and field in ("metadata.annotations", "metadata.labels"):
        key = key.removesuffix("']")
        yield from named(key.lower() if field.endswith("annotations") else key, path, names.qualified)
    elif target not in CONVERTED:
        why = f"error converting fieldPath: field label not supported: {target}"
        yield wrong(f"{path}.fieldPath", target, why)
    elif target not in allowed:
        yield unsupported(f"{path}.fieldPath", target, sorted(allowed))


def resource_field(reference: Object, path: str, in_volume: bool) -> Causes:
    """What a container asks for or is limited to, for the environment or a volume."""
    if in_volume and not reference.get("containerName"):
        yield required(f"{path}.containerName")
        return
    target = reference.get("resource")
    if not target:
        yield required(f"{path}.resource")
    elif not RESOURCE_FIELD.fullmatch(target):
        allowed = [f"{kind}.{name}" for kind in ("limits", "requests") for name in RESOURCES]
        yield unsupported(f"{path}.resource", target, allowed)


def variables_from(sources: list[Object], path: str) -> Causes:
    """All keys of a ConfigMap or a Secret as variables."""
    for at, one in enumerate(sources):
        if one.get("prefix"):
            yield from named(one["prefix"], f"{path}[{at}].prefix", names.environment)
        there = [key for key in ("configMapRef", "secretRef") if key in one]
        for key in there:
            yield from given_and_named(one[key].get("name"), f"{path}[{at}].{key}.name", names.subdomain)
        if not there:
            yield wrong(path, "", "must specify one of: `configMapRef` or `secretRef`")
        elif len(there) > 1:
            yield wrong(path, "", SEVERAL)
