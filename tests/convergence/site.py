"""Modules without a cluster and without processes, in virtual time: the real rounds, turns, tasks and steps of runs and
deletions. Hooks and releases take as long as a test says, fail when it says so, and remember that they were there."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from pathlib import Path

from hookrunner.background import Background
from hookrunner.convergence.assembly import connect
from hookrunner.convergence.decisions.config_object import ConfigObject, ConfigSources, Contents, Grace
from hookrunner.convergence.decisions.configuration import Extenders, UserConfiguration
from hookrunner.convergence.decisions.hook_values import HookValues
from hookrunner.convergence.decisions.module_decisions import ModuleDecisions
from hookrunner.convergence.events import Notices
from hookrunner.convergence.plan import Plan, Planners
from hookrunner.convergence.reactions import ClusterReactions, ConfigReactions
from hookrunner.convergence.runs.hook_loading import CompiledHooks
from hookrunner.convergence.runs.module_webhooks import ModuleWebhooks
from hookrunner.convergence.runs.unit_hooks import UnitHooks
from hookrunner.convergence.runs.unit_runner import UnitParts
from hookrunner.convergence.turns import TurnRules
from hookrunner.convergence.unit_states import UnitStates
from hookrunner.convergence.units import UnitWorld
from hookrunner.engine.engine import BindingActivator, Engine
from hookrunner.engine.queues import QueueParts
from hookrunner.engine.reviews.reviewer import ReviewDeclarations
from hookrunner.engine.run_deadlines import RunDeadlines
from hookrunner.engine.run_gate import RunGate
from hookrunner.engine.workers import QueueRuns, Queues
from hookrunner.errors import HookFailed, ReleaseFailed
from hookrunner.hooks.catalog import Catalog
from hookrunner.jq.program import Jq
from hookrunner.metrics.names import Metrics
from hookrunner.model.bindings import BindingType, Hook, HookConfig, Kubernetes, Schedule
from hookrunner.model.modules import Module, Traits
from hookrunner.model.releases import Capabilities, Head, ObjectDrift
from hookrunner.model.tasks import OPERATOR_STARTUP, HookRun, Task
from hookrunner.model.unit_state import UnitState
from hookrunner.model.units import Unit
from hookrunner.modules.discovery import sort_key
from hookrunner.modules.enabled import ScriptAnswer, ScriptValues
from hookrunner.settings.modules import EXTENDERS
from hookrunner.sources.monitors import Monitors, Streams
from hookrunner.sources.schedule import Schedules
from hookrunner.values.section_store import SectionStore
from hookrunner.waits import Notifier
from kubetypes.json_values import JSON
from tests.convergence.planners import FakePlanner
from tests.convergence.runs.webhook_cluster import Cluster, UnaskedReviewer
from tests.fakes.cluster import FakeCluster

BEFORE_HELM, AFTER_DELETE = {BindingType.BEFORE_HELM: 1}, {BindingType.AFTER_DELETE_HELM: 1}
NOWHERE = Path("/nowhere")


def module(name: str, weight: int, *requires: str, gate: bool = False) -> Module:
    """A module with a chart."""
    traits = Traits(gate=gate, modules=tuple((other, "") for other in requires))
    return Module(name, name, weight, NOWHERE, NOWHERE, chart=True, traits=traits)


class Work:
    """What happens: `history` has it in the order of its beginning, `times` when that was. A step takes as many seconds
    as `takes` says, and fails as long as it is in `fails`."""

    def __init__(self) -> None:
        self.history: list[str] = []
        self.times: list[float] = []
        self.begun = Notifier()
        self.takes: dict[str, float] = {}
        self.fails: set[str] = set()

    async def do(self, step: str) -> None:
        """One step. Raises ReleaseFailed for a release, HookFailed for a hook."""
        self.history.append(step)
        self.times.append(asyncio.get_running_loop().time())
        self.begun.notify()
        await asyncio.sleep(self.takes.get(step, 0.01))
        if step in self.fails:
            is_of_release = step.endswith((" release", " uninstall"))
            raise (ReleaseFailed if is_of_release else HookFailed)(f"{step}: no")


class HooksAtWork:
    """`a beforeHelm` for the hook `h`, with its name if it is called otherwise: `a/other beforeHelm`."""

    def __init__(self, work: Work) -> None:
        self._work = work

    async def run(self, hook: Hook, order: HookRun) -> None:
        await self._work.do(f"{hook.name.removesuffix('/h')} {order.binding}")


class ReleasesAtWork:
    """`a release` and `a uninstall`."""

    def __init__(self, work: Work) -> None:
        self.installed: set[str] = set()
        self._work = work

    async def head(self, state: UnitState) -> Head | None:
        name = state.name
        return Head(name, "default", 1, "deployed", owned=True) if name in self.installed else None

    async def reconcile(self, state: UnitState, plan: Plan) -> None:
        await self._work.do(f"{state.name} release")
        self.installed.add(state.name)

    async def last_values(self, state: UnitState) -> JSON:
        return None

    async def uninstall(self, state: UnitState) -> None:
        await self._work.do(f"{state.name} uninstall")
        self.installed.discard(state.name)

    def forget(self, state: UnitState) -> None: ...

    def prewarm(self) -> None: ...

    def may_depend(self, state: UnitState, before: Capabilities, present: Capabilities) -> bool:
        return False

    def needs_repair(self, state: UnitState, finding: ObjectDrift) -> bool:
        return False

    async def is_broken(self, state: UnitState) -> bool:
        return False


class NoDefinitions:
    """No module has any."""

    def __init__(self) -> None: ...

    async def apply(self, state: UnitState) -> None: ...


class StepsAlone:
    """Nothing is left of an earlier life, and there are no webhooks."""

    def __init__(self, decisions: ModuleDecisions) -> None:
        self.decisions = decisions

    async def decide(self) -> None:
        await self.decisions.decide()

    async def prepare_deletions(self, states: Sequence[UnitState]) -> None: ...

    async def define(self, states: Sequence[UnitState]) -> None: ...

    async def clean_up(self) -> None: ...


class NoHookRuns(QueueRuns):
    """Hooks run for their modules only."""

    def __init__(self) -> None: ...

    def observe_wait(self, task: Task) -> None: ...

    def retire(self, hook: Hook) -> None: ...


class NoExecutions:
    """No hook runs in a process."""

    def __init__(self) -> None:
        self.deadlines = RunDeadlines()

    async def forget_module(self, module: str) -> None:
        self.deadlines.forget(module)


class Served:
    """What a cluster serves."""

    def __init__(self) -> None:
        self._versions = asyncio.Queue[tuple[str, ...]]()
        self._now: tuple[str, ...] = ()

    def serve(self, *versions: str) -> None:
        """From now on it serves these, and no others."""
        self._versions.put_nowait(versions)

    async def get(self) -> Capabilities:
        return Capabilities("v1.35.0", self._now)

    async def changes(self) -> AsyncIterator[Capabilities]:
        while True:
            before, self._now = await self.get(), await self._versions.get()
            yield before


class Written(ConfigObject):
    """The ConfigMap, as the test writes it."""

    def __init__(self) -> None:
        self.contents = Contents()
        self.unseen, self.is_known = "", True
        self.grace = Grace(0.0)
        self._edits = asyncio.Queue[Contents]()

    def edit(self, contents: Contents) -> None:
        """Write it."""
        self._edits.put_nowait(contents)

    async def states(self) -> AsyncIterator[Contents]:
        while True:
            self.contents = await self._edits.get()
            yield self.contents


class NoScripts:
    """No module has one."""

    async def ask(self, module: Module, documents: ScriptValues, enabled: Sequence[str]) -> ScriptAnswer:
        raise NotImplementedError


class Site:
    """These modules; `hooks` says what lifecycle bindings each one's hooks have, by module and hook. `off` are those
    that are not turned on from the beginning. With `listens` each hook also watches Pods and runs each hour."""

    def __init__(
        self,
        background: Background,
        *modules: Module,
        hooks: dict[str, dict[str, dict[BindingType, int]]] | None = None,
        off: str = "",
        strict: bool = False,
        listens: bool = False,
    ) -> None:
        self._listens = listens
        clock, metrics = asyncio.get_running_loop().time, Metrics("")
        self.work, self.config = Work(), Written()
        self._hooks = hooks or {}
        self.background = background
        self._data = {f"{given.name}Enabled": "true" for given in modules if given.name not in off.split()}
        store = SectionStore({}, {given.key: NO_SCHEMAS for given in modules})
        self.states = UnitStates(sorted(modules, key=sort_key))
        self.releases = ReleasesAtWork(self.work)
        jq, schedules = Jq(workers=1), Schedules()
        self.metrics, self.streams = metrics, Streams(FakeCluster().watch, background, metrics)
        monitors = Monitors(self.streams, jq, background, metrics, clock)
        gate = RunGate(monitors, clock, metrics)
        queues = Queues(QueueParts(gate, clock, metrics))
        enabling = BindingActivator(monitors, schedules, jq, metrics, clock)
        self.engine = Engine(NoHookRuns(), enabling, queues, gate, background)
        self.engine.start([], monitors, schedules)
        hooks_ = UnitHooks(self._load, self.engine, enabling, HooksAtWork(self.work).run, CompiledHooks(Notices()))
        declared = ReviewDeclarations((), UnaskedReviewer(), lacking=False)
        webhooks = ModuleWebhooks(self.states, hooks_, declared, Cluster(declared), True)
        extenders = Extenders(EXTENDERS, {}, {}, NoScripts())
        self.served = Served()
        configuration = UserConfiguration(extenders, self.states, store, ConfigSources(self.config))
        self.decisions = ModuleDecisions(configuration, self.states, store, self.served.get)
        world = UnitWorld(
            self.states,
            UnitParts(hooks_, webhooks, self.releases, store),
            Planners(FakePlanner()),
            NoDefinitions(),
            HookValues(store, self.config, {}),
            self.engine,
            NoExecutions(),
            queues,
            metrics,
            clock,
            grace=25.0,
        )
        core = connect(world, StepsAlone(self.decisions), TurnRules(30.0, strict))
        self.tasks, self.converge, self.units, self._turns = core.tasks, core.converge, core.units, core.turns
        self.reactions = ConfigReactions(core.requests, self.decisions, self.releases.prewarm)
        self.cluster_reactions = ClusterReactions(core.requests, self.releases)
        self.store, self.queues = store, queues

    async def start(self) -> None:
        """Begin, and wait until the first converge is over."""
        self.config.contents = Contents(self._data)
        self.decisions.configuration.adopt()
        self.converge.request(OPERATOR_STARTUP, at_once=False)
        self.background.keep("converge", self.converge.keep)
        self.background.keep("turns", self._turns.dispatch)
        self.background.keep("config", lambda: self.reactions.follow_config(self.config.states()))
        self.background.keep("decisive edits", self.reactions.follow_decisive_edits)
        self.background.keep("scripts", self.reactions.follow_scripts)
        self.background.keep("capabilities", lambda: self.cluster_reactions.follow_capabilities(self.served))
        await self.converge.converged.wait()

    def edit(self, **data: str) -> None:
        """Set keys of the ConfigMap; `GLOBAL` is `global`."""
        self._data |= {{"GLOBAL": "global"}.get(key, key): text for key, text in data.items()}
        self.config.edit(Contents(self._data))

    def now(self) -> float:
        """Virtual seconds."""
        return asyncio.get_running_loop().time()

    async def asked(self, name: str) -> None:
        """Wait until something more is asked of a module."""
        before = self.states[name].requested
        # Virtual time passes only while a task sleeps.
        while self.states[name].requested == before:  # noqa: ASYNC110
            await asyncio.sleep(0.01)

    async def ended(self, name: str) -> None:
        """Wait until the step of a module that has begun is over."""
        await asyncio.sleep(max(self.work.takes.values(), default=0.0) + 0.1)

    async def reaches(self, *steps: str) -> None:
        """Wait until these have begun since the last look at the history."""
        while not set(steps) <= set(self.work.history):
            await self.work.begun.next()

    async def rests(self) -> list[str]:
        """What has happened since the last look, when nothing more happens by itself for a second but retries."""
        quiet, before = 0, len(self.work.history)
        while quiet < 2:  # twice, since what ends now may let something begin now
            await asyncio.sleep(0.5)
            is_quiet = len(self.work.history) == before and not self.converge.is_busy and not self._busy()
            quiet, before = quiet + 1 if is_quiet else 0, len(self.work.history)
        return self.seen()

    def seen(self) -> list[str]:
        """What has happened since the last look."""
        history, self.work.history, self.work.times = self.work.history, [], []
        return history

    def _busy(self) -> bool:
        return any(state.busy_since is not None for state in self.states.units)

    async def _load(self, unit: Unit) -> Catalog:
        hooks = self._hooks.get(unit.hooks_of or unit.name, {"h": BEFORE_HELM})
        pods = Kubernetes("pods", "Pod", namespaces=(unit.name,), wait_for_synchronization=False)
        listens = HookConfig("v1", kubernetes=(pods,), schedules=(Schedule("hourly", "0 * * * *"),))
        plain = listens if self._listens else HookConfig("v1")
        config = {name: replace(plain, lifecycle=bindings) for name, bindings in hooks.items()}
        return Catalog(tuple(Hook(f"{unit.name}/{name}", NOWHERE, own, unit.name) for name, own in config.items()))


class _NoSchemas:
    config = values = helm = None


NO_SCHEMAS = _NoSchemas()
