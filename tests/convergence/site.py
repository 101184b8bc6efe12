"""Modules without a cluster and without processes, in virtual time: the real rounds, turns, tasks and steps of runs and
deletions. Hooks and releases take as long as a test says, fail when it says so, and remember that they were there."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from pathlib import Path

from hookrunner.background import Background
from hookrunner.convergence.compiled import CompiledHooks
from hookrunner.convergence.deciding import Deciding, Extenders
from hookrunner.convergence.definitions import Definitions
from hookrunner.convergence.deleting import Deleting
from hookrunner.convergence.grace import Grace
from hookrunner.convergence.hooks import ModuleHooks
from hookrunner.convergence.known import KnownCapabilities
from hookrunner.convergence.news import News
from hookrunner.convergence.objects import ConfigObject, Contents
from hookrunner.convergence.reactions import Reactions
from hookrunner.convergence.releasing import Releasing
from hookrunner.convergence.rounds import Rounds
from hookrunner.convergence.running import Running
from hookrunner.convergence.sources import Sources
from hookrunner.convergence.state import State, States
from hookrunner.convergence.steps import Steps
from hookrunner.convergence.tasks import Tasks
from hookrunner.convergence.turns import Rules
from hookrunner.convergence.webhooks import ModuleWebhooks
from hookrunner.engine.direct import DirectRuns
from hookrunner.engine.enabling import Enabling
from hookrunner.engine.engine import Engine
from hookrunner.engine.hook_runs import HookRuns
from hookrunner.engine.progress import Progress
from hookrunner.engine.queue_set import Queues
from hookrunner.engine.reviews.reviewer import Declared
from hookrunner.errors import HookFailed
from hookrunner.hooks.catalog import Catalog
from hookrunner.jq.program import Jq
from hookrunner.metrics.names import Metrics
from hookrunner.model.bindings import BindingType, Hook, HookConfig
from hookrunner.model.modules import Module, Traits
from hookrunner.model.releases import Capabilities, Head
from hookrunner.model.resources import JSON
from hookrunner.model.tasks import OPERATOR_STARTUP, HookRun, Task, own_queue
from hookrunner.modules.enabled import Answer
from hookrunner.modules.scripts import Documents
from hookrunner.settings.modules import EXTENDERS
from hookrunner.sources.monitors import Monitors
from hookrunner.sources.schedule import Schedules
from hookrunner.sources.streams import Streams
from hookrunner.values.store import Store
from tests.convergence.test_webhooks import Cluster, Nobody
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
        self.begun = Progress()
        self.takes: dict[str, float] = {}
        self.fails: set[str] = set()

    async def do(self, step: str) -> None:
        """One step. Raises HookFailed."""
        self.history.append(step)
        self.times.append(asyncio.get_running_loop().time())
        self.begun.happened()
        await asyncio.sleep(self.takes.get(step, 0.01))
        if step in self.fails:
            raise HookFailed(f"{step}: no")


class HooksAtWork(DirectRuns):
    """`a beforeHelm` for the hook `h`, with its name if it is called otherwise: `a/other beforeHelm`."""

    def __init__(self, work: Work) -> None:
        self._work = work

    async def run(self, hook: Hook, order: HookRun) -> None:
        await self._work.do(f"{hook.name.removesuffix('/h')} {order.binding}")


class ReleasesAtWork(Releasing):
    """`a release` and `a uninstall`."""

    def __init__(self, work: Work) -> None:
        self.installed: set[str] = set()
        self._work = work

    async def head(self, state: State) -> Head | None:
        name = state.module.name
        return Head(name, "default", 1, "deployed", owned=True) if name in self.installed else None

    async def settle(self, state: State) -> None:
        await self._work.do(f"{state.module.name} release")
        self.installed.add(state.module.name)

    async def last_values(self, state: State) -> JSON:
        return None

    async def uninstall(self, state: State) -> None:
        await self._work.do(f"{state.module.name} uninstall")
        self.installed.discard(state.module.name)

    def expect(self) -> None: ...

    def reads_capabilities(self, state: State) -> bool:
        return False


class NoDefinitions(Definitions):
    """No module has any."""

    def __init__(self) -> None: ...

    async def apply(self, state: State) -> None: ...


class StepsAlone(Steps):
    """Nothing is left of an earlier life, and there are no webhooks."""

    def __init__(self, deciding: Deciding) -> None:
        self.deciding = deciding

    async def decide(self) -> None:
        await self.deciding.decide()

    async def withdraw(self, states: list[State]) -> None: ...

    async def define(self, states: list[State]) -> None: ...

    async def clean_up(self) -> None: ...


class NoHookRuns(HookRuns):
    """Hooks run for their modules only."""

    def __init__(self) -> None: ...

    def waited(self, task: Task) -> None: ...

    def forget(self, hook: str) -> None: ...


class Served(KnownCapabilities):
    """What a cluster serves."""

    def __init__(self) -> None:
        self._versions = asyncio.Queue[tuple[str, ...]]()
        self._now: tuple[str, ...] = ()

    def serve(self, *versions: str) -> None:
        """From now on it serves these, and no others."""
        self._versions.put_nowait(versions)

    async def get(self) -> Capabilities:
        return Capabilities("v1.35.0", self._now)

    async def changes(self) -> AsyncIterator[None]:
        while True:
            self._now = await self._versions.get()
            yield


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

    async def ask(self, module: Module, documents: Documents, enabled: Sequence[str]) -> Answer:
        raise NotImplementedError


class Site:
    """These modules; `hooks` says what lifecycle bindings each one's hooks have, by module and hook. `off` are those
    that are not turned on from the beginning."""

    def __init__(
        self,
        background: Background,
        *modules: Module,
        hooks: dict[str, dict[str, dict[BindingType, int]]] | None = None,
        off: str = "",
        strict: bool = False,
    ) -> None:
        clock, metrics = asyncio.get_running_loop().time, Metrics("")
        self.work, self.config = Work(), Written()
        self._hooks = hooks or {}
        self._background = background
        self._data = {f"{one.name}Enabled": "true" for one in modules if one.name not in off.split()}
        store = Store({}, {one.key: NO_SCHEMAS for one in modules})
        self.states = States(sorted(modules, key=lambda one: (one.weight, one.name)))
        self.releasing = ReleasesAtWork(self.work)
        queues = Queues(lambda order: None, clock, metrics, 100)
        jq, schedules = Jq(workers=1), Schedules()
        monitors = Monitors(Streams(FakeCluster().watch, background, metrics), jq, background, metrics, clock)
        self.engine = Engine(NoHookRuns(), Enabling(monitors, schedules, jq, metrics, clock), queues, background)
        self.engine.start([], monitors, schedules)
        hooks_ = ModuleHooks(self._load, self.engine, HooksAtWork(self.work), CompiledHooks(News()))
        declared = Declared((), Nobody(), lacking=False)
        webhooks = ModuleWebhooks(self.states, hooks_, declared, Cluster(declared), True)
        running = Running(hooks_, webhooks, NoDefinitions(), self.releasing, store)
        deleting = Deleting(hooks_, webhooks, self.releasing, store)
        self.tasks = Tasks(self.states, (running, deleting), queues, metrics, clock)
        self.engine.modules = self.tasks
        for one in modules:
            self.engine.open(own_queue(one.name))
        extenders = Extenders(EXTENDERS, {}, dict, NoScripts())
        self.served = Served()
        self.deciding = Deciding(extenders, self.states, store, self.served, Sources(self.config))
        self.rounds = Rounds(
            self.states, self.tasks, StepsAlone(self.deciding), self.engine, Rules(30.0, strict), metrics
        )
        self.reactions = Reactions(self.states, self.deciding, self.rounds, self.tasks, self.releasing)

    async def start(self) -> None:
        """Begin, and wait until the first converge is over."""
        self.config.contents = Contents(self._data)
        self.deciding.adopt()
        self.rounds.ask(OPERATOR_STARTUP, at_once=False)
        self._background.keep("converge", self.rounds.keep)
        self._background.keep("turns", self.rounds.advance)
        self._background.keep("config", lambda: self.reactions.follow_config(self.config))
        self._background.keep("edits", self.reactions.follow_edits)
        self._background.keep("scripts", self.reactions.follow_scripts)
        self._background.keep("capabilities", lambda: self.reactions.follow_capabilities(self.served))
        await self.rounds.converged.wait()

    def edit(self, **data: str) -> None:
        """Set keys of the ConfigMap; `GLOBAL` is `global`."""
        self._data |= {{"GLOBAL": "global"}.get(key, key): text for key, text in data.items()}
        self.config.edit(Contents(self._data))

    def now(self) -> float:
        """Virtual seconds."""
        return asyncio.get_running_loop().time()

    async def asked(self, name: str) -> None:
        """Wait until something more is asked of a module."""
        before = self.states[name].asked
        # Virtual time passes only where somebody sleeps.
        while self.states[name].asked == before:  # noqa: ASYNC110
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
            is_quiet = len(self.work.history) == before and not self.rounds.busy and not self._busy()
            quiet, before = quiet + 1 if is_quiet else 0, len(self.work.history)
        return self.seen()

    def seen(self) -> list[str]:
        """What has happened since the last look."""
        history, self.work.history, self.work.times = self.work.history, [], []
        return history

    def _busy(self) -> bool:
        return any(state.busy_since is not None for state in self.states)

    async def _load(self, module: Module) -> Catalog:
        hooks = self._hooks.get(module.name, {"h": BEFORE_HELM})
        config = {name: HookConfig("v1", lifecycle=bindings) for name, bindings in hooks.items()}
        return Catalog(tuple(Hook(f"{module.name}/{name}", NOWHERE, one, module.name) for name, one in config.items()))


class _NoSchemas:
    config = values = helm = None


NO_SCHEMAS = _NoSchemas()
