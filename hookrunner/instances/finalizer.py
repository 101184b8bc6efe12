"""The finalizer of instances: the API server keeps a deleted instance until what it has installed is removed.

It is set before the first release record is written and removed last, so that nothing is left whenever the process
dies. Both are changes of a list that others change too, so they name the resourceVersion that they have read
(https://kubernetes.io/docs/concepts/overview/working-with-objects/finalizers/).
"""

from collections.abc import Callable, Sequence

from hookrunner.errors import Conflict, Denied, NotFound
from hookrunner.kube import refusals, writes
from hookrunner.kube.client import Client
from hookrunner.kube.writes import ObjectRef
from hookrunner.model.addons import FINALIZER, Addon, Instance

_ATTEMPTS = 5


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
    """Change the list as it is now; again if someone else was quicker. Raises NotFound for another object of the
    name."""
    ref = ObjectRef(addon.object.resource, instance.namespace, instance.name)
    for attempt in range(1, _ATTEMPTS + 1):
        metadata = await writes.read_metadata(client, ref)
        if metadata.get("uid") != instance.uid:
            raise NotFound(404, "NotFound", f"{instance.unit}: another object has its name now")
        before = metadata.get("finalizers") or []
        if (after := change(before)) == before:
            return
        patch = {"metadata": {"resourceVersion": metadata["resourceVersion"], "finalizers": after}}
        try:
            await writes.merge_patch(client, ref, patch)
        except Conflict:
            if attempt == _ATTEMPTS:
                raise
        except Denied as error:
            rule = refusals.rbac_rule(addon.object.resource, ["patch"])
            raise refusals.explain_rights(error, "set the finalizer of instances", rule) from error
        else:
            return
