"""Paths from a schema's root to a field in it, as definitions write them: `.spec.color`, `['a.b'].c`.

Source: https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definitions/#field-path
"""

import re

from kubetypes.json_values import JSON

TOKEN = re.compile(r"[.\[\]]|'(?:[^'\\]|\\.)*'|[^.\[\]]+")


class WrongPath(Exception):
    """A path leads nowhere; says why."""


def followed(path: str, schema: JSON, *, brackets: bool = True) -> tuple[list[str], JSON]:
    """The steps of a path and the schema at its end. Raises `WrongPath`."""
    tokens = TOKEN.findall(path)
    steps: list[str] = []
    while tokens:
        name = _step(tokens, brackets=brackets)
        schema = _field(name, schema)
        steps.append(name)
    return steps, schema


def shown(steps: list[str]) -> str:
    """The steps as a path in a cause (`a.b`), without a first dot."""
    return "".join(f"[{step}]" if "." in step else f".{step}" for step in steps).removeprefix(".")


def _step(tokens: list[str], *, brackets: bool) -> str:
    first = tokens.pop(0)
    if first == ".":
        return _next(tokens)
    if first != "[":
        raise WrongPath(f"expected [ or . but got: {first}")
    if not brackets:
        raise WrongPath("array notation is not allowed")
    quoted = _next(tokens)
    if len(quoted) < 2 or quoted[0] != "'" or quoted[-1] != "'":
        raise WrongPath(f"expected single quoted string but got {quoted}")
    if (last := _next(tokens)) != "]":
        raise WrongPath(f"expected ] but got {last}")
    return re.sub(r"\\(.)", r"\1", quoted[1:-1])


def _next(tokens: list[str]) -> str:
    if not tokens:
        raise WrongPath("unexpected end of JSON path")
    return tokens.pop(0)


def _field(name: str, schema: JSON) -> JSON:
    properties, additional = schema.get("properties"), schema.get("additionalProperties")
    inner = properties.get(name) if properties else additional if isinstance(additional, dict) else None
    if inner is None:
        raise WrongPath("does not refer to a valid field")
    return inner
