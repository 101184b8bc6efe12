"""The tables of `docs/hook-protocol.md`: the fields of a run and of an answer, from the schemas in the package."""

from importlib import resources
from pathlib import Path

import orjson

from tests.provider_reference import field_table

PAGE = Path(__file__).parents[1] / "docs" / "hook-protocol.md"
MARK = "\n## All fields\n"
INTRODUCTION = """
Written by `python -m tests.reference_pages` from `run.schema.json` and `answer.schema.json` in `hookrunner/hooks/`. `*`
marks what is required. `…[]` are the items of a list. Unknown fields are ignored, and what may be left out may be null.

"""


def hook_protocol_page() -> str:
    """`docs/hook-protocol.md`: its own text, and the tables from the schemas."""
    prose, _, _ = PAGE.read_text().partition(MARK)
    return f"{prose}{MARK}{INTRODUCTION}{_table('run')}\n{_table('answer')}"


def _table(name: str) -> str:
    schema = orjson.loads(resources.files("hookrunner.hooks").joinpath(f"{name}.schema.json").read_bytes())
    return field_table(name, schema, schema.get("$defs", {}))
