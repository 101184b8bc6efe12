"""The loops of the cloud while this process is the leader: made anew for each term, and for what the provider has.

    elector = make_elector(client, settings.leader_election)
    terms = LeaderTerms(provider.follow_capabilities, loops_for)
    await elector.run(terms.lead)   # one term after the other, each until it is cancelled or stopped
    terms.stop()                    # what is under way is finished, then `lead` returns

A loop that fails unexpectedly is started again, and holds up no other. When the provider loses or gains an interface,
the loops for it end or begin.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from typing import Protocol, TypeAlias

from hookrunner import log
from hookrunner.background import Background
from hookrunner.cloud.answers import CloudCapabilities
from hookrunner.controllers.leader_election import LeaderElector, new_identity
from hookrunner.controllers.lease import LeaseLock, LeaseTimes
from hookrunner.kube.client import Client
from hookrunner.settings import LeaderElectionSettings

_log = log.get(__name__)


class CloudLoop(Protocol):
    """A loop for one term as the leader. After `stop` it finishes what is under way, and `run` returns."""

    async def run(self) -> None:
        """Work."""
        ...

    def stop(self) -> None:
        """Begin nothing more."""
        ...


FollowCapabilities: TypeAlias = Callable[[], AsyncIterator[CloudCapabilities]]
"""What the provider has, as soon as that is known, and whenever it changes."""
MakeLoop: TypeAlias = Callable[[], CloudLoop]
LoopsFor: TypeAlias = Callable[[CloudCapabilities], Mapping[str, MakeLoop]]
"""The loops that run with these capabilities, by their names."""


class LeaderTerms:
    """`loops`: those of the present term, by name; none if this process does not lead. `background` has their health,
    None before the first term."""

    def __init__(self, follow_capabilities: FollowCapabilities, loops_for: LoopsFor) -> None:
        self.loops: dict[str, CloudLoop] = {}
        self.background: Background | None = None
        self._follow_capabilities = follow_capabilities
        self._loops_for = loops_for
        self._stopped = asyncio.Event()

    async def lead(self) -> None:
        """Run the loops until `stop`; to cancel it ends them at once."""
        try:
            async with asyncio.TaskGroup() as group:
                self.background = Background(group)
                feeding = group.create_task(self._keep_loops(self.background))
                await self._stopped.wait()
                feeding.cancel()
                for loop in self.loops.values():
                    loop.stop()
        finally:
            self.loops = {}

    def stop(self) -> None:
        """Begin nothing more, in this term and in any other."""
        self._stopped.set()

    async def _keep_loops(self, background: Background) -> None:
        async for capabilities in self._follow_capabilities():
            self._adopt(self._loops_for(capabilities), background)

    def _adopt(self, makers: Mapping[str, MakeLoop], background: Background) -> None:
        for name in self.loops.keys() - makers.keys():
            _log.info("loop ends, the provider lacks its interface", loop=name)
            self.loops.pop(name).stop()
        for name, make in makers.items():
            if name not in self.loops:
                self.loops[name] = loop = make()
                background.keep(name, loop.run, ends=True)
                _log.info("loop begins", loop=name)


def make_elector(client: Client, election: LeaderElectionSettings, reserve: float = 0.0) -> LeaderElector:
    """Who competes for the lease of these settings; it is reserved for so many seconds afterwards."""
    lock = LeaseLock(election.namespace, election.name, new_identity())
    times = LeaseTimes(election.lease_duration, election.renew_deadline, election.retry_period)
    return LeaderElector(client, lock, times, reserve)
