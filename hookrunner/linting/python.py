"""How a Python script reads its contexts: by a call of `load` or `loads` in a file that names BINDING_CONTEXT_PATH."""

import ast
import re
import sys
from collections.abc import Iterator, Mapping

from hookrunner.linting.reading import Reading
from hookrunner.linting.source import Source

_LOADS = ("load", "loads", "safe_load")
_ONLY_EVENTS = ("object", "filterResult", "watchEvent")
_AWARE = re.compile(
    r"\bSynchronization\b|[\"'](type|objects|snapshots)[\"']|\.(type|objects|snapshots)\b"
    r"|\.get\(\s*[\"'](object|filterResult)|[\"'](object|filterResult)[\"']\s+(not\s+)?in\b"
)
_KNOWN = {*sys.stdlib_module_names, "kubernetes", "orjson", "requests", "yaml"}
"""Modules that do not read contexts on a hook's behalf."""


def read(source: Source) -> Reading | None:
    """What a script tells; None if it cannot be parsed or never opens the contexts itself."""
    if source.tree is None or "BINDING_CONTEXT_PATH" not in source.code:
        return None
    parents = {child: node for node in ast.walk(source.tree) for child in ast.iter_child_nodes(node)}
    reads = sorted(_reads(source.tree), key=lambda node: (_key(node) != "watchEvent", node.lineno))
    first = _first_only(parents)
    places = {_key(node): source.offset(node) for node in reversed(reads)}
    return Reading(
        first_only=None if first is None else source.offset(first),
        change=source.offset(reads[0]) if reads else None,
        name=_key(reads[0]) if reads else "",
        aware=bool(_AWARE.search(source.code)),
        guarded=any(isinstance(node, ast.ExceptHandler) for node in parents),
        closed={name.partition(".")[0] for name in _imported(source.tree)} <= _KNOWN,
        objects=places.get("object"),
        filtered=places.get("filterResult"),
    )


def _key(node: ast.expr) -> str:
    """The constant in `x["key"]`, empty for everything else."""
    if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant) and isinstance(node.ctx, ast.Load):
        return str(node.slice.value)
    return ""


def _reads(tree: ast.AST) -> Iterator[ast.expr]:
    return (node for node in ast.walk(tree) if isinstance(node, ast.Subscript) and _key(node) in _ONLY_EVENTS)


def _first_only(parents: Mapping[ast.AST, ast.AST]) -> ast.expr | None:
    """The first `[0]` of the one thing that is loaded, if nothing else is ever done with it."""
    loads = [node for node in parents if isinstance(node, ast.Call) and _called(node) in _LOADS]
    if len(loads) != 1:
        return None
    match parents[loads[0]]:
        case ast.Subscript() as taken:
            uses: list[ast.AST] = [taken]
        case ast.Assign(targets=[ast.Name(id=name)]):
            named = [node for node in parents if isinstance(node, ast.Name) and node.id == name]
            if sum(isinstance(node.ctx, ast.Store) for node in named) > 1:
                return None
            uses = [parents[node] for node in named if isinstance(node.ctx, ast.Load)]
        case _:
            return None
    taken_first = [node for node in uses if isinstance(node, ast.Subscript) and _key(node) == "0"]
    return taken_first[0] if taken_first and len(taken_first) == len(uses) else None


def _called(call: ast.Call) -> str:
    match call.func:
        case ast.Attribute(attr=name) | ast.Name(id=name):
            return name
        case _:
            return ""


def _imported(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node.module or "." if not node.level else "."
