"""Checks of what a module is when nobody has configured it: its values, and its chart with them."""

import re
from collections.abc import Iterator

from hookrunner.charts.renderer import Renderer
from hookrunner.errors import BadChart, BadManifest, BadValues, RenderFailed
from hookrunner.linting.modules import objects
from hookrunner.linting.modules.places import in_yaml, of_document, of_rule, of_template
from hookrunner.linting.modules.remarks import ModuleRemark
from hookrunner.model.modules import Module
from hookrunner.modules.offline import Offline, stock_capabilities
from hookrunner.values.schemas import SectionSchema

_NAMESPACE = "default"


async def check(module: Module, found: Offline, renderer: Renderer) -> list[ModuleRemark]:
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
    return list(dict.fromkeys(objects.check(module, rendered)))
