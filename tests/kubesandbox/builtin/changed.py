"""A manifest with some fields put and some dropped: a change in one line of YAML."""

from copy import deepcopy
from typing import Any

from tests.kubesandbox.builtin.ours import Object


def changed(obj: Object, case: Object) -> Object:
    """A copy with the values of `set` at their paths (`spec.ports.0.name`), without the paths of `drop`."""
    made = deepcopy(obj)
    for path, value in (case.get("set") or {}).items():
        holder, last = _holder(made, path)
        holder[last] = value
    for path in case.get("drop") or ():
        holder, last = _holder(made, path)
        del holder[last]
    return made


def _holder(obj: Any, path: str) -> tuple[Any, Any]:
    *above, last = path.split(".")
    for key in above:
        obj = obj[int(key)] if isinstance(obj, list) else obj.setdefault(key, {})
    return obj, int(last) if isinstance(obj, list) else last
