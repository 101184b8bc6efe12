"""Codes have a severity. What the codes mean: test_docs.py. Level: pure."""

import ast
from collections.abc import Iterator
from pathlib import Path

from hookrunner.linting.findings import ALL_CODES

ROOM = Path(__file__).parents[2] / "hookrunner/linting"
AT = {"Remark": 0, "ModuleRemark": 2, "Finding": 3}
"""Which argument of each class is the code."""


def test_each_code_that_a_check_reports_has_a_severity() -> None:
    codes = {code for path in ROOM.rglob("*.py") for code in codes_of(ast.parse(path.read_text()))}
    assert len(codes) > 40
    assert codes - ALL_CODES.keys() == set()


def codes_of(tree: ast.Module) -> Iterator[str]:
    """Codes that are literals: arguments of those classes, and constants `CODE`."""
    for node in ast.walk(tree):
        match node:
            case ast.Call(func=ast.Name(id=name), args=args, keywords=keywords) if name in AT:
                given = [*args[AT[name] : AT[name] + 1], *(word.value for word in keywords if word.arg == "code")]
                yield from (str(each.value) for each in given if isinstance(each, ast.Constant))
            case ast.Assign(targets=[ast.Name(id="CODE")], value=ast.Constant(value=str(code))):
                yield code
