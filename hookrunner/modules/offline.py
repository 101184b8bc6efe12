"""Modules as they would be in a cluster that nobody asks: from their files, and from files with what users configure.

Everything is decided by the code that decides it in a cluster. What only runs there is left out: no global hook has
patched anything, and nothing is on that the files do not turn on.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from hookrunner.errors import BadInput, BadModule, BadValues
from hookrunner.hooks.shapes import suggestion
from hookrunner.model.modules import Decision, Module
from hookrunner.model.releases import Capabilities, RenderRequest
from hookrunner.model.resources import JSON
from hookrunner.model.values import GLOBAL
from hookrunner.modules.configured import Configured
from hookrunner.modules.enabled import Asks, Documents, Facts, Recalculation
from hookrunner.modules.shelf import Shelf
from hookrunner.values.config_sections import Config
from hookrunner.values.section import Origin
from hookrunner.values.values_store import ValuesStore


@dataclass(frozen=True, slots=True)
class Offline:
    """Modules with their values. `refused` has, by key, why what is configured cannot be used."""

    shelf: Shelf
    store: ValuesStore
    configured: Configured
    refused: Mapping[str, BadValues]

    def module(self, name: str) -> Module:
        """Raises BadInput if there is none of this name, BadModule if it cannot be loaded, BadValues if its values, or
        those that all share, cannot be used."""
        module = next((one for one in self.shelf.modules if one.name == name), None)
        if module is None:
            names = [one.name for one in self.shelf.modules]
            there = suggestion(name, names) or (f"; there are {', '.join(names)}" if names else "; there are none")
            raise BadInput(f"there is no module '{name}'{there}")
        if module.problem:
            raise BadModule(f"module {name}: {module.problem}")
        for key in (GLOBAL, module.key):
            if key in self.refused:
                raise self.refused[key]
        return module

    def key(self, section: str) -> str:
        """The key of a module, by its name, or of the global section. Raises as `module`."""
        if section != GLOBAL:
            return self.module(section).key
        if GLOBAL in self.refused:
            raise self.refused[GLOBAL]
        return GLOBAL

    def values(self, section: str, whole: bool = False) -> JSON:
        """The effective values; `whole` adds the global section. Raises as `module`."""
        key = self.key(section)
        return self.store.document(key) if whole else self.store.effective(key)

    def config(self, section: str, whole: bool = False) -> JSON:
        """What the user has set, None for nothing. Raises as `module`."""
        key = self.key(section)
        return self.store.config_document(key) if whole else self.store.config(key)

    def explain(self, section: str) -> list[Origin]:
        """Which layer has set each value. Raises as `module`."""
        return self.store.explain(self.key(section))

    def order(self, name: str, namespace: str, labels: Mapping[str, str], capabilities: Capabilities) -> RenderRequest:
        """How its chart is to be rendered for a first install. Raises as `module`, and BadValues for values that are
        not fit for templates."""
        module = self.module(name)
        self.store.for_helm(module.key)
        return RenderRequest(
            directory=module.directory,
            name=module.name,
            namespace=module.traits.namespace or namespace,
            values=self.store.document(module.key),
            capabilities=capabilities,
            install=True,
            labels=labels,
            quotes=True,
        )

    async def decisions(self, chain: Sequence[str], kubernetes: str, scripts: Asks) -> dict[str, Decision]:
        """Whether each module would be on, by name, and why."""
        modules = self.shelf.modules
        invalid = {key: str(error) for key, error in self.refused.items()}
        invalid |= {module.key: module.problem for module in modules if module.problem}
        plain, secret = self.configured.plain, self.configured.secret or Config()
        flags, unread = {**plain.enabled, **secret.enabled}, plain.bad_flags | secret.bad_flags
        facts = Facts(self.shelf.loaded.statics.enabled, {}, flags, invalid, frozenset(), kubernetes, unread)
        documents = {
            module.key: Documents(self.store.config_document(module.key), self.store.document(module.key))
            for module in modules
            if module.script
        }
        return await Recalculation(chain, facts, documents, scripts).decisions(modules)


def offline(shelf: Shelf, configured: Configured) -> Offline:
    """The modules with these values; what is configured is judged for all of them, also for those that are off."""
    store = ValuesStore(shelf.loaded.statics.sections, shelf.schemas)
    keys = frozenset(module.key for module in shelf.modules)
    adopted = store.adopt(configured.plain, configured.secret, keys)
    return Offline(shelf, store, configured, adopted.refused)
