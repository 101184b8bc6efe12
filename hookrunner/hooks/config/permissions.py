"""`settings.permissions`: the rights that a hook states for what it does beyond its bindings, as rules of RBAC, each
with the namespaces in which it counts.

Refused is what the API server accepts in a role and never allows anything by: it looks at a request's name before the
object has one, and at no namespace where a request has none.
Source: https://kubernetes.io/docs/reference/access-authn-authz/rbac/#referring-to-resources
"""

from collections.abc import Iterator, Sequence

from hookrunner.model.rights import Right
from hookrunner.shapes import Problem
from kubetypes.json_values import JSON

_NAMELESS = ("create", "deletecollection")


def read_permissions(raw: Sequence[JSON]) -> tuple[Right, ...]:
    """The rights, one for each namespace. `raw` has no `problems`."""
    return tuple(right for rule in raw for right in _read(rule).in_namespaces(rule.get("namespaces", ())))


def _read(rule: JSON) -> Right:
    return Right(
        groups=tuple(rule.get("apiGroups", ())),
        resources=tuple(rule.get("resources", ())),
        verbs=tuple(rule["verbs"]),
        names=tuple(rule.get("resourceNames", ())),
        urls=tuple(rule.get("nonResourceURLs", ())),
    )


def problems(path: str, rule: JSON) -> Iterator[Problem]:
    """What makes no sense in a rule whose shape is right."""
    urls, resources = "nonResourceURLs" in rule, {"apiGroups", "resources"} & rule.keys()
    if urls and (resources or "resourceNames" in rule):
        yield Problem(path, "has resources and nonResourceURLs, and a rule is about one of them; make two items")
    elif urls and "namespaces" in rule:
        yield Problem(f"{path}.namespaces", "is invalid: URLs are in no namespace; leave the key out")
    elif not urls and len(resources) < 2:
        yield Problem(path, 'lacks apiGroups or resources; write for example `apiGroups: [""], resources: [pods]`')
    yield from _upper_case(f"{path}.resources", rule.get("resources", ()))
    yield from _never_named(path, rule)


def _upper_case(path: str, resources: Sequence[str]) -> Iterator[Problem]:
    for index, resource in enumerate(resources):
        if resource != resource.lower():
            advice = "write the plural in lower case, as `kubectl api-resources` shows it: pods, networkpolicies"
            yield Problem(f"{path}[{index}]", f"is invalid: no resource is called '{resource}'; {advice}", resource)


def _never_named(path: str, rule: JSON) -> Iterator[Problem]:
    """`create` of a subresource has a name in its request, that of an object has none yet."""
    whole = any("/" not in resource for resource in rule.get("resources", ()))
    for index, verb in enumerate(rule.get("verbs", ())):
        if verb in _NAMELESS and whole and "resourceNames" in rule:
            text = f"is invalid: no rule can limit {verb} to names; state it in an item without resourceNames"
            yield Problem(f"{path}.verbs[{index}]", text, verb)
