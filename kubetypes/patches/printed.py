"""Values and types in the words of Go, for refusals that must read as the API server's.

`encoding/json` names JSON's types, `fmt`'s `%v` prints values (https://pkg.go.dev/fmt). Nothing here decides anything.
"""

from kubetypes.json_values import JSON

OBJECT = "map[string]interface {}"
LIST = "[]interface {}"

JSON_TYPES = {dict: "object", list: "array", str: "string", bool: "bool", int: "number", float: "number"}
GO_TYPES = {dict: OBJECT, list: LIST, str: "string", bool: "bool", int: "int64", float: "float64"}


def wrong_type(value: JSON, wanted: str) -> str:
    """What decoding says of a value: `wanted` is a Go type (`Go value of type …`) or `Go struct field … of type …`."""
    return f"json: cannot unmarshal {JSON_TYPES[type(value)]} into {wanted}"


def go_type(value: JSON) -> str:
    """The Go type that holds a JSON value."""
    return as_text(None) if value is None else GO_TYPES[type(value)]


def as_text(value: JSON) -> str:
    """`%s`, which complains of what is no text."""
    if isinstance(value, str):
        return value
    return f"%!s({printed(value) if value is None else f'{GO_TYPES[type(value)]}={printed(value)}'})"


def printed(value: JSON) -> str:
    """`%v`: `map[a:1 b:[x y]]`, keys sorted."""
    match value:
        case None:
            return "<nil>"
        case bool():
            return "true" if value else "false"
        case dict():
            return f"map[{' '.join(f'{key}:{printed(value[key])}' for key in sorted(value))}]"
        case list():
            return f"[{' '.join(map(printed, value))}]"
    return str(value)
