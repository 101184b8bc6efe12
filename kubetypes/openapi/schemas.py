"""One typed view of what an object may look like: built-in kinds (OpenAPI v3) and custom ones (structural schemas).

A `Schema` is a place in such a document, with references resolved. Patches ask it how lists merge, managed fields what
a list's keys are, pruning which fields there are, defaulting and validation the rest (`raw`). Children are made once,
on first use.

https://kubernetes.io/docs/reference/using-api/server-side-apply/#merge-strategy has the `x-kubernetes-*` keys.
"""

from collections.abc import Mapping
from functools import cached_property
from typing import Any

Definitions = Mapping[str, dict[str, Any]]
"""`components.schemas` of an OpenAPI v3 document."""

REFERENCE = "#/components/schemas/"


class Schema:
    """A schema, its reference resolved.

    `name` is the definition's name (`io.k8s.api.core.v1.Container`), "" inside a definition and for custom resources.
    `raw` has what stands at the place of use on top of what the definition says (`default`, `description`). A reference
    is resolved when it is looked at, so that an unused kind costs nothing.
    """

    def __init__(self, raw: dict[str, Any], definitions: Definitions | None = None) -> None:
        self._place = raw
        self._definitions: Definitions = {} if definitions is None else definitions

    @cached_property
    def name(self) -> str:
        """The definition's name, or ""."""
        return _referred(self._place)

    @cached_property
    def raw(self) -> dict[str, Any]:
        """The schema as JSON, its own reference put in place, those of its children not."""
        if not self.name:
            return self._place
        return {**self._definitions[self.name], **_without_reference(self._place)}

    @property
    def type(self) -> str:
        """`object`, `array`, `string`, `integer`, `number`, `boolean`; "" where several or any are allowed."""
        return str(self.raw.get("type", ""))

    @property
    def format(self) -> str:
        """`int32`, `date-time`, `byte`, `int-or-string`, …"""
        return str(self.raw.get("format", ""))

    @cached_property
    def properties(self) -> dict[str, "Schema"]:
        """The fields that have names."""
        return {key: self._child(raw) for key, raw in self.raw.get("properties", {}).items()}

    @cached_property
    def additional(self) -> "Schema | None":
        """What every other field looks like, if there may be others: the values of a map."""
        raw = self.raw.get("additionalProperties")
        return None if raw in (None, False) else self._child({} if raw is True else raw)

    @cached_property
    def items(self) -> "Schema | None":
        """What the elements of a list look like."""
        raw = self.raw.get("items")
        return None if raw is None else self._child(raw)

    def field(self, key: str) -> "Schema | None":
        """The schema of a field or of a map's value; None if nothing is known of it."""
        return self.properties.get(key) or self.additional

    @cached_property
    def required(self) -> tuple[str, ...]:
        """Fields that must be there."""
        return tuple(self.raw.get("required", ()))

    @property
    def list_type(self) -> str:
        """`atomic`, `set` or `map`."""
        return str(self.raw.get("x-kubernetes-list-type", "atomic"))

    @cached_property
    def list_map_keys(self) -> tuple[str, ...]:
        """The key fields of elements of a list of type `map`."""
        return tuple(self.raw.get("x-kubernetes-list-map-keys", ()))

    @property
    def atomic(self) -> bool:
        """Whether a map or a struct is owned as one (`x-kubernetes-map-type: atomic`)."""
        return self.raw.get("x-kubernetes-map-type") == "atomic"

    @cached_property
    def patch_strategies(self) -> frozenset[str]:
        """Of strategic merge patch: any of `merge`, `replace`, `retainKeys`."""
        return frozenset(filter(None, self.raw.get("x-kubernetes-patch-strategy", "").split(",")))

    @property
    def patch_merge_key(self) -> str:
        """The field by which strategic merge patch tells elements apart; "" for lists of plain values."""
        return str(self.raw.get("x-kubernetes-patch-merge-key", ""))

    @property
    def int_or_string(self) -> bool:
        """Whether a number or a text may stand here."""
        return bool(self.raw.get("x-kubernetes-int-or-string")) or self.format == "int-or-string"

    @property
    def preserves_unknown(self) -> bool:
        """Whether undeclared fields are kept (`x-kubernetes-preserve-unknown-fields`)."""
        return bool(self.raw.get("x-kubernetes-preserve-unknown-fields"))

    @property
    def embedded(self) -> bool:
        """Whether a whole object with apiVersion, kind and metadata stands here."""
        return bool(self.raw.get("x-kubernetes-embedded-resource"))

    @property
    def nullable(self) -> bool:
        """Whether null is a value here."""
        return bool(self.raw.get("nullable"))

    def _child(self, raw: dict[str, Any]) -> "Schema":
        return Schema(raw, self._definitions)


def _referred(raw: dict[str, Any]) -> str:
    """The name of the definition that `$ref` or `allOf: [$ref]` means; "" without a reference."""
    inner = raw["allOf"][0] if len(raw.get("allOf", ())) == 1 else raw
    return str(inner.get("$ref", "")).removeprefix(REFERENCE)


def _without_reference(raw: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in raw.items() if key not in ("allOf", "$ref")}
