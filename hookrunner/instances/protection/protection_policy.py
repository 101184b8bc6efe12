"""The ValidatingAdmissionPolicy that keeps users from changing the objects of instances with `spec.protect`. Pure.

    spec = policy_spec({unit: validation_of(addon, instance, account), …}, exempt)
    kept = validations(spec)            # by unit, to keep some of them

One policy for all these instances: rights on it can name it, and an API server asks once about each write. Objects are
known to it by the label that each object of an instance has, with the unit as value. So no object is written when an
instance asks for protection or does without. A user who takes the label away in the same request gains nothing: the API
server compares the selector with the object before the write, too, and the rules look at that alone.

Sources: https://kubernetes.io/docs/reference/access-authn-authz/validating-admission-policy/ and, for the names of
callers, https://kubernetes.io/docs/reference/access-authn-authz/authentication/
"""

from collections.abc import Mapping, Sequence

import orjson

from hookrunner.model.addons import ADDON_LABEL, PROTECTION, Addon, Instance, reference_of
from hookrunner.model.releases import ServiceAccount
from kubetypes.json_values import JSON

_CONTROL_PLANE = (
    "system:apiserver",
    "system:kube-controller-manager",
    "system:cloud-controller-manager",
    "system:nodes",
    "system:serviceaccounts:kube-system",
)
"""Users and groups. The controllers of Kubernetes have accounts in kube-system: the garbage collector, that of
namespaces, those that copy the labels of a Service to its EndpointSlices."""

_UNIT = f"""\
has(oldObject.metadata.labels) && "{ADDON_LABEL}" in oldObject.metadata.labels ? \
oldObject.metadata.labels["{ADDON_LABEL}"] : \"\""""

_ELSEWHERE = """\
!(has(request.namespace) && has(request.userInfo.groups) && \
("system:serviceaccounts:" + request.namespace) in request.userInfo.groups)"""
"""Pods of an addon write objects beside them, such as a Secret with a key that they have made."""

_EVERY_OBJECT = {
    "apiGroups": ["*"],
    "apiVersions": ["*"],
    "operations": ["UPDATE", "DELETE"],
    "resources": ["*"],
    "scope": "*",
}
"""Without subresources, among them `status` and `scale`."""


def policy_name(namespace: str) -> str:
    """The name of policy and binding of a hookrunner in this namespace."""
    return f"{PROTECTION}{namespace}"


def validation_of(addon: Addon, instance: Instance, account: ServiceAccount | None = None) -> JSON:
    """The rule about the objects of one instance: no one whom the policy asks about may write them, but the account as
    which hookrunner does, if it acts as one."""
    writer = f" || request.userInfo.username == {_text(account.user)}" if account else ""
    return {
        "expression": f"variables.unit != {_text(instance.unit)}{writer}",
        "message": f"it belongs to {reference_of(addon, instance)}, which protects its objects: change the spec of that"
        " one instead, or set its spec.protect to false first",
        "reason": "Forbidden",
    }


def policy_spec(validations: Mapping[str, JSON], exempt: Sequence[str]) -> JSON:
    """The spec of the policy with these rules, by unit. `exempt` are users and groups that may write everything, beside
    the control plane."""
    units = sorted(validations)
    return {
        "failurePolicy": "Fail",
        "matchConstraints": {
            "matchPolicy": "Equivalent",
            "namespaceSelector": {},
            "objectSelector": {"matchExpressions": [{"key": ADDON_LABEL, "operator": "In", "values": units}]},
            "resourceRules": [_EVERY_OBJECT],
        },
        "matchConditions": [
            {"name": "by-a-user", "expression": _is_none_of([*_CONTROL_PLANE, *exempt])},
            {"name": "from-elsewhere", "expression": _ELSEWHERE},
        ],
        "variables": [{"name": "unit", "expression": _UNIT}],
        "validations": [validations[unit] for unit in units],
    }


def binding_spec(name: str) -> JSON:
    """The spec of the binding by which the policy of this name counts everywhere."""
    return {"policyName": name, "validationActions": ["Deny"]}


def validations(spec: JSON) -> dict[str, JSON]:
    """The rules of a policy by unit; none if someone else has written it."""
    try:
        (selected,) = spec["matchConstraints"]["objectSelector"]["matchExpressions"]
        return dict(zip(selected["values"], spec["validations"], strict=True))
    except (LookupError, TypeError, ValueError):
        return {}


def _is_none_of(callers: Sequence[str]) -> str:
    names = f"[{', '.join(map(_text, callers))}]"
    groups = f"has(request.userInfo.groups) && request.userInfo.groups.exists(group, group in {names})"
    return f"!(request.userInfo.username in {names}) && !({groups})"


def _text(text: str) -> str:
    """A literal of CEL, whose escapes are those of JSON and more."""
    return orjson.dumps(text).decode()
