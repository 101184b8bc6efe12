"""What the debug endpoint shows of modules, and the two things that it can do: bring an earlier revision back, and have
a module take over objects."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import orjson

from hookrunner.convergence.notices import Item
from hookrunner.convergence.runs.diffs import Diffs
from hookrunner.convergence.runs.module_tasks import Tasks
from hookrunner.convergence.runs.release_reconciler import Releasing
from hookrunner.convergence.state import ModuleState, ModuleStates
from hookrunner.convergence.status import ModulesStatus
from hookrunner.engine.engine import Engine
from hookrunner.errors import ReleaseFailed
from hookrunner.model.bindings import Hook
from hookrunner.model.releases import Adoption
from hookrunner.model.resources import JSON
from hookrunner.model.status import ModuleDump, SnapshotDump
from hookrunner.model.values import GLOBAL
from hookrunner.modules import graph
from hookrunner.releases.manifest_objects import object_id
from hookrunner.values.store import Store


@dataclass(frozen=True, slots=True)
class Seen:
    """What the views look at. `snapshots` takes a hook's full name."""

    states: ModuleStates
    status: ModulesStatus
    store: Store
    engine: Engine
    releasing: Releasing
    tasks: Tasks
    diffs: Diffs
    snapshots: Callable[[str], Sequence[SnapshotDump] | None]


class ModuleViews:
    """The endpoint's `web.modules.Modules`."""

    def __init__(self, seen: Seen) -> None:
        self._seen = seen

    def knows(self, section: str) -> bool:
        """Is there such a module?"""
        return self._seen.states.get(section) is not None

    def rows(self) -> Sequence[ModuleDump]:
        """All modules in their order, then directories that can be none."""
        return self._seen.status.rows()

    def enabled(self) -> Sequence[str]:
        """Names of modules that are on."""
        return [state.module.name for state in self._seen.states.enabled]

    def values(self, section: str, layer: Literal["values", "config"], whole: bool) -> JSON:
        """Exactly what hooks are given."""
        key = self._key(section)
        files = self._seen.store.files(key)
        document = orjson.loads(files.values if layer == "values" else files.config)
        return document if whole else document[key]

    def explain(self, section: str) -> JSON:
        """A row for each value: `path` (a JSON pointer), `value`, `layer`. What the Secret has set is not shown."""
        return [origin.shown() for origin in self._seen.store.explain(self._key(section))]

    def patches(self, section: str) -> JSON:
        """What hooks have patched in memory."""
        return self._seen.store.patches(self._key(section))

    def hooks(self, section: str) -> Sequence[str]:
        """Names of its hooks."""
        return sorted(hook.label for hook in self._hooks(section))

    def snapshots(self, section: str) -> Mapping[str, Sequence[SnapshotDump]]:
        """Those of hooks that have kubernetes bindings."""
        found = {hook.label: self._seen.snapshots(hook.name) for hook in self._hooks(section)}
        return {name: dumps for name, dumps in found.items() if dumps}

    def graph(self, form: Literal["text", "mermaid", "dot"]) -> str:
        """What waits for what, with the decisions of this moment."""
        states = list(self._seen.states)
        drawn = graph.Graph([s.module for s in states], {s.module.name: s.decision for s in states})
        return {"text": graph.text, "mermaid": graph.mermaid, "dot": graph.dot}[form](drawn)

    async def resources(self) -> JSON:
        """`<namespace>/<Kind>/<name>` of the objects that are followed, by module; `No monitor` where none are."""
        return {state.module.name: await self._followed(state) for state in self._seen.states.enabled}

    async def render(self, section: str, debug: bool) -> str:
        """The manifests; `debug` adds Helm hooks and the notes."""
        state = self._seen.states[section]
        if not state.module.chart:
            return ""
        rendered = await self._seen.releasing.render(state)
        return rendered.everything if debug else rendered.manifest

    async def diff(self, section: str) -> str:
        """Objects as they would be compared with what is in the cluster."""
        state = self._seen.states[section]
        if not state.module.chart:
            return ""
        releasing = self._seen.releasing
        rendered = await releasing.render(state)
        identity = releasing.places.identity(state.module)
        return await self._seen.diffs.of(identity, rendered.objects, await releasing.deployed(state))

    async def rollback(self, section: str, revision: int | None) -> str:
        """Bring an earlier revision back and have the module run, which may have failed before."""
        state = self._seen.states[section]
        head = await self._seen.releasing.rollback(state, revision)
        text = f"{section} is at revision {head.revision} now, until its values or its chart change"
        self._seen.states.news.tell(Item(section, "ModuleRolledBack", f"on request: {text}", bad=False))
        if state.on:
            self._seen.tasks.ask(state, "Rollback")
        return f"{text}\n"

    async def adopt(self, section: str) -> Sequence[Adoption]:
        """Have the module run once with the right to take over objects of no release, and of releases that are gone."""
        state = self._seen.states[section]
        if not state.on:
            choice = state.decision
            raise ReleaseFailed(f"{section} is {choice.choice}, so nothing is taken over: {choice.reason}; turn it on")
        if not state.module.chart:
            raise ReleaseFailed(f"{section} has no chart, so there is nothing that it could take over")
        await self._seen.tasks.adopt(state)
        if state.error:
            done = f"; taken over before that: {', '.join(map(str, state.adopted))}" if state.adopted else ""
            raise ReleaseFailed(f"{section} has failed: {state.error}{done}")
        return state.adopted

    async def _followed(self, state: ModuleState) -> JSON:
        if not self._seen.releasing.following.follows(state.module):
            return "No monitor"
        identity = self._seen.releasing.places.identity(state.module)
        return sorted(str(object_id(obj, identity)) for obj in await self._seen.releasing.deployed(state))

    def _hooks(self, section: str) -> Sequence[Hook]:
        if section == GLOBAL:
            return [hook for hook in self._seen.engine.hooks.values() if hook.module == GLOBAL]
        return self._seen.states[section].hooks

    def _key(self, section: str) -> str:
        return section if section == GLOBAL else self._seen.states[section].module.key
