"""Carries one revision out: its Helm hooks, its objects, what is to go, what is to be waited for.

The order is Helm's: hooks before, objects, pruning, readiness, hooks after. Whatever is interrupted can be carried out
once more from the beginning.
"""

import asyncio
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field

from hookrunner.model.releases import HelmHook, Terms
from hookrunner.model.resources import JSON
from hookrunner.releases.applying import Applying
from hookrunner.releases.attempts import Attempt, Past
from hookrunner.releases.codec import Record
from hookrunner.releases.helm_hooks import HelmHooks, HookRun
from hookrunner.releases.ordering import Identity, ObjectId, object_id
from hookrunner.releases.readiness import Readiness

_SMALL = 8 * 1024
"""Characters of a manifest that are read in a millisecond."""


@dataclass(frozen=True, slots=True)
class Tools:
    """What changes one cluster. Everything raises KubeError, or ReleaseFailed with what to do."""

    applying: Applying
    hooks: HelmHooks
    readiness: Readiness


@dataclass(slots=True)
class Rollout:
    """One attempt. `written` counts the objects that were written or deleted, `runs` tells of its Helm hooks."""

    tools: Tools
    attempt: Attempt
    past: Past
    terms: Terms
    written: int = 0
    runs: list[HookRun] = field(default_factory=list)

    async def carry_out(self) -> None:
        """If the last attempt was cut short, nobody knows what was written, so that every object is looked at."""
        record, objects, verb = self.attempt.record, self.attempt.objects, self.attempt.verb
        identity, hooks = identity_of(record), record.hooks
        before, wanted = await by_id(self.past.records), {object_id(obj, identity_of(record)) for obj in objects}
        await self._run(hooks, f"pre-{verb}")
        doubtful = () if self.past.tidy else wanted
        self.written += (await self.tools.applying.apply(objects, identity, before, self.terms, doubtful)).written
        self.written += len(await self.tools.applying.remove(before.keys() - wanted, identity, spare=wanted))
        if self.terms.wait:
            await self.tools.readiness.ready(objects, identity.namespace, self.terms.timeout)
        await self._run(hooks, f"post-{verb}")

    def ended(self, error: str = "") -> Record:
        """The revision's record now that it was brought about, or not, and why."""
        runs = {(run.hook.path, run.hook.name): _told(run) for run in self.runs}
        return self.attempt.ended(error).ran(runs)

    async def _run(self, hooks: Iterable[HelmHook], event: str) -> None:
        identity = identity_of(self.attempt.record)
        async with aclosing(self.tools.hooks.run(hooks, event, identity, self.terms.timeout)) as runs:
            async for run in runs:
                self.runs.append(run)


async def repair(tools: Tools, record: Record, objects: Sequence[JSON], terms: Terms) -> int:
    """Bring these objects of a deployed revision back to what it says; how many were written."""
    identity = identity_of(record)
    wanted = {object_id(obj, identity): obj for obj in objects}
    return (await tools.applying.apply(objects, identity, wanted, terms, wanted.keys())).written


async def take_away(tools: Tools, records: Sequence[Record], timeout: float) -> None:
    """Remove the objects of all these revisions, of which the last has the hooks that count."""
    identity, hooks = identity_of(records[-1]), records[-1].hooks
    for event in ("pre-delete", "post-delete"):
        async with aclosing(tools.hooks.run(hooks, event, identity, timeout)) as runs:
            async for _ in runs:
                continue
        if event == "pre-delete":
            await tools.applying.remove(await by_id(records), identity)


async def forget(tools: Tools, records: Sequence[Record], numbers: Collection[int]) -> None:
    """Remove the objects that only the revisions of these numbers have."""
    known = await by_id([record for record in records if record.revision in numbers])
    spare = await by_id([record for record in records if record.revision not in numbers])
    await tools.applying.remove(known, identity_of(records[-1]), spare=spare)


def identity_of(record: Record) -> Identity:
    """Whose objects its objects are."""
    return Identity(record.name, record.namespace)


async def by_id(records: Sequence[Record]) -> Mapping[ObjectId, JSON]:
    """All objects of these revisions, each as the last of them has it. A manifest of a megabyte takes half a second to
    read, so nobody waits for it; a small one takes less time than a thread does to begin."""

    def read() -> Mapping[ObjectId, JSON]:
        return {object_id(obj, identity_of(record)): obj for record in records for obj in record.objects}

    small = sum(len(record.manifest) for record in records) <= _SMALL
    return read() if small else await asyncio.to_thread(read)


def _told(run: HookRun) -> JSON:
    """As Helm has it, which leaves out the time that there is not."""
    completed = {"completed_at": run.completed} if run.completed else {}
    return {"started_at": run.started, **completed, "phase": run.phase}
