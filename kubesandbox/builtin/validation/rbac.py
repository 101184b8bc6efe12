"""Roles and bindings, https://kubernetes.io/docs/reference/access-authn-authz/rbac/."""

from kubesandbox import names
from kubesandbox.builtin.validation.common import Causes, Object, label_selector, named, usable
from kubesandbox.status import required, unsupported, wrong

GROUP = "rbac.authorization.k8s.io"
KINDS = ("ServiceAccount", "User", "Group")


def role(obj: Object, old: Object | None) -> Causes:
    """Rules about resources in the role's namespace."""
    for at, rule in enumerate(obj.get("rules") or ()):
        yield from _rule(rule, f"rules[{at}]", namespaced=True)


def cluster_role(obj: Object, old: Object | None) -> Causes:
    """Rules about anything."""
    for at, rule in enumerate(obj.get("rules") or ()):
        yield from _rule(rule, f"rules[{at}]", namespaced=False)
    if "aggregationRule" in obj:
        selectors = (obj["aggregationRule"] or {}).get("clusterRoleSelectors") or []
        if not selectors:
            yield required(
                "aggregationRule.clusterRoleSelectors",
                "at least one clusterRoleSelector required if aggregationRule is non-nil",
            )
        for at, selector in enumerate(selectors):
            field = f"aggregationRule.clusterRoleSelectors[{at}]"
            yield from label_selector(selector, field)
            if not usable(selector):
                yield wrong(field, None, "invalid label selector.")


def _rule(rule: Object, path: str, namespaced: bool) -> Causes:
    if not rule.get("verbs"):
        yield required(f"{path}.verbs", "verbs must contain at least one value")
    if rule.get("nonResourceURLs"):
        if namespaced:
            why = "namespaced rules cannot apply to non-resource URLs"
            yield wrong(f"{path}.nonResourceURLs", rule["nonResourceURLs"], why)
        if any(rule.get(key) for key in ("apiGroups", "resources", "resourceNames")):
            why = "rules cannot apply to both regular resources and non-resource URLs"
            yield wrong(f"{path}.nonResourceURLs", rule["nonResourceURLs"], why)
        return
    if not rule.get("apiGroups"):
        yield required(f"{path}.apiGroups", "resource rules must supply at least one api group")
    if not rule.get("resources"):
        yield required(f"{path}.resources", "resource rules must supply at least one resource")


def role_binding(obj: Object, old: Object | None) -> Causes:
    """What is wrong with the grant of a role in one namespace."""
    yield from _binding(obj, old, ("Role", "ClusterRole"), namespaced=True)


def cluster_role_binding(obj: Object, old: Object | None) -> Causes:
    """What is wrong with the grant of a role in the whole cluster."""
    yield from _binding(obj, old, ("ClusterRole",), namespaced=False)


def _binding(obj: Object, old: Object | None, kinds: tuple[str, ...], namespaced: bool) -> Causes:
    reference = obj.get("roleRef") or {}
    if reference.get("apiGroup") != GROUP:
        yield unsupported("roleRef.apiGroup", reference.get("apiGroup", ""), (GROUP,))
    if reference.get("kind") not in kinds:
        yield unsupported("roleRef.kind", reference.get("kind", ""), kinds)
    if reference.get("name"):
        yield from named(reference["name"], "roleRef.name", names.path_segment)
    else:
        yield required("roleRef.name")
    for at, subject in enumerate(obj.get("subjects") or ()):
        yield from _subject(subject, f"subjects[{at}]", namespaced)
    if old and reference != old.get("roleRef"):
        yield wrong("roleRef", reference, "cannot change roleRef")


def _subject(subject: Object, path: str, namespaced: bool) -> Causes:
    kind, group = subject.get("kind", ""), subject.get("apiGroup", "")
    if not subject.get("name"):
        yield required(f"{path}.name")
    if kind == "ServiceAccount":
        if subject.get("name"):
            yield from named(subject["name"], f"{path}.name", names.subdomain)
        if group:
            yield unsupported(f"{path}.apiGroup", group, ("",))
        if not subject.get("namespace") and not namespaced:
            yield required(f"{path}.namespace")
    elif kind in KINDS:
        if group != GROUP:
            yield unsupported(f"{path}.apiGroup", group, (GROUP,))
    else:
        yield unsupported(f"{path}.kind", kind, KINDS)


CHECKS = {
    "roles.rbac.authorization.k8s.io": role,
    "clusterroles.rbac.authorization.k8s.io": cluster_role,
    "rolebindings.rbac.authorization.k8s.io": role_binding,
    "clusterrolebindings.rbac.authorization.k8s.io": cluster_role_binding,
}
