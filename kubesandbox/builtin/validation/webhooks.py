"""Webhook configurations and admission policies, https://kubernetes.io/docs/reference/access-authn-authz/extensible-admission-controllers/."""

from urllib.parse import urlsplit

from kubesandbox import names
from kubesandbox.builtin.validation.common import (
    Causes,
    Object,
    given,
    given_and_named,
    label_selector,
    named,
    one_of,
)
from kubesandbox.status import duplicate, required, unsupported, wrong

REVIEWS = ("v1", "v1beta1")
ACTIONS = ("Audit", "Deny", "Warn")
OPERATIONS = ("*", "CONNECT", "CREATE", "DELETE", "UPDATE")
SCOPES = ("*", "Cluster", "Namespaced")
WITHOUT_EFFECTS = ("None", "NoneOnDryRun")
LONGEST_TIMEOUT = 30
ONE_REQUIRED = "exactly one of url or service is required"


def configuration(obj: Object, old: Object | None) -> Causes:
    """Webhooks, validating or mutating."""
    seen = set()
    for at, hook in enumerate(obj.get("webhooks") or ()):
        yield from _webhook(hook, f"webhooks[{at}]", mutating=obj["kind"].startswith("Mutating"))
        if hook.get("name", "") in seen:
            yield duplicate(f"webhooks[{at}].name", hook.get("name", ""))
        seen.add(hook.get("name", ""))


def _webhook(hook: Object, path: str, mutating: bool) -> Causes:
    yield from _full_name(hook.get("name", ""), f"{path}.name")
    yield from label_selector(hook.get("namespaceSelector"), f"{path}.namespaceSelector")
    yield from label_selector(hook.get("objectSelector"), f"{path}.objectSelector")
    if hook.get("sideEffects") not in WITHOUT_EFFECTS:
        field = f"{path}.sideEffects"
        if hook.get("sideEffects") is None:
            yield required(field, f"must specify one of {', '.join(WITHOUT_EFFECTS)}")
        else:
            yield unsupported(field, hook["sideEffects"], WITHOUT_EFFECTS)
    if not 1 <= hook.get("timeoutSeconds", 10) <= LONGEST_TIMEOUT:
        why = "the timeout value must be between 1 and 30 seconds"
        yield wrong(f"{path}.timeoutSeconds", hook["timeoutSeconds"], why)
    yield from client(hook.get("clientConfig") or {}, f"{path}.clientConfig")
    yield from review_versions(hook.get("admissionReviewVersions") or [], f"{path}.admissionReviewVersions")
    for at, rule in enumerate(hook.get("rules") or ()):
        yield from rule_problems(rule, f"{path}.rules[{at}]")
    yield from _conditions(hook.get("matchConditions") or [], f"{path}.matchConditions")
    yield from one_of(hook.get("failurePolicy"), f"{path}.failurePolicy", ("Fail", "Ignore"), needed=False)
    yield from one_of(hook.get("matchPolicy"), f"{path}.matchPolicy", ("Equivalent", "Exact"), needed=False)
    if mutating:
        policies = ("IfNeeded", "Never")
        yield from one_of(hook.get("reinvocationPolicy"), f"{path}.reinvocationPolicy", policies, needed=False)


def _conditions(said: list[Object], path: str) -> Causes:
    """Their expressions are compiled elsewhere (`kubesandbox/webhooks/`)."""
    for at, one in enumerate(said):
        yield from given(one.get("expression"), f"{path}[{at}].expression")
        yield from given_and_named(one.get("name"), f"{path}[{at}].name", names.qualified)
        if one.get("name") and one["name"] in [before.get("name") for before in said[:at]]:
            yield duplicate(f"{path}[{at}].name", one["name"])


def _full_name(name: str, field: str) -> Causes:
    if not name:
        yield required(field)
    elif names.subdomain(name):
        yield wrong(field, name, ",".join(names.subdomain(name)))
    elif name.count(".") < 2:
        yield wrong(field, name, "should be a domain with at least three segments separated by dots")


def review_versions(versions: list[str], field: str, why: str = f"must specify one of {', '.join(REVIEWS)}") -> Causes:
    """What is wrong with the versions of reviews that a webhook takes; `why` is the message for an empty list."""
    if not versions:
        yield required(field, why)
        return
    seen = set()
    for at, one in enumerate(versions):
        if one in seen:
            yield wrong(f"{field}[{at}]", one, "duplicate version")
        seen.add(one)
        yield from named(one, f"{field}[{at}]", names.old_label)
    if not set(versions) & set(REVIEWS):
        why = f"must include at least one of {', '.join(REVIEWS)}"
        yield wrong(field, versions, why)


def client(config: Object, path: str) -> Causes:
    """What is wrong with a `clientConfig`."""
    url, service = config.get("url"), config.get("service")
    if (url is None) == (service is None):
        yield required(path, ONE_REQUIRED)
    elif url is not None:
        yield from _url(url, f"{path}.url")
    elif service is not None:
        for key, told in (("namespace", "name"), ("name", "namespace")):  # the API mixes them up
            yield from given(service.get(key), f"{path}.service.{told}")
        if not 1 <= service.get("port", 443) <= 65535:
            why = "port is not valid: must be between 1 and 65535, inclusive"
            yield wrong(f"{path}.service.port", service["port"], why)
        yield from _path(service.get("path") or "/", f"{path}.service.path")


def _path(path: str, field: str) -> Causes:
    if path == "/":
        return
    if not path.startswith("/"):
        yield wrong(field, path, "must start with a '/'")
    steps = path[1:].removesuffix("/").split("/") if path != "//" else [""]
    for at, step in enumerate(steps):
        if not step:
            yield wrong(field, path, f"segment[{at}] may not be empty")
        for said in names.subdomain(step) if step else ():
            yield wrong(field, path, f"segment[{at}]: {said}")


def _url(url: str, field: str) -> Causes:
    form = "; desired format: https://host[/path]"
    parts = urlsplit(url)
    if parts.scheme != "https":
        yield wrong(field, parts.scheme, f"'https' is the only allowed URL scheme{form}")
    if not parts.netloc:
        yield wrong(field, parts.netloc, f"host must be specified{form}")
    if parts.username is not None:
        yield wrong(field, parts.username, "user information is not permitted in the URL")
    if parts.fragment:
        yield wrong(field, parts.fragment, "fragments are not permitted in the URL")
    if parts.query:
        yield wrong(field, parts.query, "query parameters are not permitted in the URL")


def rule_problems(rule: Object, path: str) -> Causes:
    """What is wrong with a rule of which requests are meant."""
    for key in ("apiGroups", "apiVersions", "resources"):
        values = rule.get(key) or []
        yield from given(values, f"{path}.{key}")
        if len(values) > 1 and "*" in values and key != "resources":
            yield wrong(f"{path}.{key}", values, "if '*' is present, must not specify other " + WORDS[key])
    for at, version in enumerate(rule.get("apiVersions") or ()):
        yield from given(version, f"{path}.apiVersions[{at}]")
    for at, resource in enumerate(rule.get("resources") or ()):
        yield from given(resource, f"{path}.resources[{at}]")
    operations = rule.get("operations") or []
    yield from given(operations, f"{path}.operations")
    if len(operations) > 1 and "*" in operations:
        yield wrong(f"{path}.operations", operations, "if '*' is present, must not specify other operations")
    for at, one in enumerate(operations):
        if one not in OPERATIONS:
            yield unsupported(f"{path}.operations[{at}]", one, OPERATIONS)
    yield from one_of(rule.get("scope"), f"{path}.scope", SCOPES, needed=False)


WORDS = {"apiGroups": "API groups", "apiVersions": "API versions"}


def policy(obj: Object, old: Object | None) -> Causes:
    """A policy in CEL. Its expressions are not compiled here."""
    spec = obj.get("spec") or {}
    constraints = spec.get("matchConstraints")
    if constraints is None:
        yield required("spec.matchConstraints")
    else:
        rules = constraints.get("resourceRules") or []
        yield from given(rules, "spec.matchConstraints.resourceRules")
        for at, rule in enumerate(rules):
            yield from rule_problems(rule, f"spec.matchConstraints.resourceRules[{at}]")
    if obj["kind"].startswith("Mutating"):
        return
    if not spec.get("validations") and not spec.get("auditAnnotations"):
        for key in ("validations", "auditAnnotations"):
            yield required(f"spec.{key}", "validations or auditAnnotations must contain at least one item")
    for at, one in enumerate(spec.get("validations") or ()):
        yield from given(one.get("expression"), f"spec.validations[{at}].expression", "expression is not specified")


def policy_binding(obj: Object, old: Object | None) -> Causes:
    """Where a policy holds."""
    spec = obj.get("spec") or {}
    yield from given_and_named(spec.get("policyName"), "spec.policyName", names.subdomain)
    if obj["kind"].startswith("Mutating"):
        return
    actions = spec.get("validationActions") or []
    yield from given(actions, "spec.validationActions", "at least one validation action is required")
    for at, one in enumerate(actions):
        if one not in ACTIONS:
            yield unsupported(f"spec.validationActions[{at}]", one, ACTIONS)
        if one in actions[:at]:
            yield duplicate(f"spec.validationActions[{at}]", one)


CHECKS = {
    "validatingadmissionpolicies.admissionregistration.k8s.io": policy,
    "validatingadmissionpolicybindings.admissionregistration.k8s.io": policy_binding,
    "mutatingadmissionpolicies.admissionregistration.k8s.io": policy,
    "mutatingadmissionpolicybindings.admissionregistration.k8s.io": policy_binding,
    "validatingwebhookconfigurations.admissionregistration.k8s.io": configuration,
    "mutatingwebhookconfigurations.admissionregistration.k8s.io": configuration,
}
