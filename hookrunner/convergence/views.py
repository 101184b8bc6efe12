"""What the debug endpoint shows of units, and its two actions: bring an earlier revision of a unit back, and have a
module take over objects."""

from collections.abc import Callable, Mapping, Sequence

import orjson

from hookrunner.convergence.events import Notice
from hookrunner.convergence.runs.diffs import Diffs
from hookrunner.convergence.runs.release_reconciler import ReleaseReconciler
from hookrunner.convergence.runs.unit_tasks import UnitTasks
from hookrunner.convergence.status import ModulesStatus
from hookrunner.convergence.unit_states import UnitStates
from hookrunner.engine.engine import Engine
from hookrunner.errors import ReleaseFailed
from hookrunner.model.bindings import Hook
from hookrunner.model.modules import GLOBAL
from hookrunner.model.releases import Adoption
from hookrunner.model.status import ModuleDump, RevisionDump, SnapshotDump
from hookrunner.model.unit_state import UnitState
from hookrunner.modules import graph
from hookrunner.releases.manifest_objects import object_id
from hookrunner.values.section_store import SectionStore
from hookrunner.web.views.pages import GraphForm, Layer
from kubetypes.json_values import JSON
from kubetypes.light_dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ViewSources:
    """Where the views look. `snapshots` takes a hook's full name."""

    states: UnitStates
    store: SectionStore
    releases: ReleaseReconciler
    tasks: UnitTasks
    engine: Engine
    diffs: Diffs
    snapshots: Callable[[str], Sequence[SnapshotDump] | None]


class UnitViews:
    """The endpoint's `web.views.pages.UnitPages`."""

    def __init__(self, sources: ViewSources) -> None:
        self._sources = sources

    def values(self, unit: str, layer: Layer, whole: bool) -> JSON:
        """Exactly what hooks are given."""
        files = self._sources.store.files(self._section(unit))
        document = orjson.loads(files.values if layer == "values" else files.config)
        key = GLOBAL if unit == GLOBAL else self._sources.states[unit].unit.key
        return document if whole else document[key]

    def explain(self, unit: str) -> JSON:
        """A row for each value: `path` (a JSON pointer), `value`, `layer`. What the Secret has set is not shown."""
        return [origin.shown() for origin in self._sources.store.explain(self._section(unit))]

    def patches(self, unit: str) -> JSON:
        """What hooks have patched in memory."""
        return self._sources.store.patches(self._section(unit))

    def hooks(self, unit: str) -> Sequence[str]:
        """Names of its hooks."""
        return sorted(hook.label for hook in self._hooks(unit))

    def snapshots(self, unit: str) -> Mapping[str, Sequence[SnapshotDump]]:
        """Those of hooks that have kubernetes bindings."""
        by_hook = {hook.label: self._sources.snapshots(hook.name) for hook in self._hooks(unit)}
        return {name: dumps for name, dumps in by_hook.items() if dumps}

    async def render(self, unit: str, debug: bool) -> str:
        """The manifests; `debug` adds Helm hooks and the notes."""
        state = self._sources.states[unit]
        if not state.unit.installs:
            return ""
        rendered = await self._sources.releases.render(state)
        return rendered.everything if debug else rendered.manifest

    async def diff(self, unit: str) -> str:
        """The objects as they would be, compared with those in the cluster."""
        state, releases = self._sources.states[unit], self._sources.releases
        if not state.unit.installs:
            return ""
        rendered = await releases.render(state)
        identity, plan = releases.locator.identity(state.unit), releases.plan(state).with_rendered(rendered)
        deployed = await releases.read_deployed_objects(state)
        return await self._sources.diffs.of(identity, rendered.objects, deployed, plan.options)

    async def revisions(self, unit: str) -> Sequence[RevisionDump]:
        """The revisions of its release, the latest last. Raises KubeError."""
        heads = await self._sources.releases.read_history(self._sources.states[unit])
        return [RevisionDump(head.revision, head.version, head.status, head.note) for head in heads]

    async def rollback(self, unit: str, revision: int | None) -> str:
        """Bring an earlier revision back and run the unit, which may have failed before."""
        state = self._sources.states[unit]
        head = await self._sources.releases.rollback(state, revision)
        kind = state.unit.kind
        text = f"{unit} is at revision {head.revision} now, until {kind.pinned_until}"
        self._sources.states.notices.publish(Notice(unit, kind.rolled_back, f"on request: {text}", bad=False))
        if state.on:
            self._sources.tasks.give_turn(state, "Rollback")
        return f"{text}\n"

    def _hooks(self, unit: str) -> Sequence[Hook]:
        if unit == GLOBAL:
            return [hook for hook in self._sources.engine.hooks.values() if hook.module == GLOBAL]
        return self._sources.states[unit].hooks

    def _section(self, unit: str) -> str:
        return unit if unit == GLOBAL else self._sources.states[unit].unit.section


class ModuleViews:
    """The endpoint's `web.views.pages.ModulePages`."""

    def __init__(self, sources: ViewSources, status: ModulesStatus) -> None:
        self._sources = sources
        self._status = status

    def knows(self, module: str) -> bool:
        """Is there such a module? An instance does not count: at its own path its objections are heard."""
        return self._sources.states.find_module(module) is not None

    def rows(self) -> Sequence[ModuleDump]:
        """All modules in their order, then the directories that cannot be one."""
        return self._status.rows()

    def enabled(self) -> Sequence[str]:
        """Names of modules that are on."""
        return [state.name for state in self._sources.states.enabled]

    def graph(self, form: GraphForm) -> str:
        """What waits for what, with the present decisions."""
        states = self._sources.states.modules
        drawn = graph.Graph([s.module for s in states], {s.name: s.decision for s in states})
        return {"text": graph.text, "mermaid": graph.mermaid, "dot": graph.dot}[form](drawn)

    async def resources(self) -> JSON:
        """`<namespace>/<Kind>/<name>` of the objects that are watched, by module; `No monitor` where none are."""
        return {state.name: await self._list_objects(state) for state in self._sources.states.enabled}

    async def adopt(self, module: str) -> Sequence[Adoption]:
        """Run the module once with the right to take over objects without a release, and of releases that are gone."""
        state = self._sources.states.module(module)
        if not state.on:
            choice, reason = state.decision.choice, state.decision.reason
            raise ReleaseFailed(f"{module} is {choice}, so nothing is taken over: {reason}; turn it on")
        if not state.unit.installs:
            raise ReleaseFailed(f"{module} has no chart, so there is nothing that it could take over")
        await self._sources.tasks.request_adoption(state)
        if state.error:
            done = (
                f"; taken over before that: {', '.join(map(str, state.release.adopted))}"
                if state.release.adopted
                else ""
            )
            raise ReleaseFailed(f"{module} has failed: {state.error}{done}")
        return state.release.adopted

    async def _list_objects(self, state: UnitState) -> JSON:
        releases = self._sources.releases
        if not releases.tracker.tracks(state.unit):
            return "No monitor"
        identity = releases.locator.identity(state.unit)
        return sorted(str(object_id(obj, identity)) for obj in await releases.read_deployed_objects(state))
