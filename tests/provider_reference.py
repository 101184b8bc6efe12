"""The tables of `docs/providers.md`: the fields of each request and answer, from the schemas in the package."""

import html
from collections.abc import Iterator
from pathlib import Path

from hookrunner.cloud.provider import verbs
from hookrunner.cloud.provider.cloud_verb import AnyVerb
from hookrunner.cloud.provider.schemas import answer_schema, request_schema
from kubetypes.json_values import JSON

PAGE = Path(__file__).parents[1] / "docs" / "providers.md"
MARK = "\n## All fields\n"
INTRODUCTION = """
Written by `python -m tests.reference_pages` from the schemas, which `hookrunner cloud call NAME VERB --schema` prints.
`*` marks what is required. `…[]` are the items of a list. What may be left out may be null, too. The
address (`$id`) of each is `https://hookrunner.io/schemas/cloud/v1/VERB.request.schema.json`, or `answer` for `request`.
"""
_CLOSED = {"service", "timeoutSeconds"}
"""Fields whose own fields are listed elsewhere: those of a Service, and all verbs."""


def providers_page() -> str:
    """`docs/providers.md`: its own text, and the tables made anew."""
    prose, _, _ = PAGE.read_text().partition(MARK)
    return f"{prose}{MARK}{INTRODUCTION}{''.join(map(_section, verbs.VERBS))}"


def _section(verb: AnyVerb) -> str:
    request, answer = request_schema(verb), answer_schema(verb)
    params = field_table("params", request["properties"]["params"], request["$defs"])
    result = field_table("result", answer["oneOf"][0]["properties"]["result"], answer["$defs"])
    return f"\n### {verb}\n\n{request['description']}\n\n{params}\n{result}"


def field_table(what: str, schema: JSON, definitions: JSON) -> str:
    """A table of a schema's fields and of those in them."""
    rows = "".join(f"| {path} | {kind} | {text} |\n" for path, kind, text in _rows(schema, definitions, ""))
    return f"| `{what}` | type | what |\n|---|---|---|\n{rows}" if rows else f"`{what}`: an empty object.\n"


def _rows(schema: JSON, definitions: JSON, path: str) -> Iterator[tuple[str, str, str]]:
    """Each field with its path, type and description, and the fields in it."""
    required = schema.get("required", ())
    for name, field in schema.get("properties", {}).items():
        inner = _resolved(field, definitions)
        text = field.get("description") or inner.get("description", "")
        here = f"{path}{name}"
        yield (
            f"`{here}`{' *' if name in required else ''}",
            _kind(inner),
            html.escape(text, quote=False),
        )
        items = _resolved(inner.get("items", {}), definitions)
        if "oneOf" in items:
            for way in items["oneOf"]:
                yield from _rows(way, definitions, f"{here}[].")
        yield from _rows(items, definitions, f"{here}[].")
        if name not in _CLOSED:
            yield from _rows(inner, definitions, f"{here}.")


def _resolved(schema: JSON, definitions: JSON) -> JSON:
    """The definition that a schema refers to, or itself."""
    schema = schema.get("anyOf", [schema])[0]
    return definitions[schema["$ref"].rpartition("/")[2]] if "$ref" in schema else schema


def _kind(schema: JSON) -> str:
    if "enum" in schema:
        return ", ".join(f"`{str(value).lower() if not isinstance(value, str) else value}`" for value in schema["enum"])
    if "const" in schema:
        return f"`{str(schema['const']).lower()}`"
    kinds = schema.get("type", "")
    kind = kinds if isinstance(kinds, str) else kinds[0]
    if kind == "array":
        items = schema.get("items", {})
        return f"list of {'texts' if items.get('type') == 'string' else _plural(items)}"
    if isinstance(schema.get("additionalProperties"), dict):
        return "object of texts"
    return {"string": "text", "boolean": "true or false"}.get(kind, kind)


def _plural(items: JSON) -> str:
    return _kind(items) if "enum" in items else "objects"
