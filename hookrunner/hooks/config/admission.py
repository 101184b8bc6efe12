"""The API server's rules for admission webhooks, checked when a hook is loaded instead of when it is registered.

shell-operator checks validating bindings only (shell-operator.md §2.4); the API server refuses the same things in
mutating ones, so both are checked here. Source of the rules:
https://kubernetes.io/docs/reference/access-authn-authz/extensible-admission-controllers/
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence

from hookrunner.errors import BadSelector
from hookrunner.hooks.config import selectors
from hookrunner.hooks.shapes import Problem
from hookrunner.model.resources import JSON

_LABEL = r"[a-z0-9](?:[-a-z0-9]*[a-z0-9])?"
_QUALIFIED = re.compile(rf"(?=.{{1,253}}\Z){_LABEL}(?:\.{_LABEL}){{2,}}")


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
        yield Problem(path, f"is invalid: {error}")


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
