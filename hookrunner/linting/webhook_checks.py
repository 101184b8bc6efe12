"""Checks of hooks for reviews: failure policies that block more than intended, rules that nothing fulfils, conditions
that the API server would refuse; and of changes that a hook asks for where every run with them fails."""

import re
from collections.abc import Iterator

from hookrunner.linting.findings import Remark
from hookrunner.linting.hook_source import Source
from hookrunner.model.bindings import Admission, HookConfig
from kubetypes import cel, match_conditions
from kubetypes.cel import WrongExpression
from kubetypes.json_values import JSON

_CHANGES = re.compile(r"\bKUBERNETES_PATCH_PATH\b")
_LASTING = re.compile(
    r"\bCONFIG_VALUES_JSON_PATCH_PATH\b|\bconfigValuesPatch\b|\bconfig_values\.(set|remove|test)\b"
    r"|\bvalues::(un)?set +--config\b"
)
# What our library lacks and the API server has looks like this.
_UNSURE = ("undeclared reference", "found no matching overload")
_MEND = "leave its namespace out by namespace.labelSelector or matchConditions, or set failurePolicy: Ignore"


def check_webhooks(source: Source, config: HookConfig) -> Iterator[Remark]:
    """Remarks on a text and what it declares."""
    yield from _changes(source, config)
    for binding in (*config.validating, *config.mutating):
        yield from _blocks(source, binding)
        yield from _unasked(source, binding)
        yield from _conditions(source, binding)


def _changes(source: Source, config: HookConfig) -> Iterator[Remark]:
    """Remarks on refused patches. With other bindings as well it is not known in which runs a hook asks for changes."""
    reviews = len(config.validating) + len(config.mutating) + len(config.conversions)
    asks = config.settings.on_review_patches == "refuse" and _CHANGES.search(source.code)
    if asks and reviews == config.count:
        text = "the hook is run for reviews only, and asks for changes of objects, which its own onReviewPatches "
        yield Remark("patches-refused", source.find("KUBERNETES_PATCH_PATH"), f"{text}refuses: such a review fails")


def check_config_patches(source: Source) -> Iterator[Remark]:
    """Remarks on a hook of an addon that asks for changes of the config; its runs fail by
    `model.hook_runs.Run.require_permitted`."""
    if asks := _LASTING.search(source.code):
        text = "hooks of addons cannot change the config, and a run that asks for it fails"
        mend = "patch `spec` of the instance as an object, or the values in memory"
        yield Remark("config-refused", source.find(asks[0]), f"{text}; {mend}")


def _blocks(source: Source, binding: Admission) -> Iterator[Remark]:
    narrowed = binding.namespace_selector or binding.object_selector or binding.match_conditions
    if binding.failure_policy == "Fail" and not narrowed and any(map(_makes_pods, binding.rules)):
        text = f"no pod is made without an answer of '{binding.name}', hookrunner's own neither: once it is away, it "
        yield Remark("blocks-itself", source.find(binding.name), f"{text}cannot come back; {_MEND}")


def _unasked(source: Source, binding: Admission) -> Iterator[Remark]:
    if not binding.rules:
        text = f"'{binding.name}' has no rules: the API server never asks it; add the rules for which it is asked"
        yield Remark("never-asked", source.find(binding.name), text)
    for resource in (resource for rule in binding.rules for resource in rule["resources"]):
        if resource != resource.lower():
            text = f"resources of '{binding.name}': no resource is called '{resource}', so the API server never asks"
            mend = "write the plural in lower case, as `kubectl api-resources` shows it: pods, networkpolicies"
            yield Remark("never-asked", source.find(resource, binding.name), f"{text}; {mend}")


def _makes_pods(rule: JSON) -> bool:
    wanted = {"apiGroups": ("", "*"), "apiVersions": ("v1", "*"), "operations": ("CREATE", "*")}
    return (
        all(set(rule[key]) & set(values) for key, values in wanted.items())
        and bool(set(rule["resources"]) & {"pods", "pods/*", "*", "*/*"})
        and rule.get("scope") != "Cluster"
    )


def _conditions(source: Source, binding: Admission) -> Iterator[Remark]:
    """With the extra `cel` only; and only what is wrong in every implementation of the language."""
    for condition in binding.match_conditions if cel.available() else ():
        try:
            match_conditions.compiled(condition["expression"])
        except WrongExpression as error:
            if not any(words in str(error) for words in _UNSURE):
                text = f"matchConditions: '{condition['name']}' of '{binding.name}': {error}: the API server takes no "
                offset = source.find(condition["expression"], condition["name"])
                yield Remark("condition-wrong", offset, f"{text}webhook of any hook with it")
