"""Validation of a custom object by its definition's schema, with the API server's messages.

An object comes here pruned and defaulted. Its own apiVersion, kind and metadata are checked by the verbs.
"""

from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache

import orjson

from kubesandbox.status import Cause, duplicate, wrong
from kubesandbox.structural import metadata, rules
from kubesandbox.structural.checks import NOTHING, Checks
from kubesandbox.structural.complaints import Complaint, causes
from kubetypes import cel
from kubetypes.json_values import JSON
from kubetypes.openapi.schemas import Schema


def problems(obj: JSON, schema: Schema, old: JSON | None = None) -> list[Cause]:
    """What is wrong with an object; `old` is what it replaces: old sins in parts that did not change are no problem.

    Raises `patterns.NotDoneHere` for a pattern that `definition.problems` refuses.
    """
    prepared = _prepared(schema)
    found: list[Complaint] = []
    prepared.checks.run_ratcheting(obj, NOTHING if old is None else old, "", found)
    return prepared.with_rules([*causes(found), *prepared.more(obj, old)], obj, old)


def status_problems(obj: JSON, schema: Schema, old: JSON) -> list[Cause]:
    """What is wrong with the `status` of an object that was written by the status subresource."""
    found: list[Complaint] = []
    prepared = _prepared(schema)
    checks = prepared.checks.properties.get("status")
    if checks is not None and "status" in obj:
        checks.run_ratcheting(obj["status"], old.get("status", NOTHING), "", found)
    return prepared.with_rules([*causes(found, "status"), *prepared.lists(obj, old)], obj, old)


class _Prepared:
    """A schema's checks, made once; what has nothing to check is left out."""

    def __init__(self, schema: Schema) -> None:
        self._schema = schema
        self.checks = Checks(schema.raw)
        self._lists = matter(schema)
        self._embedded = metadata.matter(schema)
        self._rules = rules.Rules(schema.raw) if cel.available() else None

    def more(self, obj: JSON, old: JSON | None) -> Iterator[Cause]:
        if self._embedded:
            yield from metadata.problems(obj, self._schema)
        yield from self.lists(obj, old)

    def with_rules(self, found: list[Cause], obj: JSON, old: JSON | None) -> list[Cause]:
        """With what the rules say, if nothing else stands in the way of asking them."""
        if self._rules is None or not self._rules.matter:
            return found
        if rules.blocked(found):
            return [*found, rules.SKIPPED]
        return [*found, *self._rules.problems(obj, old)]

    def lists(self, obj: JSON, old: JSON | None) -> Iterator[Cause]:
        if self._lists and (old is None or not any(list_problems(old, self._schema))):
            yield from list_problems(obj, self._schema)


@lru_cache(maxsize=512)
def _prepared(schema: Schema) -> _Prepared:
    return _Prepared(schema)


# ── lists ─────────────────────────────────────────────────────────────────────────────────────────────────────────────

# Lists that are sets or maps (`x-kubernetes-list-type`): no element, no key may be there twice.
#
# https://kubernetes.io/docs/reference/using-api/server-side-apply/#merge-strategy


def list_problems(value: JSON, schema: Schema, path: str = "") -> Iterator[Cause]:
    """Every second element that equals an earlier one, by its keys in a list of type `map`."""
    if isinstance(value, dict):
        for key, inner in value.items():
            if (place := schema.properties.get(key)) is not None:
                yield from list_problems(inner, place, f"{path}.{key}" if path else key)
            elif schema.additional is not None:
                yield from list_problems(inner, schema.additional, f"{path}[{key}]")
    elif isinstance(value, list):
        yield from _of_list(value, schema, path)
        if schema.items is not None:
            for index, inner in enumerate(value):
                yield from list_problems(inner, schema.items, f"{path}[{index}]")


def matter(schema: Schema) -> bool:
    """Whether a schema has such a list anywhere."""
    inner = [*schema.properties.values(), *filter(None, (schema.additional, schema.items))]
    return schema.list_type != "atomic" or any(map(matter, inner))


def _of_list(value: list[JSON], schema: Schema, path: str) -> Iterator[Cause]:
    if schema.list_type == "set":
        yield from _repeated(value, path, lambda one: one)
    elif schema.list_type == "map":
        strange = [index for index, one in enumerate(value) if not isinstance(one, dict | None)]
        if strange:
            index = strange[0]
            yield wrong(f"{path}[{index}]", value[index], "must be an object for an array of list-type map")
        else:
            keys = schema.list_map_keys
            yield from _repeated(value, path, lambda one: {key: one[key] for key in keys if key in (one or {})})


def _repeated(values: Iterable[JSON], path: str, key_of: Callable[[JSON], JSON]) -> Iterator[Cause]:
    """The second of equal elements; a third is not reported again."""
    times: dict[bytes, int] = {}
    for index, value in enumerate(values):
        key = key_of(value)
        written = orjson.dumps(key, option=orjson.OPT_SORT_KEYS)
        times[written] = times.get(written, 0) + 1
        if times[written] == 2:
            yield duplicate(f"{path}[{index}]", key)
