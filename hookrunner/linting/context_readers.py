"""How a script reads its contexts.

A Python script: by a call of `load` or `loads` in a file that names BINDING_CONTEXT_PATH. A shell script: by jq, called
with the file BINDING_CONTEXT_PATH or fed by `cat`.
"""

import ast
import re
from collections.abc import Iterator, Mapping

from hookrunner.linting.hook_source import Source
from kubetypes.light_dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ContextReads:
    """How a hook reads its contexts, in any language. Offsets are None where nothing of the kind is found.

    Both readers err on one side: what they cannot follow counts as not found, so that a correct hook gets no finding.

    `first_only`: where element 0 of the array is taken, if no other ever is. `change`: a read of what only an Event
    has, of `watchEvent` if that is ever read, and `name` of that key. `aware`: something in it knows that there is a
    Synchronization. `guarded`: it copes with keys that are missing.
    """

    first_only: int | None = None
    change: int | None = None
    name: str = ""
    aware: bool = False
    guarded: bool = False


_LOADS = ("load", "loads", "safe_load")
_ONLY_EVENTS = ("object", "filterResult", "watchEvent")
_PYTHON_AWARE = re.compile(
    r"\bSynchronization\b|[\"'](type|objects|snapshots)[\"']|\.(type|objects|snapshots)\b"
    r"|\.get\(\s*[\"'](object|filterResult)|[\"'](object|filterResult)[\"']\s+(not\s+)?in\b"
)


def read_python(source: Source) -> ContextReads | None:
    """How a script reads its contexts; None if it cannot be parsed or never opens the contexts itself."""
    if source.tree is None or "BINDING_CONTEXT_PATH" not in source.code:
        return None
    parents = {child: node for node in ast.walk(source.tree) for child in ast.iter_child_nodes(node)}
    subscripts = (node for node in parents if isinstance(node, ast.Subscript) and _key(node) in _ONLY_EVENTS)
    reads = sorted(subscripts, key=lambda node: (_key(node) != "watchEvent", node.lineno))
    first = _first_in_python(parents)
    return ContextReads(
        first_only=None if first is None else source.offset(first),
        change=source.offset(reads[0]) if reads else None,
        name=_key(reads[0]) if reads else "",
        aware=bool(_PYTHON_AWARE.search(source.code)),
        guarded=any(isinstance(node, ast.ExceptHandler) for node in parents),
    )


def _key(node: ast.expr) -> str:
    """The constant in `x["key"]`, empty for everything else."""
    if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant) and isinstance(node.ctx, ast.Load):
        return str(node.slice.value)
    return ""


def _first_in_python(parents: Mapping[ast.AST, ast.AST]) -> ast.expr | None:
    """The first `[0]` on the loaded contexts, if they are used in no other way."""
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


_USE = re.compile(r"\$\{?BINDING_CONTEXT_PATH\b")
_QUOTED = re.compile(r"'[^']*'|\"(?:\\.|[^\"\\])*\"", re.DOTALL)
_PIPED = re.compile(r"[}\")]*[ \t]*\|[ \t]*jq\b((?:[^'\"\n|;]|'[^']*'|\"(?:\\.|[^\"\\])*\")*)")
_FIRST = re.compile(r"(?<![\w\])])\.\[0]")
_OTHERS = re.compile(r"(?<![\w\])])\.\[(?!0])")
_NEUTRAL = re.compile(r"jq(\s+-\w+)*\s+(?:(\.|'\.'|\"\.\")\s*)?(?:[\"'$({<]+\s*)?$")
_SHELL_AWARE = re.compile(r"\bSynchronization\b|\.type\b|[\"']type[\"']|\bobjects\b|\bsnapshots\b|context::")
_GUARD = re.compile(
    r"select\([^)]*\.(?:type|watchEvent|object|binding)\b|\.object\?|has\([^)]*object|[!=]=\s*[\"']?null\b"
    r"|\.(?:object|filterResult)[\w.\s]*//"
)
_CHANGE = re.compile(r"(?<!\w)\.(object|filterResult|watchEvent)\b")


def read_shell(code: str) -> ContextReads | None:
    """How a script, given without comments, reads its contexts; None if it never opens the contexts itself."""
    uses = list(_USE.finditer(code))
    if not uses:
        return None
    programs = [_program(code, use) for use in uses]
    known = [(place, text) for place, text in programs if text]
    change = max(_CHANGE.finditer(code), key=lambda match: match[1] == "watchEvent", default=None)
    return ContextReads(
        first_only=_first_in_shell(known) if len(known) == len(uses) else None,
        change=change.start() if change else None,
        name=change[1] if change else "",
        aware=bool(_SHELL_AWARE.search(code)),
        guarded=bool(_GUARD.search(code)),
    )


def _program(code: str, use: re.Match[str]) -> tuple[int, str]:
    """The jq command that reads the file named here, and where it begins; empty if it is read by something else."""
    if piped := _PIPED.match(code, use.end()):
        return piped.start(1), f"jq{piped[1]}"
    start = code.rfind("jq", 0, use.start())
    command = code[start : use.start()] if start >= 0 else ""
    bare = _QUOTED.sub("", command.rstrip("\"'$({")).replace("\\\n", " ")
    return (start, command) if command and not re.search(r"[|;&\n]", bare) else (0, "")


def _first_in_shell(programs: list[tuple[int, str]]) -> int | None:
    """All of the programs look at element 0, except those that only print the whole text."""
    places = list(_firsts(programs))
    return None if not places or None in places else places[0]


def _firsts(programs: list[tuple[int, str]]) -> Iterator[int | None]:
    for start, text in programs:
        first = _FIRST.search(text)
        if first and not _OTHERS.search(text):
            yield start + first.start()
        elif not _NEUTRAL.match(text):
            yield None
