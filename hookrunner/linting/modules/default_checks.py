"""Checks of a module without configuration: its default values, its chart rendered with them, and the objects of the
chart, whose kinds the API server may not serve."""

import re
from collections.abc import Iterator

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
)
from hookrunner.model.modules import Module
from hookrunner.model.releases import RenderedChart
from hookrunner.modules.offline import Offline, stock_capabilities
from hookrunner.values.schemas.schema import SectionSchema
from kubetypes.json_values import JSON

_NAMESPACE = "default"


async def check_defaults(module: Module, found: Offline, renderer: Renderer) -> list[ModuleRemark]:
    """Remarks on default values, and on the chart if they are good enough for it."""
    schemas, values = found.shelf.schemas[module.key], found.store.effective(module.key)
    remarks = [*_values(module, schemas.values or schemas.config, values)]
    if module.chart and not remarks:
        remarks += await _chart(module, found, renderer)
    return remarks


def _values(module: Module, schema: SectionSchema | None, values: object) -> Iterator[ModuleRemark]:
    for problem in schema.problems(values) if schema else ():
        path, pointer = of_rule(problem)
        place = in_yaml(module.directory / path, pointer) if path else (1, 1)
        if re.search(r" is required( |$)", problem):
            text = f"{problem}: with its defaults the module does not run, and its chart was not rendered here"
            yield ModuleRemark(path, place, "needs-values", text)
        else:
            yield ModuleRemark(path, place, "defaults-refused", problem)


async def _chart(module: Module, found: Offline, renderer: Renderer) -> list[ModuleRemark]:
    try:
        rendered = await renderer.render(found.order(module.name, _NAMESPACE, {}, stock_capabilities()))
    except BadValues as error:
        return [ModuleRemark("", code="needs-values", text=f"{error}: its chart was not rendered here")]
    except BadChart as error:
        path, place = of_template(str(error))
        return [ModuleRemark(path, place, "chart-refused", str(error))]
    except BadManifest as error:
        path, place = of_document(str(error), module.directory)
        text = f"with default values this is no manifest: {error}; mend the YAML that the template writes"
        return [ModuleRemark(path, place, "manifest-refused", text)]
    except RenderFailed as error:
        path, place = of_template(str(error))
        text = f"cannot be rendered with default values: {error}; give defaults, in a schema, for what hooks find out"
        return [ModuleRemark(path, place, "render-failed", text)]
    return list(dict.fromkeys(check_objects(module, rendered)))


_SOURCE = re.compile(r"^# Source: [^/\n]+/(\S+)\n", re.MULTILINE)


def check_objects(module: Module, rendered: RenderedChart) -> Iterator[ModuleRemark]:
    """A remark for each template and kind."""
    for obj in [*rendered.objects, *(hook.obj for hook in rendered.hooks)]:
        api_version, kind = str(obj.get("apiVersion")), str(obj.get("kind"))
        if told := kinds.problem(api_version, kind, exact=True):
            path = _template(rendered, obj)
            yield ModuleRemark(path, _place(module, path, api_version, kind), kinds.CODE, told)


def _template(rendered: RenderedChart, obj: JSON) -> str:
    """The template that an object is from, in the module's directory; empty if that cannot be told."""
    for hook in rendered.hooks:
        if hook.obj is obj:
            return hook.path.partition("/")[2]
    parts = _SOURCE.split(rendered.manifest)
    words = (f"apiVersion: {obj['apiVersion']}", f"kind: {obj['kind']}", str(obj["metadata"].get("name")))
    templates = zip(parts[1::2], parts[2::2], strict=True)
    return next((path for path, text in templates if all(word in text for word in words)), "")


def _place(module: Module, path: str, api_version: str, kind: str) -> Position:
    """Where the kind stands in its template, or else the version."""
    try:
        lines = safe_files.read_text(module.directory / path, errors="replace").splitlines()
    except OSError:
        return START
    for words in (f"kind: {kind}", f"apiVersion: {api_version}"):
        for number, line in enumerate(lines, 1):
            if line.strip().startswith(words):
                return number, line.index(words) + 1
    return START
