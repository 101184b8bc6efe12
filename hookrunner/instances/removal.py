"""What makes sure that nothing is left of instances, or all that their users want to keep: their finalizer, how their
objects are removed, and the purge of those that vanished without the finalizer.

    await FinalizerSetter(client).set(addon, instance)  # the API server keeps a deleted instance until it is removed
    await InstanceRemover(releases, client, events).remove(Removed(addon, instance, head), options, patience)
    await VanishedInstances(releases, client, notices, home).purge(cache)

The finalizer is set before the first release record is written and removed last, so that nothing is left whenever the
process dies. Both are changes of a list that others change too, so they name the resourceVersion that they have read
(https://kubernetes.io/docs/concepts/overview/working-with-objects/finalizers/).

Objects stay if the instance says so (`deletionPolicy: Orphan`), if it is not managed, or if it was deleted with
`kubectl delete --cascade=orphan`. The last is a finalizer, which the garbage collector removes as soon as it has taken
the owner references from the objects: so it is noted in the instance before anything else is done, and the missing
references tell of it too.

What stays on purpose is in the Event `Kept`, which is written before the records are deleted, since only they know of
it. A user may take the finalizer away while no process runs. Then only the release's record knows what is left.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace

from hookrunner import log
from hookrunner.controllers.event_recorder import EventSource, ObjectEvent
from hookrunner.convergence.events import Notice, Notices
from hookrunner.errors import Denied, KubeError, NotFound, ReleaseFailed
from hookrunner.instances.instance_informer import InstanceCache
from hookrunner.kube import refusals, writes
from hookrunner.kube.back_off import retry_forever
from hookrunner.kube.client import Client
from hookrunner.kube.writes import ObjectRef
from hookrunner.model.addons import (
    ADDON_LABEL,
    FINALIZER,
    ORPHAN,
    UNMANAGED,
    Addon,
    Instance,
    is_left_alone,
    reference_of,
)
from hookrunner.model.releases import (
    NEVER_PRUNED,
    Head,
    KeptObject,
    ObjectMarks,
    Predecessor,
    ReleaseOptions,
    ServiceAccount,
)
from hookrunner.model.status import some
from hookrunner.releases.manifest_objects import NAMESPACES
from hookrunner.releases.releases import Releases
from kubetypes.json_values import JSON
from kubetypes.light_dataclasses import dataclass

_AT_ONCE = 8
"""Finalizers that are set at the same time. Many instances at a start would open a connection for each, and the first
run would begin when the last one has its finalizer."""


_log = log.get(__name__)


class FinalizerSetter:
    """Sets the finalizers of all instances, a few at a time."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._turn = asyncio.Semaphore(_AT_ONCE)

    async def set(self, addon: Addon, instance: Instance) -> None:
        """Set it, unless it is set. Raises KubeError, also for an instance that is not managed any more, which a watch
        may show late: no one would remove its finalizer. NotFound if the object is gone."""
        add = _finalizers_by(lambda names: [*dict.fromkeys((*names, FINALIZER))])

        def change(metadata: JSON) -> JSON | None:
            if is_left_alone(metadata):
                raise KubeError(f"{instance.unit}: it has the annotation {UNMANAGED} now")
            return add(metadata)

        async with self._turn:
            await _patch(self._client, addon, instance, change, instance.document["metadata"])


async def remove_finalizer(client: Client, addon: Addon, instance: Instance) -> None:
    """Remove it; that the object is gone is as good. Raises KubeError."""
    try:
        change = _finalizers_by(lambda names: [name for name in names if name != FINALIZER])
        await _patch(client, addon, instance, change)
    except NotFound:
        return


def _finalizers_by(change: Callable[[Sequence[str]], list[str]]) -> Callable[[JSON], JSON | None]:
    """A change of metadata: that of the list of finalizers, None if it stays as it is."""

    def change_metadata(metadata: JSON) -> JSON | None:
        before = metadata.get("finalizers") or []
        after = change(before)
        return None if after == before else {"finalizers": after}

    return change_metadata


async def _patch(
    client: Client,
    addon: Addon,
    instance: Instance,
    change: Callable[[JSON], JSON | None],
    known: JSON | None = None,
) -> None:
    """Change the metadata of an instance as it is now. `known` is the metadata as a watch has shown it. Raises NotFound
    for another object of the name."""

    def patch_of(metadata: JSON) -> JSON | None:
        if metadata.get("uid") != instance.uid:
            raise NotFound(404, "NotFound", f"{instance.unit}: another object has its name now")
        changed = change(metadata)
        return {"metadata": {"resourceVersion": metadata["resourceVersion"]} | changed} if changed else None

    try:
        ref = ObjectRef(addon.object.resource, instance.namespace, instance.name)
        await writes.patch_metadata(client, ref, patch_of, known=known)
    except Denied as error:
        rule = refusals.rbac_rule(addon.object.resource, ["get", "patch"])
        raise refusals.explain_rights(error, "set the finalizer of instances", rule) from error


@dataclass(frozen=True, slots=True)
class Removed:
    """An instance of an addon whose release, with this head, is removed. `is_replaced`: its object stays, so that what
    happened to owner references says nothing about a deletion."""

    addon: Addon
    instance: Instance
    head: Head
    is_replaced: bool = False


@dataclass(frozen=True, slots=True)
class InstanceRemover:
    """Removes what instances have installed, or leaves it to their users."""

    releases: Releases
    client: Client
    events: EventSource

    async def remove(self, removed: Removed, options: ReleaseOptions, patience: float) -> None:
        """Remove a release, and tell what stays on purpose. Each object may take `patience` seconds to disappear.
        Raises ReleaseFailed, KubeError."""
        head = removed.head
        try:
            kept = await self._remove(removed, options, patience)
        except (KubeError, ReleaseFailed) as error:
            kept = await give_up_rights(self.releases, self.client, head, options.account, error)
        if kept:
            event = ObjectEvent("Kept", some([*map(str, kept)]), is_warning=False)
            await self.events.post(reference_of(removed.addon, removed.instance), event)
            await self.releases.removal.forget(head.name, head.namespace)

    async def _remove(self, removed: Removed, options: ReleaseOptions, patience: float) -> tuple[KeptObject, ...]:
        instance, head = removed.instance, removed.head
        options = replace(options, predecessor=_predecessor_of(head))
        reason = reason_to_leave(instance)
        if not (reason or removed.is_replaced) and await self._has_lost_owner(head, options):
            reason = "it was deleted with the policy Orphan"
        if not reason:
            return await self.releases.removal.tear_down(head.name, head.namespace, options, patience)
        await self._note(removed.addon, instance)
        left = await self.releases.removal.abandon(head.name, head.namespace, options)
        return (KeptObject(f"objects ({left})", reason),) if left else ()

    async def _has_lost_owner(self, head: Head, options: ReleaseOptions) -> bool:
        """Have the objects lost their owner? Records that cannot be read say nothing about that."""
        try:
            objects = await self.releases.read_manifest(head)
            return await self.releases.removal.has_lost_owner(head, objects, options)
        except ReleaseFailed:
            return False

    async def _note(self, addon: Addon, instance: Instance) -> None:
        """Let every later attempt come to the same decision. That the object is gone is as good."""
        if instance.is_unmanaged or instance.fields.deletion_policy == "Orphan":
            return
        with suppress(NotFound):
            await _patch(self.client, addon, instance, lambda _: {"annotations": {UNMANAGED: "true"}})


async def give_up_rights(
    releases: Releases, client: Client, head: Head, account: ServiceAccount | None, error: KubeError | ReleaseFailed
) -> tuple[KeptObject, ...]:
    """The objects that may be left of a release whose account has lost the rights to remove them with its namespace;
    without any its records are deleted. Raises `error` if that is not the reason for it; KubeError.

    The rights are deleted in no particular order: the namespace, which is that of the instance, would wait for ever for
    an instance that waits for rights. What is in it is deleted with it; the rest stays. An Event of that can hardly be
    written, since such a namespace takes no new objects, so the log has it."""
    if not (account and refusals.lacks_rights(error) and await _is_being_deleted(client, account.namespace)):
        raise error
    objects = await releases.removal.list_objects(head.name, head.namespace)
    reason = f"namespace {account.namespace} is being deleted, and with it the rights of {account}"
    left = tuple(KeptObject(str(each), reason) for each in objects if each.namespace != account.namespace)
    if left:
        names = some([each.object for each in left])
        _log.warn("objects outside of a deleted namespace may be left", release=head.name, objects=names)
    else:
        await releases.removal.forget(head.name, head.namespace)
    return left


async def _is_being_deleted(client: Client, namespace: str) -> bool:
    try:
        metadata = await writes.read_metadata(client, ObjectRef(NAMESPACES, name=namespace))
    except NotFound:
        return True
    return bool(metadata.get("deletionTimestamp"))


def _predecessor_of(head: Head) -> Predecessor | None:
    """The release whose place this one was to take: what was taken over from it goes back to it, if it stays."""
    return Predecessor(head.predecessor, head.succession) if head.predecessor else None


def reason_to_leave(instance: Instance) -> str:
    """Why the objects of an instance that is deleted stay, empty if they do not. Raises ReleaseFailed if it cannot be
    known."""
    if unclear := [problem for problem in instance.problems if problem.startswith("spec.deletionPolicy")]:
        raise ReleaseFailed(f"nothing is deleted, it is not clear whether it should be: {unclear[0]}")
    if ORPHAN in instance.finalizers:
        return "it was deleted with the policy Orphan"
    if instance.fields.deletion_policy == "Orphan":
        return "its deletionPolicy is Orphan"
    return f"its annotation {UNMANAGED} says so" if instance.is_unmanaged else ""


@dataclass(frozen=True, slots=True)
class VanishedInstances:
    """Purges releases of instances that exist no more; they are in the namespace `home`. `rest` waits between
    attempts."""

    releases: Releases
    client: Client
    notices: Notices
    home: str
    rest: Callable[[float], Awaitable[None]] = asyncio.sleep

    async def purge(self, cache: InstanceCache) -> bool:
        """Purge those of one addon, however long that takes; were there any? Its instances have been listed. One that
        cannot be purged holds up no other: its author may have seen to that."""
        purged = list[Head]()

        def report(error: Exception) -> None:
            _log.warn("a release without an instance is not purged yet", addon=cache.addon.name, error=error)

        async def purge_all() -> None:
            errors = list[KubeError | ReleaseFailed]()
            for head in vanished(await self.releases.list_heads(self.home), cache):
                try:
                    await self._purge(head, cache)
                    purged.append(head)
                except (KubeError, ReleaseFailed) as error:
                    errors.append(error)
            if errors:
                raise errors[0]

        await retry_forever(purge_all, (KubeError, ReleaseFailed), report, self.rest)
        return bool(purged)

    async def _purge(self, head: Head, cache: InstanceCache) -> None:
        if cache.get(head.name):  # it was created again meanwhile
            return
        if not _is_of_kind(await self.releases.read_manifest(head), cache.addon):
            _log.warn("a release of another kind of this addon stays as it is", release=head.name)
            return
        _log.info("purging the release of an instance that is gone", release=head.name)
        options = ReleaseOptions(
            marks=ObjectMarks({ADDON_LABEL: head.name}),
            respect_ignore=True,
            kept_kinds=NEVER_PRUNED,
            predecessor=_predecessor_of(head),
            account=head.account,
        )
        try:
            kept = await self.releases.removal.tear_down(head.name, head.namespace, options)
        except (KubeError, ReleaseFailed) as error:
            kept = await give_up_rights(self.releases, self.client, head, head.account, error)
        stays = f"; what stays: {some([*map(str, kept)])}" if kept else ""
        message = f"the instance {head.name} is gone: removed{stays}"
        self.notices.publish(Notice(head.name, "ReleasePurged", message, bad=False))
        if kept:
            await self.releases.removal.forget(head.name, head.namespace)


def _is_of_kind(objects: Sequence[JSON], addon: Addon) -> bool:
    """Was the release installed for an instance of the addon's present kind? Its objects have the label of the kind.
    The instances of a kind that the addon had before are not listed, so nothing is known of them."""
    labels = [(obj.get("metadata") or {}).get("labels") or {} for obj in objects]
    return not objects or any(addon.object.instance_label in each for each in labels)


def vanished(heads: Mapping[str, Head], cache: InstanceCache) -> list[Head]:
    """Those of an addon's releases whose instances do not exist, not even for their users to look after; none until the
    instances are listed."""
    ours = [head for head in heads.values() if head.owned and head.addon.partition(".")[0] == cache.addon.name]
    return [head for head in ours if cache.is_listed and cache.get(head.addon) is None]
