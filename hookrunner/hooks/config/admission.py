"""The API server's rules for webhooks, checked when a hook is loaded instead of when it is registered.

shell-operator checks validating bindings only; the API server refuses the same things in
mutating ones, so both are checked here. Source of the rules:
https://kubernetes.io/docs/reference/access-authn-authz/extensible-admission-controllers/
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence

from hookrunner.errors import BadSelector
from hookrunner.hooks.config import selectors
from hookrunner.hooks.shapes import Problem
from hookrunner.model.bindings import HookConfig
from hookrunner.model.reviews import webhook_name
from kubetypes.json_values import JSON

_MOST_CONDITIONS = 64
_LABEL = r"[a-z0-9](?:[-a-z0-9]*[a-z0-9])?"
_QUALIFIED = re.compile(rf"(?=.{{1,253}}\Z){_LABEL}(?:\.{_LABEL}){{2,}}")

_SUBDOMAIN = rf"{_LABEL}(?:\.{_LABEL})*"
_CONDITION = re.compile(rf"(?:(?=.{{1,253}}/){_SUBDOMAIN}/)?(?=.{{1,63}}\Z)[A-Za-z0-9](?:[-A-Za-z0-9_.]*[A-Za-z0-9])?")


def problems(path: str, binding: JSON) -> Iterator[Problem]:
    """What the API server would refuse about one binding whose shape is right."""
    if "name" in binding and not _QUALIFIED.fullmatch(binding["name"]):
        text = (
            f"'{binding['name']}' is not a fully qualified name; write at least three lower-case parts: a.example.com"
        )
        yield Problem(f"{path}.name", text)
    for place, rule in enumerate(binding.get("rules", [])):
        yield from _rule(f"{path}.rules[{place}]", rule)
    yield from label_selector(f"{path}.labelSelector", binding.get("labelSelector"))
    yield from label_selector(f"{path}.namespace.labelSelector", binding.get("namespace", {}).get("labelSelector"))
    yield from _conditions(f"{path}.matchConditions", binding.get("matchConditions", []))


def misnamed(config: HookConfig, addon: str) -> Iterator[str]:
    """Webhooks of a module's hook that cannot be registered under their names, which the module's comes before. One
    such would keep all others from being registered."""
    for binding in (*config.validating, *config.mutating):
        if not _QUALIFIED.fullmatch(name := webhook_name(binding.name, addon)):
            text = f"is to be registered as '{name}', which the API server takes for no name; rename it or the module"
            yield f"the webhook '{binding.name}' {text}"


def conversion(path: str, binding: JSON) -> Iterator[Problem]:
    """What no CustomResourceDefinition can be called. Of its versions, those may be missing yet."""
    crd = binding.get("crdName")
    if crd is not None and ("." not in crd or not re.fullmatch(_SUBDOMAIN, crd)):
        text = f"'{crd}' is not the name of a CustomResourceDefinition; write PLURAL.GROUP: crontabs.stable.example.com"
        yield Problem(f"{path}.crdName", text)
    for place, rule in enumerate(binding.get("conversions", [])):
        if rule["fromVersion"] == rule["toVersion"]:
            text = f"leads from '{rule['toVersion']}' to itself; write two versions"
            yield Problem(f"{path}.conversions[{place}]", text)


def repeated_names(path: str, names: Sequence[str]) -> Iterator[Problem]:
    """Names of webhooks must be unique within a hook."""
    for name, count in Counter(names).items():
        if name and count > 1:
            yield Problem(path, f"has {count} bindings named '{name}'; names must be unique, rename all but one")


def label_selector(path: str, selector: JSON) -> Iterator[Problem]:
    """A selector that is there and that the API server would refuse."""
    try:
        selectors.labels(selector or {})
    except BadSelector as error:
        yield Problem(path, f"is invalid: {error}", error.value)


def _conditions(path: str, conditions: Sequence[JSON]) -> Iterator[Problem]:
    """Whether their expressions compile is a question of the linter: not everybody has CEL."""
    if len(conditions) > _MOST_CONDITIONS:
        yield Problem(path, f"has {len(conditions)} items, and {_MOST_CONDITIONS} are the most; join some by &&")
    seen = set[str]()
    for place, condition in enumerate(conditions):
        name = condition["name"]
        if not _CONDITION.fullmatch(name):
            text = f"'{name}' is not a name of letters, digits, '-', '_' and '.'; write for example exclude-leases"
            yield Problem(f"{path}[{place}].name", text)
        if name in seen:
            yield Problem(f"{path}[{place}].name", f"'{name}' is the name of an earlier one; rename it")
        seen.add(name)
        if not condition["expression"].strip():
            yield Problem(f"{path}[{place}].expression", "is empty; write a CEL expression, or drop the condition")


def _rule(path: str, rule: JSON) -> Iterator[Problem]:
    for key in ("apiGroups", "apiVersions", "operations"):
        if "*" in rule[key] and len(rule[key]) > 1:
            yield Problem(f"{path}.{key}", "is invalid: '*' must stand alone; drop it or the others")
    for key in ("apiVersions", "resources"):
        if "" in rule[key]:
            yield Problem(f"{path}.{key}", "is invalid: an empty text names nothing; drop it or write '*'")
    yield from (Problem(f"{path}.resources", f"is invalid: {text}") for text in _resources(rule["resources"]))


def _resources(resources: Sequence[str]) -> Iterator[str]:
    if "*/*" in resources and len(resources) > 1:
        yield "'*/*' must stand alone; drop it or the others"
    if "*" in resources and any("/" not in item and item != "*" for item in resources):
        yield "'*' already means every resource without a subresource; drop it or the others"
    for place, item in enumerate(resources):
        resource, slash, subresource = item.partition("/")
        for wild in (f"{resource}/*", f"*/{subresource}"):
            if slash and item != "*/*" and wild in resources[:place]:
                yield f"'{wild}' already covers '{item}'; drop one of them"
