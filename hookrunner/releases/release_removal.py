"""Removes releases: their objects and records, or leaves the objects to their users.

    await removal.uninstall("demo", "default")  # a module's
    kept = await removal.tear_down("dns.default.x", "addons", options, patience)  # an instance's
    await removal.forget("dns.default.x", "addons")  # only if something was kept

A record says `uninstalling` first and is deleted last, so that what was interrupted is repeated by the next process.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from typing import TypeAlias, TypeVar

from hookrunner.errors import ReleaseFailed
from hookrunner.model.releases import Head, KeptObject, ReleaseOptions
from hookrunner.releases import rollout
from hookrunner.releases.manifest_objects import ObjectId, ReleaseId, object_id
from hookrunner.releases.records.record import ReleaseRecord, RevisionStatus, now
from hookrunner.releases.records.release_store import ReleaseHistory, ReleaseStore, naming_release
from hookrunner.releases.release_tools import ReleaseTools
from kubetypes.json_values import JSON

_T = TypeVar("_T")
_Remove: TypeAlias = Callable[[Sequence[ReleaseRecord]], Awaitable[_T]]
"""Removes the objects that these records name; what is left of them."""

_DELETING = "Deletion in progress (or silently failed)"


class ReleaseRemoval:
    """Removes releases of one cluster. Errors are as for `Releases`."""

    def __init__(self, store: ReleaseStore, tools: ReleaseTools) -> None:
        self._store = store
        self._tools = tools

    async def uninstall(self, name: str, namespace: str, timeout: float = 1200.0, hooks: bool = True) -> bool:
        """Run delete hooks, if `hooks`, delete objects and records. Did the release exist? `timeout` is for each
        hook."""

        async def delete(records: Sequence[ReleaseRecord]) -> tuple[()]:
            tools = self._tools.of(ReleaseOptions())
            if hooks:
                await rollout.run_hooks(tools, records[-1], "pre-delete", timeout)
            await tools.applier.remove(await rollout.by_id(records), rollout.release_of(records[-1]))
            if hooks:
                await rollout.run_hooks(tools, records[-1], "post-delete", timeout)
            return ()

        return await self._remove(name, namespace, delete) is not None

    async def tear_down(
        self, name: str, namespace: str, options: ReleaseOptions, patience: float = 60.0
    ) -> tuple[KeptObject, ...]:
        """Uninstall, and wait in each stage until its objects are gone, at most `patience` seconds; the objects that
        stay on purpose. If there are any, the records stay too: nothing else knows of them, until `forget` is called.
        A release that does not exist is torn down already. An interrupted teardown is repeated.

        What was taken over from the predecessor goes back to it if that exists and stays. One that is torn down itself
        may have looked at the object already; it waits for a release that may give something back to it."""

        async def delete(records: Sequence[ReleaseRecord]) -> tuple[KeptObject, ...]:
            identity, everything = rollout.release_of(records[-1]), await rollout.by_id(records)
            heads = await self._store.read_heads(namespace)
            _require_returned(heads, name)
            before = heads.get(options.predecessor.name) if options.predecessor else None
            stays = options.predecessor if before and not before.is_leaving else None
            tools = self._tools.of(options)
            await rollout.run_hooks(tools, records[-1], "pre-delete", options.timeout)
            kept = await tools.teardown.delete(everything, identity, replace(options, predecessor=stays), patience)
            await rollout.run_hooks(tools, records[-1], "post-delete", options.timeout)
            return kept

        return await self._remove(name, namespace, delete) or ()

    async def abandon(self, name: str, namespace: str, options: ReleaseOptions) -> int:
        """Leave the objects of a release to their users, without the marks of `options`; how many there are. If there
        are any, the records stay until `forget` is called."""

        async def leave(records: Sequence[ReleaseRecord]) -> int:
            everything, identity = await rollout.by_id(records), rollout.release_of(records[-1])
            return await self._tools.of(options).teardown.abandon(everything, identity, options.marks)

        return await self._remove(name, namespace, leave) or 0

    async def forget(self, name: str, namespace: str) -> None:
        """Delete the records of a release of which only those objects are left that stay on purpose."""
        async with self._store.hold(name, namespace) as release:
            with naming_release(release):
                await self._delete_records(release)

    async def list_objects(self, name: str, namespace: str) -> tuple[ObjectId, ...]:
        """The objects that the readable records of a release name, whether they exist or not."""
        async with self._store.hold(name, namespace) as release:
            return tuple(await rollout.by_id((await release.read_previous()).records))

    async def has_lost_owner(self, head: Head, objects: Sequence[JSON], options: ReleaseOptions) -> bool:
        """Was the owner of the objects of a release deleted so that they should stay, as far as their owner references
        show?"""
        identity = ReleaseId(head.name, head.namespace)
        ids = [object_id(obj, identity) for obj in objects]
        return await self._tools.of(options).teardown.has_lost_owner(ids, identity, options.marks)

    async def _remove(self, name: str, namespace: str, remove: _Remove[_T]) -> _T | None:
        """Have the objects of a release removed, and then its records, unless objects are left; which. None if the
        release does not exist."""
        async with self._store.hold(name, namespace) as release:
            if not release.history:
                return None
            with naming_release(release):
                left = await remove(await self._mark_uninstalling(release))
                if not left:
                    await self._delete_records(release)
            return left

    async def _mark_uninstalling(self, release: ReleaseHistory) -> tuple[ReleaseRecord, ...]:
        """Record that the release is being deleted; the records whose objects may exist. Raises ReleaseFailed."""
        records = (await release.read_previous()).records
        if not records:
            mend = f"kubectl delete {release.kind.lower()} -n {release.namespace} -l owner=helm,name={release.name}"
            raise ReleaseFailed(
                f"its objects are unknown, because no revision can be read: delete them by hand, then {mend}"
            )
        await release.update(records[-1].with_status(RevisionStatus.UNINSTALLING, _DELETING, deleted=now()))
        return records

    async def _delete_records(self, release: ReleaseHistory) -> None:
        for revision in release.history:
            await release.delete(revision)


def _require_returned(heads: Mapping[str, Head], name: str) -> None:
    """Raise ReleaseFailed while one is torn down that was to take the place of this release, and may give objects back.
    Only one of both waits: each succession has a higher number."""
    own = heads[name].succession if name in heads else 0
    for head in heads.values():
        if head.predecessor == name and head.is_leaving and head.succession > own:
            raise ReleaseFailed(f"release {head.name} is removed first, to which some objects belong", brief=True)
