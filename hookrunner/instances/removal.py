"""What makes sure that nothing is left of instances: their finalizer, and the purge of those that vanished without it.

    await add_finalizer(client, addon, instance)        # the API server keeps a deleted instance until it is removed
    await VanishedInstances(releases, notices, home).purge(cache)

The finalizer is set before the first release record is written and removed last, so that nothing is left whenever the
process dies. Both are changes of a list that others change too, so they name the resourceVersion that they have read
(https://kubernetes.io/docs/concepts/overview/working-with-objects/finalizers/).

A user may take the finalizer away while no process runs. Then only the release's record knows what is left.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from hookrunner import log
from hookrunner.convergence.events import Notice, Notices
from hookrunner.errors import Denied, KubeError, NotFound, ReleaseFailed
from hookrunner.instances.instance_informer import InstanceCache
from hookrunner.kube import refusals, writes
from hookrunner.kube.back_off import retry_forever
from hookrunner.kube.client import Client
from hookrunner.kube.writes import ObjectRef
from hookrunner.model.addons import ADDON_LABEL, FINALIZER, Addon, Instance
from hookrunner.model.releases import NEVER_PRUNED, Head, ObjectMarks, ReleaseOptions
from hookrunner.model.status import some
from hookrunner.releases.releases import Releases
from kubetypes.json_values import JSON

_log = log.get("addons.instances")


async def add_finalizer(client: Client, addon: Addon, instance: Instance) -> None:
    """Set it, unless it is set. Raises KubeError; NotFound if the object is gone."""
    if FINALIZER not in instance.finalizers:
        await _change(client, addon, instance, lambda names: [*dict.fromkeys((*names, FINALIZER))])


async def remove_finalizer(client: Client, addon: Addon, instance: Instance) -> None:
    """Remove it; that the object is gone is as good. Raises KubeError."""
    try:
        await _change(client, addon, instance, lambda names: [name for name in names if name != FINALIZER])
    except NotFound:
        return


async def _change(
    client: Client, addon: Addon, instance: Instance, change: Callable[[Sequence[str]], list[str]]
) -> None:
    """Change the list as it is now. Raises NotFound for another object of the name."""

    def patch_of(metadata: JSON) -> JSON | None:
        if metadata.get("uid") != instance.uid:
            raise NotFound(404, "NotFound", f"{instance.unit}: another object has its name now")
        before = metadata.get("finalizers") or []
        after = change(before)
        version = metadata["resourceVersion"]
        return None if after == before else {"metadata": {"resourceVersion": version, "finalizers": after}}

    try:
        ref = ObjectRef(addon.object.resource, instance.namespace, instance.name)
        await writes.patch_metadata(client, ref, patch_of)
    except Denied as error:
        rule = refusals.rbac_rule(addon.object.resource, ["get", "patch"])
        raise refusals.explain_rights(error, "set the finalizer of instances", rule) from error


@dataclass(frozen=True, slots=True)
class VanishedInstances:
    """Purges releases of instances that exist no more; they are in the namespace `home`."""

    releases: Releases
    notices: Notices
    home: str

    async def purge(self, cache: InstanceCache) -> None:
        """Purge those of one addon, however long that takes. Its instances have been listed."""

        def report(error: Exception) -> None:
            _log.warn("a release without an instance is not purged yet", addon=cache.addon.name, error=str(error))

        async def purge_all() -> None:
            for head in vanished(await self.releases.list_heads(self.home), cache):
                await self._purge(head, cache)

        await retry_forever(purge_all, (KubeError, ReleaseFailed), report)

    async def _purge(self, head: Head, cache: InstanceCache) -> None:
        if cache.get(head.name):  # it was created again meanwhile
            return
        _log.info("purging the release of an instance that is gone", release=head.name)
        marks = ObjectMarks({ADDON_LABEL: head.name})
        options = ReleaseOptions(marks=marks, respect_ignore=True, kept_kinds=NEVER_PRUNED)
        kept = await self.releases.tear_down(head.name, head.namespace, options)
        stays = f"; what stays: {some([*map(str, kept)])}" if kept else ""
        message = f"the instance {head.name} is gone: removed{stays}"
        self.notices.publish(Notice(head.name, "ReleasePurged", message, bad=False))


def vanished(heads: Mapping[str, Head], cache: InstanceCache) -> list[Head]:
    """Those of an addon's releases whose instances do not exist, not even for their users to look after; none until the
    instances are listed."""
    ours = [head for head in heads.values() if head.owned and head.addon.partition(".")[0] == cache.addon.name]
    return [head for head in ours if cache.is_listed and cache.get(head.addon) is None]
