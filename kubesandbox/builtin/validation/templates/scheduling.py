"""Where Pods may run: affinity, tolerations, spreading."""

from kubesandbox import names
from kubesandbox.builtin.validation.common import Causes, Object, label_selector, named, one_of
from kubesandbox.status import duplicate, forbidden_field, required, unsupported, wrong

REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
OPERATORS = ("In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt")
EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")
ALL_KEYS = 'operator must be Exists when `key` is empty, which means "match all values and all keys"'


def affinity(given: Object, path: str) -> Causes:
    """https://kubernetes.io/docs/concepts/scheduling-eviction/assign-pod-node/"""
    node = given.get("nodeAffinity") or {}
    field = f"{path}.nodeAffinity"
    if REQUIRED in node:
        yield from node_selector(node[REQUIRED], f"{field}.{REQUIRED}")
    for at, one in enumerate(node.get(PREFERRED) or ()):
        yield from _weight(one, f"{field}.{PREFERRED}[{at}]")
        yield from _node_term(one.get("preference") or {}, f"{field}.{PREFERRED}[{at}].preference")
    for kind in ("podAffinity", "podAntiAffinity"):
        yield from _pod_affinity(given.get(kind) or {}, f"{path}.{kind}")


def _pod_affinity(given: Object, path: str) -> Causes:
    for at, one in enumerate(given.get(REQUIRED) or ()):
        yield from _pod_term(one, f"{path}.{REQUIRED}[{at}]")
    for at, one in enumerate(given.get(PREFERRED) or ()):
        yield from _weight(one, f"{path}.{PREFERRED}[{at}]")
        yield from _pod_term(one.get("podAffinityTerm") or {}, f"{path}.{PREFERRED}[{at}].podAffinityTerm")


def _weight(one: Object, path: str) -> Causes:
    if not 1 <= one.get("weight", 0) <= 100:
        yield wrong(f"{path}.weight", one.get("weight", 0), "must be in the range 1-100")


def _pod_term(term: Object, path: str) -> Causes:
    yield from label_selector(term.get("labelSelector"), f"{path}.labelSelector")
    yield from label_selector(term.get("namespaceSelector"), f"{path}.namespaceSelector")
    for name in term.get("namespaces") or ():
        yield from named(name, f"{path}.namespace", names.label)
    if not term.get("topologyKey"):
        yield required(f"{path}.topologyKey", "can not be empty")
    yield from named(term.get("topologyKey", ""), f"{path}.topologyKey", names.qualified)


def node_selector(selector: Object, path: str) -> Causes:
    """Which nodes are meant: at least one term."""
    terms = selector.get("nodeSelectorTerms") or []
    if not terms:
        yield required(f"{path}.nodeSelectorTerms", "must have at least one node selector term")
    for at, term in enumerate(terms):
        yield from _node_term(term, f"{path}.nodeSelectorTerms[{at}]")


def _node_term(term: Object, path: str) -> Causes:
    for at, one in enumerate(term.get("matchExpressions") or ()):
        yield from _node_requirement(one, f"{path}.matchExpressions[{at}]")
        yield from named(one.get("key", ""), f"{path}.matchExpressions[{at}].key", names.qualified)
    for at, one in enumerate(term.get("matchFields") or ()):
        field = f"{path}.matchFields[{at}]"
        if one.get("key") != "metadata.name":
            yield wrong(f"{field}.key", one.get("key", ""), "not a valid field selector key")
        if one.get("operator") not in ("In", "NotIn"):
            yield wrong(f"{field}.operator", one.get("operator", ""), "not a valid selector operator")
        elif len(one.get("values") or ()) != 1:
            yield required(
                f"{field}.values", "must be only one value when `operator` is 'In' or 'NotIn' for node field selector"
            )


def _node_requirement(one: Object, path: str) -> Causes:
    operator, values = one.get("operator", ""), one.get("values") or []
    if operator in ("In", "NotIn") and not values:
        yield required(f"{path}.values", "must be specified when `operator` is 'In' or 'NotIn'")
    elif operator in ("Exists", "DoesNotExist") and values:
        yield forbidden_field(f"{path}.values", "may not be specified when `operator` is 'Exists' or 'DoesNotExist'")
    elif operator in ("Gt", "Lt") and len(values) != 1:
        yield required(f"{path}.values", "must be specified single value when `operator` is 'Lt' or 'Gt'")
    elif operator not in OPERATORS:
        yield wrong(f"{path}.operator", operator, "not a valid selector operator")
    if operator in ("In", "NotIn"):
        for at, value in enumerate(values):
            yield from named(value, f"{path}.values[{at}]", names.label_value)


def tolerations(given: list[Object], path: str) -> Causes:
    """https://kubernetes.io/docs/concepts/scheduling-eviction/taint-and-toleration/"""
    for at, one in enumerate(given):
        field, operator = f"{path}[{at}]", one.get("operator", "")
        if one.get("key"):
            yield from named(one["key"], f"{field}.key", names.qualified)
        elif operator != "Exists":
            yield wrong(f"{field}.operator", operator, ALL_KEYS)
        if "tolerationSeconds" in one and one.get("effect") != "NoExecute":
            why = "effect must be 'NoExecute' when `tolerationSeconds` is set"
            yield wrong(f"{field}.effect", one.get("effect", ""), why)
        if operator in ("Equal", "") and names.label_value(one.get("value", "")):
            yield wrong(f"{field}.operator", one["value"], ";".join(names.label_value(one["value"])))
        elif operator == "Exists" and one.get("value"):
            yield wrong(f"{field}.operator", one["value"], "value must be empty when `operator` is 'Exists'")
        elif operator not in ("Equal", "", "Exists"):
            yield unsupported(f"{field}.operator", operator, ("Equal", "Exists"))
        yield from one_of(one.get("effect"), f"{field}.effect", EFFECTS, needed=False)


def spread(given: list[Object], path: str) -> Causes:
    """https://kubernetes.io/docs/concepts/scheduling-eviction/topology-spread-constraints/"""
    pairs = [(one.get("topologyKey", ""), one.get("whenUnsatisfiable", "")) for one in given]
    for at, one in enumerate(given):
        field = f"{path}[{at}]"
        if one.get("maxSkew", 0) <= 0:
            yield wrong(f"{field}.maxSkew", one.get("maxSkew", 0), "must be greater than zero")
        if not one.get("topologyKey"):
            yield required(f"{field}.topologyKey", "can not be empty")
        if one.get("whenUnsatisfiable") not in ("DoNotSchedule", "ScheduleAnyway"):
            allowed = ("DoNotSchedule", "ScheduleAnyway")
            yield unsupported(f"{field}.whenUnsatisfiable", one.get("whenUnsatisfiable", ""), allowed)
        if pairs[at] in pairs[at + 1 :]:
            yield duplicate(f"{field}.{{topologyKey, whenUnsatisfiable}}", f"{{{', '.join(pairs[at])}}}")
        yield from label_selector(one.get("labelSelector"), f"{field}.labelSelector")
