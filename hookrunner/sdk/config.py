"""A hook's configuration from keywords: keys in snake case, shorter words for common ones, selectors as kubectl writes
them. A test compares the keys with the program's own (`hooks/config/schema.py`)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

JSON = Any

_ADMISSION = """name rules failurePolicy sideEffects timeoutSeconds matchConditions labelSelector namespace group
    includeSnapshotsFrom"""
KEYS: Mapping[str, str] = {
    "settings": """executionMinInterval executionBurst timeout combine onFailure maxAttempts onDryRun onReviewPatches
        fork permissions resident queues""",
    "kubernetes": """name kind apiVersion executeHookOnEvent watchEvent executeHookOnSynchronization
        waitForSynchronization synchronizeEachObject optional keepFullObjectsInMemory jqFilter nameSelector
        labelSelector fieldSelector namespace allowFailure resynchronizationPeriod queue group includeSnapshotsFrom""",
    "schedule": "name crontab timezone allowFailure queue group includeSnapshotsFrom",
    "kubernetesValidating": _ADMISSION,
    "kubernetesMutating": f"{_ADMISSION} reinvocationPolicy",
    "kubernetesCustomResourceConversion": "name crdName conversions group includeSnapshotsFrom",
}
"""The keys of each part of the configuration."""

SHORT = {
    "events": "executeHookOnEvent",
    "synchronization": "executeHookOnSynchronization",
    "names": "nameSelector",
    "namespaces": "namespace",
    "namespace_selector": "namespace",
}
"""Shorter words, each with its key."""
_ONLY_OBJECTS = "namespaces"
"""The word that reviews do not have: of their namespaces only labels can be selected."""
_LABEL_OPERATORS = ((" notin ", "NotIn"), (" in ", "In"), ("!=", "NotIn"), ("==", "In"), ("=", "In"))


def nearest(word: str, known: Iterable[str]) -> str:
    """`; did you mean …?`, or all there are."""
    import difflib  # takes longer than the rest of this package, and only mistakes need it

    words = list(known)
    found = difflib.get_close_matches(word, words, 1)
    return f"; did you mean '{found[0]}'?" if found else f"; there are {', '.join(words)}"


def to_part(part: str, given: Mapping[str, JSON]) -> dict[str, JSON]:
    """Keywords as a part of the configuration. Raises TypeError for one that it does not have."""
    keys = KEYS[part].split()
    short = {word: key for word, key in SHORT.items() if key in keys}
    if part != "kubernetes":
        short.pop(_ONLY_OBJECTS, None)
    by_word = {_snake(key): key for key in keys} | short
    found = {}
    for word, value in given.items():
        if word not in by_word:
            raise TypeError(f"'{word}' is no keyword of {part}{nearest(word, by_word)}")
        found[by_word[word]] = _to_value(word, value)
    return found


def to_kind(kind: str) -> dict[str, str]:
    """`apps/v1/Deployment`, `v1/Secret` or `Secret` as the keys of a binding and of an object."""
    version, _, last = kind.rpartition("/")
    return {**({"apiVersion": version} if version else {}), "kind": last}


def _snake(key: str) -> str:
    return "".join("_" + letter.lower() if letter.isupper() else letter for letter in key)


def _to_value(word: str, value: JSON) -> JSON:
    if word == "names":
        return {"matchNames": list(value)}
    if word == "namespaces":
        return {"nameSelector": {"matchNames": list(value)}}
    if word == "namespace_selector":
        return {"labelSelector": _to_value("label_selector", value)}
    if word == "label_selector" and isinstance(value, str):
        return {"matchExpressions": [_label_rule(rule.strip()) for rule in _split(value)]}
    if word == "field_selector" and isinstance(value, str):
        return {"matchExpressions": [_field_rule(rule.strip()) for rule in value.split(",")]}
    return value


def _split(selector: str) -> list[str]:
    """At commas outside of parentheses."""
    parts, depth = [""], 0
    for letter in selector:
        depth += {"(": 1, ")": -1}.get(letter, 0)
        if letter == "," and not depth:
            parts.append("")
        else:
            parts[-1] += letter
    return parts


def _label_rule(rule: str) -> dict[str, JSON]:
    """Source: https://kubernetes.io/docs/concepts/overview/working-with-objects/labels/#label-selectors"""
    for sign, operator in _LABEL_OPERATORS:
        key, found, values = rule.partition(sign)
        if found:
            return {"key": key.strip(), "operator": operator, "values": [_word(one) for one in values.split(",")]}
    return {"key": rule.lstrip("! "), "operator": "DoesNotExist" if rule.startswith("!") else "Exists"}


def _word(text: str) -> str:
    return text.strip().strip("()").strip()


def _field_rule(rule: str) -> dict[str, JSON]:
    for sign, operator in (("!=", "NotEquals"), ("==", "Equals"), ("=", "Equals")):
        field, found, value = rule.partition(sign)
        if found:
            return {"field": field.strip(), "operator": operator, "value": value.strip()}
    raise ValueError(f"'{rule}' is no field selector; write one like status.phase=Running")
