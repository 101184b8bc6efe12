"""Whether the API server would call a webhook for a request, and if not, which condition the request fails.

Rules: https://kubernetes.io/docs/reference/access-authn-authz/extensible-admission-controllers/
"""

from collections.abc import Iterator, Sequence

from hookrunner.hooks.config import selectors
from hookrunner.model.bindings import Admission
from hookrunner.model.resources import JSON
from hookrunner.testing.matching import failed_label, labels_of_namespace
from kubetypes import cel, match_conditions
from kubetypes.cel import NoValue, WrongExpression

_EXEMPT = ("validatingwebhookconfigurations", "mutatingwebhookconfigurations")


def misfit(binding: Admission, request: JSON, given: Sequence[JSON]) -> str:
    """Why the API server would not call this webhook for an AdmissionRequest, empty if it would."""
    if request["resource"]["resource"] in _EXEMPT:
        return f"the API server asks no webhook about {request['resource']['resource']}"
    reasons = [_outside(rule, request) for rule in binding.rules]
    if all(reasons):
        return "rules: " + ("; ".join(reasons) or "the binding has none")
    return next(_deselections(binding, request, given), "") or _conditions(binding, request)[0]


def unknown(binding: Admission, request: JSON) -> str:
    """What could not be found out about the binding's matchConditions, empty if nothing."""
    return _conditions(binding, request)[1]


def _outside(rule: JSON, request: JSON) -> str:
    resource, part = request["resource"], request.get("subResource", "")
    asked = {"apiGroups": resource["group"], "apiVersions": resource["version"], "operations": request["operation"]}
    for key, value in asked.items():
        if "*" not in rule[key] and value not in rule[key]:
            return f"{key}: {value!r} is none of {rule[key]}"
    if not any(_covers(one, resource["resource"], part) for one in rule["resources"]):
        return f"resources: {'/'.join(filter(None, (resource['resource'], part)))!r} is none of {rule['resources']}"
    scope = "Namespaced" if request.get("namespace") else "Cluster"
    if rule.get("scope", "*") not in ("*", scope):
        found = f"is {scope}" if request.get("namespace") else "has no metadata.namespace; kubectl would fill it in"
        return f"scope: the rule is for {rule['scope']}, and the object {found}"
    return ""


def _covers(wanted: str, resource: str, part: str) -> bool:
    """`pods/*` covers pods too; `pods` and `*` cover no subresource."""
    name, _, inner = wanted.partition("/")
    return name in ("*", resource) and inner in ("*", part)


def _deselections(binding: Admission, request: JSON, given: Sequence[JSON]) -> Iterator[str]:
    states = [state for state in (request["object"], request["oldObject"]) if state is not None]
    wanted = selectors.labels(binding.object_selector or {})
    failed = [failed_label(wanted, _labels(state)) for state in states]
    if all(failed):
        yield f"labelSelector: '{failed[0]}' does not hold for the labels of the object"
    selector = selectors.labels(binding.namespace_selector or {})
    is_namespace = request["kind"] == {"group": "", "version": "v1", "kind": "Namespace"}
    name = request["name"] if is_namespace else request.get("namespace")
    if selector and name:
        labels = labels_of_namespace(name, states if is_namespace else given)
        if labels is None:
            yield f"namespace.labelSelector: Namespace '{name}' is not among the given objects"
        elif broken := failed_label(selector, labels):
            yield f"namespace.labelSelector: '{broken}' does not hold for the labels of Namespace '{name}'"


def _labels(state: JSON) -> JSON:
    return (state.get("metadata") or {}).get("labels") or {}


def _conditions(binding: Admission, request: JSON) -> tuple[str, str]:
    """Why matchConditions leave the request out, and what could not be found out."""
    if not binding.match_conditions:
        return "", ""
    if not cel.available():
        return "", f"matchConditions of {binding.name} are not evaluated: install hookrunner[cel]"
    try:
        name = match_conditions.failing(binding.match_conditions, request)
    except WrongExpression as error:
        return "", f"matchConditions of {binding.name} cannot be evaluated: {error}"
    except NoValue as error:
        refused = "leaves the webhook out" if binding.failure_policy == "Ignore" else "refuses the request"
        return f"matchConditions: {error}; with failurePolicy {binding.failure_policy} the API server {refused}", ""
    said = next((one["expression"] for one in binding.match_conditions if one["name"] == name), "")
    return (f"matchConditions: '{name}' is false: {said}", "") if name is not None else ("", "")
