"""What is known of modules before anything is put together on top of it: their files, where users configure them, and
their values."""

from typing import Literal

from hookrunner.convergence.decisions.config_object import ConfigObject, ConfigSources, Grace
from hookrunner.convergence.decisions.hook_values import HookValues
from hookrunner.engine.assembly import Kube
from hookrunner.model.modules import GLOBAL
from hookrunner.modules.shelf import Shelf
from hookrunner.settings import ModulesSettings, Settings
from hookrunner.values.section import merged
from hookrunner.values.section_store import SectionStore
from kubetypes.json_values import JSON
from kubetypes.light_dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ModuleConfiguration:
    """The modules as their files describe them, with what users configure in the cluster, and their values, which hooks
    read and change. `namespace` is that of the configuration, and of releases by default."""

    shelf: Shelf
    namespace: str
    sources: ConfigSources
    store: SectionStore
    values: HookValues

    def set_shared(self, shared: JSON) -> bool:
        """Set the static global values that stand below those of modules; is anything new?"""
        return self.store.set_static(GLOBAL, _global_of(self.shelf, shared))


def configuration(settings: Settings, shelf: Shelf, kube: Kube, shared: JSON = None) -> ModuleConfiguration:
    """What the engine needs before modules are put together on top of it. `shared` are static global values that
    stand below those of modules."""
    namespace = settings.kube.namespace or kube.connection.namespace or "default"
    sources = _sources(kube, namespace, settings.modules)
    sections = shelf.loaded.statics.sections | {GLOBAL: _global_of(shelf, shared)}
    store = SectionStore(sections, shelf.schemas)
    values = HookValues(store, sources.config, {module.name: module.key for module in shelf.modules})
    return ModuleConfiguration(shelf, namespace, sources, store, values)


def _global_of(shelf: Shelf, shared: JSON) -> JSON:
    return merged(shared or {}, shelf.loaded.statics.sections.get(GLOBAL) or {})


def _sources(kube: Kube, namespace: str, modules: ModulesSettings) -> ConfigSources:
    def called(kind: Literal["ConfigMap", "Secret"], name: str) -> ConfigObject:
        return ConfigObject(kube.patcher, kube.watches, kind, (namespace, name), Grace(modules.config_grace))

    secret = called("Secret", modules.config_secret) if modules.config_secret else None
    return ConfigSources(called("ConfigMap", modules.config_map), secret)
