"""Lists that are sets or maps (`x-kubernetes-list-type`): no element, no key may be there twice.

https://kubernetes.io/docs/reference/using-api/server-side-apply/#merge-strategy
"""

from collections.abc import Callable, Iterable, Iterator

import orjson

from kubesandbox.schemas import Schema
from kubesandbox.status import Cause, duplicate, wrong
from kubetypes.json_values import JSON


def problems(value: JSON, schema: Schema, path: str = "") -> Iterator[Cause]:
    """Every second element that equals an earlier one, by its keys in a list of type `map`."""
    if isinstance(value, dict):
        for key, inner in value.items():
            if (place := schema.properties.get(key)) is not None:
                yield from problems(inner, place, f"{path}.{key}" if path else key)
            elif schema.additional is not None:
                yield from problems(inner, schema.additional, f"{path}[{key}]")
    elif isinstance(value, list):
        yield from _of_list(value, schema, path)
        if schema.items is not None:
            for index, inner in enumerate(value):
                yield from problems(inner, schema.items, f"{path}[{index}]")


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
