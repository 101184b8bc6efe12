"""Rules in CEL (`x-kubernetes-validations`): are they said rightly?

https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definitions/#validation-rules
"""

from collections.abc import Iterator

from hookrunner.model.resources import JSON
from hookrunner.sandbox.status import Cause, required, unsupported, wrong
from hookrunner.sandbox.structural import paths

KEY = "x-kubernetes-validations"
REASONS = ("FieldValueDuplicate", "FieldValueForbidden", "FieldValueInvalid", "FieldValueRequired")


def problems(schema: JSON, field: str) -> Iterator[Cause]:
    """What is wrong with the rules of one schema."""
    for index, said in enumerate(schema.get(KEY) or ()):
        yield from _said(said, schema, f"{field}.{KEY}[{index}]")


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


def _leads(path: str, schema: JSON) -> bool:
    try:
        paths.followed(path, schema)
    except paths.WrongPath:
        return False
    return True


def _broken(text: str) -> bool:
    return "\n" in text or "\r" in text
