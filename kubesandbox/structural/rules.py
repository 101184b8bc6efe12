"""Rules in CEL (`x-kubernetes-validations`): are they said rightly, and can the sandbox evaluate them?

https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definitions/#validation-rules
"""

import re
from collections.abc import Iterator

from kubesandbox.status import Cause, required, unsupported, wrong
from kubesandbox.structural import paths
from kubetypes import cel, kubernetes_cel
from kubetypes.json_values import JSON

CANNOT = "the sandbox cannot evaluate this rule"
TIMES = ("date", "date-time", "duration")
KEY = "x-kubernetes-validations"
REASONS = ("FieldValueDuplicate", "FieldValueForbidden", "FieldValueInvalid", "FieldValueRequired")


def problems(schema: JSON, field: str) -> Iterator[Cause]:
    """What is wrong with the rules of one schema."""
    for index, said in enumerate(schema.get(KEY) or ()):
        wrongly_said = list(_said(said, schema, f"{field}.{KEY}[{index}]"))
        yield from wrongly_said or _compiled(said, schema, f"{field}.{KEY}[{index}]")


def _said(rule: JSON, schema: JSON, field: str) -> Iterator[Cause]:
    expression, message = (rule.get("rule") or "").strip(), rule.get("message") or ""
    if not expression:
        yield required(f"{field}.rule", "rule is not specified")
    elif message and not message.strip():
        yield wrong(f"{field}.message", message, "must be non-empty if specified")
    elif _broken(message.strip()):
        yield wrong(f"{field}.message", message, "must not contain line breaks")
    elif _broken(expression) and not message.strip():
        yield required(f"{field}.message", "message must be specified if rule contains line breaks")
    if rule.get("messageExpression") and not rule["messageExpression"].strip():
        yield required(f"{field}.messageExpression", "messageExpression must be non-empty if specified")
    if rule.get("reason") is not None and rule["reason"] not in REASONS:
        yield unsupported(f"{field}.reason", rule["reason"], REASONS)
    if rule.get("fieldPath") and not rule["fieldPath"].strip():
        yield wrong(f"{field}.fieldPath", rule["fieldPath"], "must be non-empty if specified")
    if _broken(rule.get("fieldPath") or ""):
        yield wrong(f"{field}.fieldPath", rule["fieldPath"], "must not contain line breaks")
    if rule.get("fieldPath") and not _leads(rule["fieldPath"], schema):
        yield wrong(f"{field}.fieldPath", rule["fieldPath"], "must be a valid path")


def unevaluated(schema: JSON, field: str) -> Iterator[str]:
    """The paths of rules that are not evaluated, because the library is not installed."""
    if cel.available():
        return
    if schema.get(KEY):
        yield field
    for key, inner in (schema.get("properties") or {}).items():
        yield from unevaluated(inner, f"{field}.{key}" if field else key)
    for key, mark in (("items", "[*]"), ("additionalProperties", ".*")):
        if isinstance(schema.get(key), dict):
            yield from unevaluated(schema[key], f"{field}{mark}")


def _compiled(rule: JSON, schema: JSON, field: str) -> Iterator[Cause]:
    """What the sandbox cannot evaluate."""
    if not cel.available():
        return
    for key in ("rule", "messageExpression"):
        text = rule.get(key) or ""
        if text and (why := _why_not(text, schema)):
            yield wrong(f"{field}.{key}", text, f"{CANNOT}: {why}")
    if rule.get("optionalOldSelf"):
        yield wrong(f"{field}.optionalOldSelf", True, f"{CANNOT}: optionalOldSelf is not supported")


def _why_not(text: str, schema: JSON) -> str:
    try:
        kubernetes_cel.compiled_rule(text)
    except cel.WrongExpression as error:
        return str(error)
    times = sorted(name for name in _times(schema, "self") if re.search(rf"\b{re.escape(name)}\b", text))
    return f"it speaks of a time ({times[0]}), which the CEL library cannot be given" if times else ""


def _times(schema: JSON, name: str) -> Iterator[str]:
    """The names of fields that are points or spans of time in CEL."""
    if schema.get("format") in TIMES:
        yield name
    for key, inner in (schema.get("properties") or {}).items():
        yield from _times(inner, key)
    for key in ("items", "additionalProperties"):
        if isinstance(schema.get(key), dict):
            yield from _times(schema[key], name)


def _leads(path: str, schema: JSON) -> bool:
    try:
        paths.followed(path, schema)
    except paths.WrongPath:
        return False
    return True


def _broken(text: str) -> bool:
    return "\n" in text or "\r" in text
