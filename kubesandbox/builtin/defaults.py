"""What the API fills in where an object of a built-in kind says nothing.

Defaults belong to Go types and are found by walking an object along them, so what holds for a Pod's containers holds in
every template. Values that depend on nothing are data (`Type.defaults`, printed by Kubernetes' own code); those that
depend on other fields, or on where a type stands, are rules in `conditional_defaults`. A type's own defaults come
before those of the types inside it, as in the API, and its values before its rule. A field with an empty text counts
as missing unless Go has a pointer there.
"""

from collections.abc import Callable
from copy import deepcopy
from functools import cache
from typing import Any

from kubesandbox.builtin.conditional_defaults import RULES
from kubesandbox.builtin.types import Type, type_of
from kubesandbox.kinds import Kind

Object = dict[str, Any]
Step = Callable[[Any], Any]


def defaulted(kind: Kind, obj: Object) -> Object:
    """The object, decoded before, with all defaults; a new one where anything was filled in."""
    type_ = type_of(kind.api_version, kind.kind)
    step = _step(type_) if type_ else None
    result: Object = step(obj) if step else obj
    return result


@cache
def _has_defaults(type_: Type) -> bool:
    """Whether the type has defaults, or one inside it."""
    todo, seen = [type_], {id(type_)}
    while todo:
        current = todo.pop()
        if current.defaults or current.name in RULES:
            return True
        inner = [field.type for field in current.fields.values()] + ([current.elem] if current.elem else [])
        todo += [each for each in inner if id(each) not in seen]
        seen |= {id(each) for each in inner}
    return False


@cache
def _step(type_: Type) -> Step | None:
    """What fills in a value of the type; None if there is nothing to fill in."""
    if not _has_defaults(type_):
        return None
    if type_.kind == "pointer":
        return _step(type_.inner)
    if type_.kind == "slice":
        each = _step(type_.inner)
        return lambda value: value and [each(item) for item in value] if each else value
    if type_.kind == "map":
        each = _step(type_.inner)
        return lambda value: {key: each(item) for key, item in value.items()} if each else value
    return _struct(type_)


def _struct(type_: Type) -> Step:
    rule = RULES.get(type_.name)
    plain = [(key, value) for key, value in type_.defaults.items() if not isinstance(value, dict | list)]
    nested = [(key, value) for key, value in type_.defaults.items() if isinstance(value, dict | list)]
    pointers = {key for key, field in type_.fields.items() if field.type.kind == "pointer"}
    inside = [key for key, field in type_.fields.items() if _has_defaults(field.type)]

    def fill(value: Any) -> Any:
        result = dict(value)
        for key, default in plain:
            if result.get(key) is None or (result[key] == "" and key not in pointers):
                result[key] = default
        for key, default in nested:
            if result.get(key) is None:
                result[key] = deepcopy(default)
        if rule:
            rule(result)
        for key in inside:
            if key in result:
                step = _step(type_.fields[key].type)
                result[key] = step(result[key]) if step else result[key]
        return result

    return fill
