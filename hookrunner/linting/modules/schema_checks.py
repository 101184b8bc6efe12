"""Checks of schemas that load and then do not say what was meant: slips, words that YAML takes for true and false, and
defaults that their own rule refuses."""

from collections.abc import Iterator
from pathlib import Path

from hookrunner import safe_files
from hookrunner.linting.modules.module_remarks import ModuleRemark, in_yaml
from hookrunner.values import pointers
from hookrunner.values.schemas.node import Node
from hookrunner.values.schemas.schema import CheckMode, SectionSchema, problems
from hookrunner.values.schemas.schema_files import CONFIG, VALUES, Schemas
from kubetypes.json_values import JSON
from kubetypes.yaml_values import YAML_1_1, BadDocument, documents


def check_schemas(directory: Path, schemas: Schemas) -> Iterator[ModuleRemark]:
    """Remarks on both schemas of a module."""
    yield from check_enums(directory)
    for name, schema in ((CONFIG, schemas.config), (VALUES, schemas.values)):
        if schema:
            yield from _defaults(directory, name, schema)
    for slip in schemas.slips:
        name, _, pointer = slip.place.partition("#")
        yield ModuleRemark(name, in_yaml(directory / name, pointer), "schema-slip", f"{pointer} {slip.text}")


def check_enums(directory: Path) -> Iterator[ModuleRemark]:
    """Remarks on words in enumerations that YAML reads as true or false, also in a schema that does not load."""
    for name in (CONFIG, VALUES):
        yield from _enums(directory, name)


def _enums(directory: Path, name: str) -> Iterator[ModuleRemark]:
    try:
        raw = next(documents(safe_files.read(directory / name), YAML_1_1), None)
    except (OSError, BadDocument):  # said where the schema is loaded
        return
    for pointer, node in _schemas(raw, ""):
        wanted, values = node.get("type"), node["enum"]
        words = [value for value in values if isinstance(value, bool)]
        if words and wanted != "boolean" and (len(words) < len(values) or wanted is not None):
            text = (
                "holds true or false where texts are meant: YAML reads on, off, yes, no, y and n as such; "
                "put them in quotes"
            )
            yield ModuleRemark(name, in_yaml(directory / name, f"{pointer}/enum"), "enum-unquoted", text)


def _schemas(value: JSON, pointer: str) -> Iterator[tuple[str, dict[str, JSON]]]:
    """Everything in a document that has an `enum`, with its JSON pointer."""
    if isinstance(value, dict):
        if isinstance(value.get("enum"), list):
            yield pointer, value
        for key, inner in value.items():
            yield from _schemas(inner, pointer + pointers.text((key,)))
    elif isinstance(value, list):
        for number, inner in enumerate(value):
            yield from _schemas(inner, f"{pointer}/{number}")


def _defaults(directory: Path, name: str, schema: SectionSchema) -> Iterator[ModuleRemark]:
    """A default that is refused refuses every value."""
    own = (node for node in _nodes(schema.node, set()) if node.default is not None and node.place.startswith(name))
    for node in own:
        where = in_yaml(directory / name, f"{node.at.removeprefix('#')}/default")
        wrong = problems(node, _filled(node), "the default", CheckMode(closed=False))
        yield from (ModuleRemark(name, where, "default-wrong", one) for one in wrong if " is required " not in one)


def _filled(node: Node) -> JSON:
    """The default of a node with those inside it."""
    return SectionSchema(node, CheckMode()).defaults(node.default)


def _nodes(node: Node, seen: set[int]) -> Iterator[Node]:
    """All of them; they may stand in circles."""
    if id(node) in seen:
        return
    seen.add(id(node))
    yield node
    for inner in node.properties.values():
        yield from _nodes(inner, seen)
    if isinstance(node.items, Node):
        yield from _nodes(node.items, seen)
