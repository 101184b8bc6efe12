"""Puts together what keeps the `Addon` objects of `kubectl get addons`; nothing runs before `start`.

What is in the cluster is read by watches and release records, never asked for again and again. Like modules and
instances this is for one process: of two, the one in another namespace finds its objects marked as another's.
`installed_assembly.py` adds what is installed, if there are modules or addons.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Mapping

from hookrunner import log
from hookrunner.background import Background
from hookrunner.discovery.addon_controller import AddonController, InstalledVersions
from hookrunner.discovery.addon_kind import ADDONS, make_definition
from hookrunner.discovery.addon_objects import AddonObjects
from hookrunner.discovery.addon_queue import AddonQueue
from hookrunner.discovery.labelled_kind import LabelledKind
from hookrunner.engine.assembly import Kube
from hookrunner.errors import HookrunnerError
from hookrunner.kube.back_off import retry_forever
from hookrunner.model.needs import Urgency, UserNeed
from hookrunner.model.status import some
from hookrunner.releases.crds import Crds
from hookrunner.releases.manifest_objects import KindResolver
from hookrunner.settings import Settings
from kubetypes.light_dataclasses import dataclass

_log = log.get(__name__)
_ACTION = "see docs/addons.md, All addons in one list"


@dataclass(frozen=True, slots=True)
class InstalledPart:
    """What is installed, and the tasks that find out. `home` is the namespace of release records, `kinds` are those
    with which they are written, and `queue` takes the addons that have changed."""

    queue: AddonQueue
    home: str
    kinds: KindResolver
    components: InstalledVersions
    tasks: Mapping[str, Callable[[], Awaitable[None]]]


class AddonDiscovery:
    """The parts, with those of what is `installed`, None without modules and addons."""

    def __init__(self, settings: Settings, kube: Kube, installed: InstalledPart | None = None) -> None:
        self._kube = kube
        self._tasks = installed.tasks if installed else {}
        self._obstacle = ""
        self._tried = asyncio.Event()
        """Set after the first attempt to define the kind: before it, its watch would fail."""
        queue = installed.queue if installed else AddonQueue()
        home = installed.home if installed else settings.kube.namespace or kube.connection.namespace or "default"
        self._crds = Crds(kube.patcher, installed.kinds if installed else KindResolver(kube.discovery))
        self._objects = AddonObjects(kube.patcher, home, queue)
        self._labelled = [LabelledKind(name, kube.watches, queue) for name in settings.discovery.kinds]
        components = installed.components if installed else None
        self._controller = AddonController(self._objects, self._labelled, components, queue)

    def start(self, background: Background) -> None:
        """Begin with the definition of the kind."""
        background.keep("kind Addon", self._keep_definition)
        background.keep("objects of the kind Addon", self._follow_objects)
        background.keep("discovery", self._controller.work)
        for kind in self._labelled:
            background.keep(f"labelled {kind.name}", kind.follow)
        for name, run in self._tasks.items():
            background.keep(name, run)

    def conditions(self) -> dict[str, tuple[bool, str]]:
        """What keeps the list from being complete. It makes nothing unready: a restart would not complete it."""
        return {"discovery": (True, some([*map(str, self.needs())], "; "))}

    def needs(self) -> Iterator[UserNeed]:
        """The same, each on its own."""
        now = asyncio.get_running_loop().time()
        if self._obstacle:
            yield UserNeed(Urgency.FAILING, "discovery", "", self._obstacle, _ACTION)
        for kind in self._labelled:
            if obstacle := kind.obstacle(now):
                yield UserNeed(Urgency.FAILING, "discovery", kind.name, obstacle, _ACTION)
        for name, home in self._objects.foreign.items():
            message = f"is left alone: the hookrunner in namespace {home} writes it"
            yield UserNeed(Urgency.ADVICE, "discovery", name, message, _ACTION)

    async def _keep_definition(self) -> None:
        """Apply the definition, and again when someone has deleted it."""
        while True:
            await retry_forever(self._define, (HookrunnerError,), self._complain, self._kube.patcher.outage.rest)
            self._obstacle = ""
            self._tried.set()
            await self._objects.lost.next()

    async def _define(self) -> None:
        await self._crds.ensure([make_definition()], {})

    def _complain(self, error: Exception) -> None:
        level = "debug" if self._obstacle else "error"
        self._obstacle = f"the kind {ADDONS.kind} is not defined: {error}"
        _log.log(level, "definition of the kind Addon is not applied yet", error=error)
        self._tried.set()

    async def _follow_objects(self) -> None:
        await self._tried.wait()
        await self._objects.follow(self._kube.watches)
