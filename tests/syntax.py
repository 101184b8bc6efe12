"""Walks syntax trees where only statements matter, imports for instance: expressions are most of a tree, and of the
time."""

import ast
import sys
from collections.abc import Iterator
from pathlib import Path


def statements(node: ast.AST) -> Iterator[ast.AST]:
    """All statements below, without their expressions."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.stmt | ast.excepthandler | ast.match_case):
            yield child
            yield from statements(child)


def foreign_imports(file: Path) -> set[str]:
    """What a hook imports beside the standard library, the SDK and files next to it (`from .x`)."""
    nodes = list(statements(ast.parse(file.read_text())))
    names = {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}
    names |= {node.module or "" for node in nodes if isinstance(node, ast.ImportFrom) and not node.level}
    sdk = {name for name in names if name.startswith("hookrunner.sdk")}
    return {name for name in names - sdk if name.partition(".")[0] not in sys.stdlib_module_names}
