"""Do two values of a field mean the same? One is from a manifest, the other what the API server has made of it.

It leaves out what is empty, fills in what is missing, and writes amounts of resources in its own way (`1000m` is `1`).
"""

from hookrunner.model.resources import JSON
from kubesandbox.builtin.quantities import quantity
from kubesandbox.status import Refused

_AMOUNTS = frozenset(
    {"limits", "requests", "hard", "capacity", "default", "defaultRequest", "min", "max", "overhead", "podFixed"}
    | {"sizeLimit", "storage", "divisor", "averageValue", "targetAverageValue"}
)
"""Below fields of these names are amounts of resources."""


def alike(manifest: JSON, live: JSON, path: tuple[str, ...] = ()) -> bool:
    """`live` may have more fields, and items of other names; None is for what is not there. `path` leads here."""
    if isinstance(manifest, dict) and isinstance(live, dict | None):
        return all(alike(value, (live or {}).get(key), (*path, key)) for key, value in manifest.items())
    if live is None:
        return not manifest
    if isinstance(manifest, list):
        return isinstance(live, list) and _lists(manifest, live, path)
    if manifest == live and isinstance(manifest, bool) == isinstance(live, bool):
        return True
    return not _AMOUNTS.isdisjoint(path) and _amount(manifest) == _amount(live) is not None


def _lists(manifest: list[JSON], live: list[JSON], path: tuple[str, ...]) -> bool:
    """Item by item; where all have names, by name, whatever else is there."""
    if all(isinstance(item, dict) and isinstance(item.get("name"), str) for item in (*manifest, *live)):
        named = {item["name"]: item for item in live}
        return all(alike(item, named.get(item["name"]), path) for item in manifest)
    return len(manifest) == len(live) and all(alike(*pair, path) for pair in zip(manifest, live, strict=True))


def _amount(value: JSON) -> object:
    """The number that an amount stands for, None if it is none."""
    try:
        return quantity(str(value))
    except Refused:
        return None
