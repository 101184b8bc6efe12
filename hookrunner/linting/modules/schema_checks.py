"""Checks of a module's schemas, and of what follows from them without configuration.

Schemas that load and then do not say what was meant: slips, words that YAML takes for true and false, defaults that
their own rule refuses. Default values, the chart rendered with them, and its objects, whose kinds the API server may
not serve.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from hookrunner import safe_files
from hookrunner.charts.renderer import Renderer
from hookrunner.errors import BadChart, BadManifest, BadValues, RenderFailed
from hookrunner.linting import served_kinds as kinds
from hookrunner.linting.modules.module_remarks import (
    START,
    ModuleRemark,
    Position,
    in_yaml,
    of_document,
    of_rule,
    of_template,
    read_document,
)
from hookrunner.linting.modules.schema_words import check_words
from hookrunner.linting.modules.text_checks import TextSubject, check_texts
from hookrunner.linting.text_fields import SectionRules
from hookrunner.manifests import object_fields
from hookrunner.model.modules import Module
from hookrunner.model.releases import RenderedChart
from hookrunner.modules.offline import Offline, stock_capabilities
from hookrunner.values import pointers
from hookrunner.values.schemas.node import Node
from hookrunner.values.schemas.schema import CheckMode, SectionSchema, problems
from hookrunner.values.schemas.schema_files import CONFIG, VALUES, Schemas
from kubetypes.json_values import JSON
from kubetypes.openapi.custom_kinds import custom_kinds
from kubetypes.yaml_values import YAML_1_1


def check_schemas(directory: Path, schemas: Schemas, config: str = CONFIG) -> Iterator[ModuleRemark]:
    """Remarks on both schemas of a module or an addon; `config` is the file of what users set."""
    yield from check_enums(directory, config)
    for name in (config, VALUES):
        yield from check_words(directory, name)
    for name, schema in ((config, schemas.config), (VALUES, schemas.values)):
        if schema:
            yield from _defaults(directory, name, schema)
    for slip in schemas.slips:
        name, _, pointer = slip.place.partition("#")
        yield ModuleRemark(name, in_yaml(directory / name, pointer), "schema-slip", f"{pointer} {slip.text}")


def check_enums(directory: Path, config: str = CONFIG) -> Iterator[ModuleRemark]:
    """Remarks on words in enumerations that YAML reads as true or false, also in a schema that does not load."""
    for name in (config, VALUES):
        yield from _enums(directory, name)


def _enums(directory: Path, name: str) -> Iterator[ModuleRemark]:
    for pointer, node in _schemas(read_document(directory / name, YAML_1_1), ""):
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
        yield from (
            ModuleRemark(name, where, "default-wrong", problem) for problem in wrong if " is required " not in problem
        )


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


_NAMESPACE = "default"
_NO_CHART = ("needs-values", "chart-refused", "manifest-refused")


async def check_defaults(
    module: Module, offline: Offline, renderer: Renderer, definitions: Sequence[JSON]
) -> list[ModuleRemark]:
    """Remarks on default values, and on the chart if they are good enough for it: with these values, and with hostile
    texts. `definitions` are those of the module's `crds/`."""
    schemas, values = offline.shelf.schemas[module.key], offline.store.effective(module.key)
    remarks = [*_default_values(module, schemas.values or schemas.config, values)]
    if module.chart and not remarks:
        remarks += await _check_chart(module, offline, renderer, definitions)
        if not any(remark.code in _NO_CHART for remark in remarks):
            remarks += await check_texts(_text_subject(module, offline, renderer))
    return remarks


def _text_subject(module: Module, offline: Offline, renderer: Renderer) -> TextSubject:
    schemas, section = offline.shelf.schemas[module.key], offline.store.effective(module.key)
    order = offline.order(module.name, _NAMESPACE, {}, stock_capabilities())

    async def render(section: JSON) -> list[JSON]:
        rendered = await renderer.render(replace(order, values={**order.values, module.key: section}))
        return [*rendered.objects, *(hook.obj for hook in rendered.hooks)]

    own = schemas.config.defaults({}) if schemas.config else {}
    layers = ((schemas.config, own), (schemas.values, section))
    rules = [SectionRules(schema.node, schema.problems, values) for schema, values in layers if schema]
    return TextSubject(module.directory, rules, section, render, is_chart=True)


def _default_values(module: Module, schema: SectionSchema | None, values: object) -> Iterator[ModuleRemark]:
    for problem in schema.problems(values) if schema else ():
        path, pointer = of_rule(problem)
        position = in_yaml(module.directory / path, pointer) if path else (1, 1)
        if re.search(r" is required( |$)", problem):
            text = f"{problem}: with its defaults the module does not run, and its chart was not rendered here"
            yield ModuleRemark(path, position, "needs-values", text)
        else:
            yield ModuleRemark(path, position, "defaults-refused", problem)


async def _check_chart(
    module: Module, offline: Offline, renderer: Renderer, definitions: Sequence[JSON]
) -> list[ModuleRemark]:
    try:
        rendered = await renderer.render(offline.order(module.name, _NAMESPACE, {}, stock_capabilities()))
    except BadValues as error:
        return [ModuleRemark("", code="needs-values", text=f"{error}: its chart was not rendered here")]
    except BadChart as error:
        path, position = of_template(str(error))
        return [ModuleRemark(path, position, "chart-refused", str(error))]
    except BadManifest as error:
        path, position = of_document(str(error), module.directory)
        text = f"with default values this is no manifest: {error}; correct the YAML that the template writes"
        return [ModuleRemark(path, position, "manifest-refused", text)]
    except RenderFailed as error:
        path, position = of_template(str(error))
        text = f"cannot be rendered with default values: {error}; give defaults, in a schema, for what hooks find out"
        return [ModuleRemark(path, position, "render-failed", text)]
    return list(dict.fromkeys(check_objects(module, rendered, definitions)))


_SOURCE = re.compile(r"^# Source: [^/\n]+/(\S+)\n", re.MULTILINE)


def check_objects(module: Module, rendered: RenderedChart, definitions: Sequence[JSON]) -> Iterator[ModuleRemark]:
    """A remark for each template and kind that is not served, and for each unknown field."""
    objects = [*rendered.objects, *(hook.obj for hook in rendered.hooks)]
    custom = custom_kinds([*definitions, *objects])
    for obj in objects:
        api_version, kind = str(obj.get("apiVersion")), str(obj.get("kind"))
        if unserved := kinds.problem(api_version, kind, exact=True):
            path = _template(rendered, obj)
            place = _place_of(module, path, f"kind: {kind}", f"apiVersion: {api_version}")
            yield ModuleRemark(path, place, kinds.CODE, unserved)
        for unknown, text in object_fields.problems(obj, custom):
            path = _template(rendered, obj)
            yield ModuleRemark(path, _place_of(module, path, f"{unknown.name}:"), object_fields.CODE, text)


def _template(rendered: RenderedChart, obj: JSON) -> str:
    """The template that an object is from, in the module's directory; empty if that is not known."""
    for hook in rendered.hooks:
        if hook.obj is obj:
            return hook.path.partition("/")[2]
    parts = _SOURCE.split(rendered.manifest)
    words = (f"apiVersion: {obj['apiVersion']}", f"kind: {obj['kind']}", str(obj["metadata"].get("name")))
    templates = zip(parts[1::2], parts[2::2], strict=True)
    return next((path for path, text in templates if all(word in text for word in words)), "")


def _place_of(module: Module, path: str, *texts: str) -> Position:
    """Where the first of these texts that begins a line of a template stands."""
    try:
        lines = safe_files.read_text(module.directory / path, errors="replace").splitlines()
    except OSError:
        return START
    for words in texts:
        for number, line in enumerate(lines, 1):
            if line.strip(" -").startswith(words):
                return number, line.index(words) + 1
    return START
