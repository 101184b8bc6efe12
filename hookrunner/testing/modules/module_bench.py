"""Renders a module with given values, by the code that does so in a cluster."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from hookrunner.charts.renderer import Renderer
from hookrunner.errors import BadInput, HookrunnerError, StartRefused
from hookrunner.model.modules import GLOBAL, Module
from hookrunner.model.operations import ValuesOperation
from hookrunner.model.releases import RenderedChart
from hookrunner.modules import shelf
from hookrunner.modules.offline import Configured, Offline, offline, stock_capabilities, to_config
from hookrunner.modules.shelf import Shelf
from hookrunner.settings import ModulesSettings
from hookrunner.testing.modules.module_case_files import ModuleGiven
from hookrunner.values import pointers
from kubetypes.json_values import JSON
from kubetypes.light_dataclasses import dataclass

NOTHING = RenderedChart("", (), (), "", None)
_NAMESPACE = "default"


@dataclass(frozen=True, slots=True)
class RenderedModule:
    """The outcome: `failure` says why nothing was rendered, `values` are the effective ones by section, None if a
    failure came before them."""

    rendered: RenderedChart = NOTHING
    values: JSON = None
    failure: str = ""
    logs: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    def as_json(self) -> JSON:
        """As JSON, for programs."""
        rendered = self.rendered
        return {
            "failure": self.failure,
            "values": self.values,
            "objects": list(rendered.objects),
            "hooks": [hook.obj for hook in rendered.hooks],
            "notes": rendered.notes,
        }


@dataclass(frozen=True, slots=True)
class ModuleUnderTest:
    """One module, with what its directory and the common values say."""

    module: Module
    shelf: Shelf
    settings: ModulesSettings

    async def render(self, given: ModuleGiven, renderer: Renderer) -> RenderedModule:
        """Render its objects with these values. Raises BadInput for values of other sections."""
        self._check(given)
        values: JSON = None
        try:
            state = offline(self.shelf, Configured(to_config(given.config)))
            state.module(self.module.name)
            self._patch(state, given)
            values = state.values(self.module.name, whole=True)
            if not self.module.chart:
                return RenderedModule(values=values)
            capabilities = stock_capabilities(given.kube_version, given.api_versions)
            order = state.order(
                self.module.name, given.namespace or _NAMESPACE, self.settings.extra_labels, capabilities
            )
            return RenderedModule(await renderer.render(replace(order, install=not given.upgrade)), values)
        except BadInput:
            raise
        except HookrunnerError as error:
            return RenderedModule(values=values, failure=str(error))

    def _check(self, given: ModuleGiven) -> None:
        key = self.module.key
        flags = {f"{key}Enabled", f"{key}Maintenance"}
        if strange := (given.values.keys() | given.config.keys() - flags) - {GLOBAL, key}:
            hint = f"values are by section, here {GLOBAL} and {key}"
            raise BadInput(f"{', '.join(sorted(strange))}: {hint}")

    def _patch(self, state: Offline, given: ModuleGiven) -> None:
        """Put values over the effective ones, as patches of hooks do. Raises BadValues."""
        for key, section in given.values.items():
            state.store.patch(key, list(_added(section, state.store.effective(key), (key,))))


def _added(value: JSON, there: JSON, path: tuple[str, ...]) -> Iterator[ValuesOperation]:
    """Operations that merge a value into another: maps key by key."""
    if isinstance(value, dict) and isinstance(there, dict):
        for key, inner in value.items():
            yield from _added(inner, there.get(key), (*path, key))
    else:
        yield ValuesOperation("add", pointers.text(path), value)


def load_module(directory: Path, settings: ModulesSettings) -> ModuleUnderTest:
    """A module by its directory. Raises BadInput if it is not a module."""
    try:
        shelf_read = shelf.read(replace(settings, directories=(directory.absolute().parent,)))
    except StartRefused as error:
        raise BadInput(str(error)) from None
    module = shelf_read.find(directory)
    if module is None or module not in shelf_read.modules:
        raise BadInput(f"{directory}: {module.problem if module else 'no module'}")
    return ModuleUnderTest(module, _alone(shelf_read, module), settings)


def _alone(shelf_read: Shelf, module: Module) -> Shelf:
    """The same without other modules, whose values would be computed for every case."""
    keys = (GLOBAL, module.key)
    statics = shelf_read.loaded.statics
    alone = replace(statics, sections={key: statics.sections[key] for key in keys})
    schemas = {key: shelf_read.schemas[key] for key in keys}
    return Shelf(replace(shelf_read.loaded, statics=alone), (module,), schemas)
