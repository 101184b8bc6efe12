"""Rules in CEL (`x-kubernetes-validations`): whether a definition states them correctly and the sandbox can evaluate
them, and what they find wrong with an object.

https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definitions/#validation-rules
"""

import re
from collections.abc import Iterator
from typing import NamedTuple

import orjson

from kubesandbox.status import Cause, required, shown, unsupported, wrong
from kubesandbox.structural import paths
from kubesandbox.structural.complaints import NOWHERE, value_shown
from kubetypes import cel, kubernetes_cel
from kubetypes.cel import CompiledRule, NoValue
from kubetypes.json_values import JSON

CANNOT = "the sandbox cannot evaluate this rule"
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
    if schema.get("format") in kubernetes_cel.TIMES:
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


# ── evaluation ────────────────────────────────────────────────────────────────────────────────────────────────────────

# Objects against their rules in CEL: what is wrong with them, in the rules' own words.
#
# https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definitions/#validation-rules


BLOCKING = ("NotSupported", "Required", "TooLong", "TooMany", "TypeInvalid")
SKIPPED = Cause(
    "FieldValueInvalid",
    "Invalid value: null: some validation rules were not checked because the object was invalid; correct the existing"
    " errors to complete validation",
    NOWHERE,
)
LONGEST_MESSAGE = 5 * 1024


class _Rule(NamedTuple):
    said: JSON
    test: CompiledRule
    message: CompiledRule | None
    place: str


class Rules:
    """The rules of a schema, and of what is inside of it. Made once, then `problems` for each object."""

    def __init__(self, raw: JSON) -> None:
        self._raw = raw
        self._rules = [_rule(said, raw) for said in raw.get(KEY) or ()]
        self._keys = (raw.get("x-kubernetes-list-map-keys") or ()) if raw.get("x-kubernetes-list-type") == "map" else ()
        inner = {key: Rules(place) for key, place in (raw.get("properties") or {}).items()}
        self._properties = {key: rules for key, rules in inner.items() if rules.matter}
        self._additional = _inside(raw.get("additionalProperties"))
        self._items = _inside(raw.get("items"))

    @property
    def matter(self) -> bool:
        """Whether there is any rule."""
        return bool(self._rules or self._properties or self._additional or self._items)

    def problems(self, value: JSON, old: JSON, path: str = "", changed: bool = True) -> Iterator[Cause]:
        """What is wrong with a value. `old` is None without an old value, or where it cannot be found.

        `changed` is about what the value stands in; it counts where the old value cannot be found.
        """
        if value is None:
            return
        changed = changed if old is None else _written(value) != _written(old)
        for rule in self._rules:
            if old is not None or not rule.test.uses_old:
                yield from self._evaluated(rule, value, old, path, changed)
        if isinstance(value, dict):
            yield from self._of_object(value, old, path, changed)
        elif isinstance(value, list) and self._items is not None:
            olds = {self._key(one): one for one in old} if self._keys and isinstance(old, list) else {}
            for index, one in enumerate(value):
                yield from self._items.problems(one, olds.get(self._key(one)), f"{path}[{index}]", changed)

    def _of_object(self, value: JSON, old: JSON, path: str, changed: bool) -> Iterator[Cause]:
        olds = old if isinstance(old, dict) and self._raw.get("x-kubernetes-map-type") != "atomic" else {}
        for key, inner in value.items():
            if key in self._properties:
                below = f"{path}.{key}" if path else key
                yield from self._properties[key].problems(inner, olds.get(key), below, changed)
            elif self._additional is not None:
                yield from self._additional.problems(inner, olds.get(key), f"{path}[{key}]", changed)

    def _key(self, element: JSON) -> bytes:
        held = element if isinstance(element, dict) else {}
        return orjson.dumps([held.get(key) for key in self._keys])

    def _evaluated(self, rule: _Rule, value: JSON, old: JSON, path: str, changed: bool) -> Iterator[Cause]:
        bound, before = kubernetes_cel.cel_value(value, self._raw), kubernetes_cel.cel_value(old, self._raw)
        kind = self._raw.get("type", "")
        try:
            if kubernetes_cel.rule_value(rule.test, bound, before) is True:
                return
        except NoValue as error:
            yield Cause("FieldValueInvalid", f"Invalid value: {shown(kind)}: {_told(error, rule)}", path or NOWHERE)
            return
        if rule.test.uses_old or changed:
            where = ".".join(filter(None, (path, rule.place)))
            whole = kind in ("object", "array")
            yield _refused(rule, None if whole else value_shown(value), _message(rule, bound, before), where)


def blocked(causes: list[Cause]) -> bool:
    """Whether an object is so wrong that its rules are not asked."""
    return any(cause.reason.removeprefix("FieldValue") in BLOCKING for cause in causes)


def _inside(raw: JSON) -> Rules | None:
    rules = Rules(raw) if isinstance(raw, dict) else None
    return rules if rules is not None and rules.matter else None


def _rule(said: JSON, raw: JSON) -> _Rule:
    message = said.get("messageExpression")
    place = paths.shown(paths.followed(said["fieldPath"], raw)[0]) if said.get("fieldPath") else ""
    return _Rule(
        said,
        kubernetes_cel.compiled_rule(said["rule"]),
        kubernetes_cel.compiled_rule(message) if message else None,
        place,
    )


def _refused(rule: _Rule, value: str | None, message: str, where: str) -> Cause:
    """A rule that does not hold, by its `reason`."""
    reason = rule.said.get("reason") or "FieldValueInvalid"
    shown_value = "" if value is None else f": {value}"
    texts = {
        "FieldValueForbidden": f"Forbidden: {message}",
        "FieldValueRequired": f"Required value: {message}",
        "FieldValueDuplicate": f"Duplicate value{shown_value}",
        "FieldValueInvalid": f"Invalid value{shown_value}: {message}",
    }
    return Cause(reason, texts[reason], where or NOWHERE)


def _told(error: NoValue, rule: _Rule) -> str:
    said = (rule.said.get("message") or rule.said["rule"]).strip()
    if str(error) == "no such overload":
        why = "call arguments did not match a supported operator, function or macro signature"
        return f"'{error}': {why} for rule: {said}"
    return f"{error} evaluating rule: {said}"


def _message(rule: _Rule, value: JSON, old: JSON) -> str:
    """What the rule's `messageExpression` says, else its `message`, else the rule itself."""
    if rule.message is not None and (said := _spoken(rule.message, value, old)):
        return said
    return (rule.said.get("message") or f"failed rule: {rule.said['rule'].strip()}").strip()


def _spoken(expression: CompiledRule, value: JSON, old: JSON) -> str:
    try:
        said = kubernetes_cel.rule_value(expression, value, old)
    except NoValue:
        return ""
    text = said.strip() if isinstance(said, str) else ""
    return "" if "\n" in text or len(text.encode()) > LONGEST_MESSAGE else text


def _written(value: JSON) -> bytes:
    return orjson.dumps(value, option=orjson.OPT_SORT_KEYS)
