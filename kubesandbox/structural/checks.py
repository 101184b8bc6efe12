"""A schema made ready for checking: for each JSON type, the checks that can fail.

Order, sentences and the count of what matched follow kube-openapi's validator, which the API server uses.

On an update, complaints about a part that did not change are dropped
(https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definitions/#validation-ratcheting).
"""

from collections.abc import Mapping
from functools import partial

import orjson

from kubesandbox.structural import scalars
from kubesandbox.structural.combinations import Enumeration, Step, all_of, any_of, negated, one_of, written
from kubesandbox.structural.complaints import Complaint, invalid, missing, too_many, whole, wrong_type
from kubetypes.json_values import JSON

NAMES = {
    dict: "object",
    list: "array",
    str: "string",
    int: "integer",
    float: "number",
    bool: "boolean",
    type(None): "null",
}
GO_FORMATS = {int: "int64", float: "float64"}
NOTHING = object()
"""The old value where there is nothing to compare with."""
NO_OLD: Mapping[str, JSON] = {}
INHERITED = ("x-kubernetes-list-type", "x-kubernetes-list-map-keys")


class Checks:
    """One place in a schema. Made once, then `run` for each value."""

    def __init__(self, raw: JSON) -> None:
        self.raw = raw
        self.types = ("integer", "string") if raw.get("x-kubernetes-int-or-string") else _types(raw)
        self.format = checked_format(self.types, raw.get("format") or "")
        self.properties = {key: Checks(inner) for key, inner in (raw.get("properties") or {}).items()}
        additional = raw.get("additionalProperties")
        self.additional = Checks(additional) if isinstance(additional, dict) else None
        self.items = Checks(raw["items"]) if isinstance(raw.get("items"), dict) else None
        self.keys = (raw.get("x-kubernetes-list-map-keys") or ()) if raw.get("x-kubernetes-list-type") == "map" else ()
        self._table = {kind: self._checks_of(kind) for kind in NAMES}

    def run(self, value: JSON, old: JSON, path: str, found: list[Complaint]) -> int:
        """Check a value; complaints go to `found`. Returns how many rules matched."""
        steps, count = self._table[type(value)]
        for step in steps:
            count += step(value, old, path, found)
        return count

    def run_ratcheting(self, value: JSON, old: JSON, path: str, found: list[Complaint]) -> int:
        """`run`, without complaints if the value is the old one."""
        before = len(found)
        count = self.run(value, old, path, found)
        if len(found) > before and old is not NOTHING and self.unchanged(value, old):
            del found[before:]
        return count

    def unchanged(self, value: JSON, old: JSON) -> bool:
        """Whether a value is the old one. The order in lists that are maps does not count.

        An object with undeclared fields never is: the API server cannot tell what they were.
        """
        if isinstance(value, dict) and isinstance(old, dict):
            inside = ((key, self.properties.get(key) or self.additional) for key in value)
            same_keys = value.keys() == old.keys()
            return same_keys and all(place and place.unchanged(value[key], old[key]) for key, place in inside)
        if isinstance(value, list) and isinstance(old, list) and self.keys and self.items:
            olds = self._by_keys(old)
            found = ((one, olds.get(self._key(one), NOTHING)) for one in value)
            return len(value) == len(old) and all(
                before is not NOTHING and self.items.unchanged(one, before) for one, before in found
            )
        return written(value) == written(old)

    def _checks_of(self, kind: type) -> tuple[tuple[Step, ...], int]:
        """The checks that can fail for values of a Python type, and how many others always match."""
        if kind is type(None):
            steps = [self._null] if self.types and not self.raw.get("nullable") else []
            return (*steps, *self._enum()), 0 if steps else 1
        typed = 1 if self.types or self.format else 0
        steps = [self._wrong_type] if typed and self._type_may_fail(kind) else []
        matched = 1 + typed + (0 if steps else typed) + 2 + 1
        own, more = self._of_kind(kind)
        return (*steps, *self._combinations(), *own, *self._enum()), matched + more

    def _of_kind(self, kind: type) -> tuple[list[Step], int]:
        """The checks that only one JSON type has."""
        if kind is str:
            return scalars.text_checks(self.raw, self.format), 1 + scalars.known_format(self.format)
        if kind in (int, float):
            return scalars.number_checks(self.raw, self.types, self.format), 2
        if kind is list:
            return [self._list] if self.items or {"minItems", "maxItems"} & self.raw.keys() else [], 2
        if kind is dict:
            return [self._object], 1
        return [], 0

    # ── types ─────────────────────────────────────────────────────────────────────────────────────────────────────

    def _type_may_fail(self, kind: type) -> bool:
        return kind is float or self._refusal(kind, None) is not None

    def _refusal(self, kind: type, value: JSON) -> tuple[str, str] | None:
        """What is wanted and what is given, where the type does not fit."""
        name = NAMES[kind]
        exact = kind is float and "integer" in self.types and value is not None and whole(value)
        fits = name in self.types or exact or (kind is int and "number" in self.types)
        if self.format and not fits and kind not in (str, list) and self.format != GO_FORMATS.get(kind):
            return self.format, GO_FORMATS.get(kind, "")
        texts_only = not {"number", "integer"} & set(self.types)
        if fits or (self.format and texts_only and kind in (str, list)):
            return None
        return ",".join(self.types), name

    def _wrong_type(self, value: JSON, old: JSON, path: str, found: list[Complaint]) -> int:
        refusal = self._refusal(type(value), value)
        if refusal is None:
            return 1
        found.append(wrong_type(path, *refusal))
        return 0

    def _null(self, value: JSON, old: JSON, path: str, found: list[Complaint]) -> int:
        found.append(wrong_type(path, ",".join(self.types), "null"))
        return 0

    # ── whole values ─────────────────────────────────────────────────────────────────────────────

    def _enum(self) -> list[Step]:
        return [Enumeration(self.raw["enum"]).check] if self.raw.get("enum") else []

    def _combinations(self) -> list[Step]:
        """`anyOf`, `oneOf`, `allOf`, `not`, in the server's order."""
        inherited = {key: self.raw[key] for key in INHERITED if key in self.raw}
        found: list[Step] = []
        for key, step in (("anyOf", any_of), ("oneOf", one_of), ("allOf", all_of)):
            branches = [Checks(inherited | branch).run for branch in self.raw.get(key) or ()]
            if branches:
                found.append(partial(step, branches))
        if self.raw.get("not") is not None:
            found.append(partial(negated, Checks(inherited | self.raw["not"]).run))
        return found

    # ── lists and objects ─────────────────────────────────────────────────────────────────────────────────────────

    def _list(self, value: JSON, old: JSON, path: str, found: list[Complaint]) -> int:
        count = 0
        if self.items is not None:
            olds = self._by_keys(old)
            for index, inner in enumerate(value):
                before = olds.get(self._key(inner), NOTHING) if olds else NOTHING
                count += self.items.run_ratcheting(inner, before, f"{path}[{index}]", found)
        fewest, most = self.raw.get("minItems"), self.raw.get("maxItems")
        if fewest is not None and len(value) < fewest:
            found.append(invalid(path, len(value), f"should have at least {fewest} items"))
        if most is not None and len(value) > most:
            found.append(too_many(path, len(value), most, "items"))
        return count

    def _by_keys(self, old: JSON) -> dict[bytes, JSON]:
        """The old elements of a list that is a map; empty where elements cannot be identified."""
        return {self._key(one): one for one in old} if self.keys and isinstance(old, list) else {}

    def _key(self, element: JSON) -> bytes:
        held = element if isinstance(element, dict) else {}
        return orjson.dumps([held.get(key) for key in self.keys])

    def _object(self, value: JSON, old: JSON, path: str, found: list[Complaint]) -> int:
        self._size(value, path, found)
        count = 0
        olds = old if isinstance(old, dict) else NO_OLD
        named = f"{path}." if path else ""
        for key, inner in value.items():
            checks = self.properties.get(key)
            if checks is not None:
                count += checks.run_ratcheting(inner, olds.get(key, NOTHING), named + key, found)
            elif self.additional is not None:
                count += self.additional.run_ratcheting(inner, olds.get(key, NOTHING), f"{path}.{key}", found)
        for key in self.raw.get("required") or ():
            if key not in value:
                found.append(missing(f"{path}.{key}"))
        return count

    def _size(self, value: JSON, path: str, found: list[Complaint]) -> None:
        fewest, most = self.raw.get("minProperties"), self.raw.get("maxProperties")
        if fewest is not None and len(value) < fewest:
            found.append(invalid(path, len(value), f"should have at least {fewest} properties"))
        if most is not None and len(value) > most:
            found.append(too_many(path, len(value), most, "properties"))


def _types(raw: JSON) -> tuple[str, ...]:
    return (raw["type"],) if raw.get("type") else ()


def checked_format(types: tuple[str, ...], name: str) -> str:
    """The format if the server checks it for that type, else ""."""
    known = {"integer": ("int32", "int64"), "number": ("float", "double")}
    if len(types) == 1 and types[0] != "string":
        return name if name in known.get(types[0], ()) else ""
    return name if scalars.known_format(name) else ""
