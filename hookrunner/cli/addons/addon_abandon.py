"""`hookrunner addon abandon`: leaves what an instance has installed to its users, without a running hookrunner.

The order is such that a hookrunner that does run changes nothing afterwards, and that the command can be repeated
wherever it was interrupted: the annotation first, which hookrunner obeys; then marks and owner references, by which the
garbage collector would delete the objects with the instance; then the records; the finalizer last.
"""

import asyncio
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import click

from hookrunner.addons.instance_fields import read_instance
from hookrunner.addons.offer.generic_kinds import addon_name
from hookrunner.cli.addons.instance_targets import of_instance
from hookrunner.cli.cluster_client import connect_cluster, of_cluster, read_cluster_settings
from hookrunner.cli.output import echo
from hookrunner.cli.shared import quiet, run_to_end
from hookrunner.cli.unit_targets import UnitTarget
from hookrunner.errors import BadInput
from hookrunner.instances.instance_planner import marks_of
from hookrunner.instances.removal import remove_finalizer
from hookrunner.kube import writes
from hookrunner.kube.client import Client
from hookrunner.kube.discovery import Discovery
from hookrunner.kube.watch import Watches
from hookrunner.kube.writes import ListOptions, ObjectRef
from hookrunner.metrics.names import Metrics
from hookrunner.model.addons import ADDON_LABEL, CATEGORY, UNMANAGED, Addon, AddonObject, Instance
from hookrunner.model.releases import ReleaseOptions
from hookrunner.model.resources import Resource
from hookrunner.releases.crds import DEFINITION
from hookrunner.releases.records.record_storage import Driver
from hookrunner.releases.releases import RecordSettings, Releases
from hookrunner.settings import Settings
from kubetypes.json_values import JSON
from kubetypes.light_dataclasses import dataclass

_RECORDS: dict[Driver, Resource] = {
    "secret": Resource("v1", "Secret", "secrets", namespaced=True),
    "configmap": Resource("v1", "ConfigMap", "configmaps", namespaced=True),
}
_SETTLED = 1.0
"""Seconds within which a running hookrunner has seen the annotation and ended its run."""


@dataclass(frozen=True, slots=True)
class _LiveTarget:
    """The instance that a command means, and as much of its addon as the cluster shows."""

    addon: Addon
    instance: Instance


@click.command("abandon")
@of_instance
@of_cluster
def addon_abandon(target: UnitTarget, kube_config: str, kube_context: str) -> None:
    """Stop managing an instance; everything that it has installed stays, and belongs to no one.

    \b
    hookrunner addon abandon coredns/default
    hookrunner addon abandon coredns/default -n kube-system --kube-context production

    It talks to the cluster and needs no running hookrunner, so it also frees an instance whose deletion waits for one
    that is gone. The instance gets the annotation hookrunner.io/unmanaged; without that hookrunner manages it again.
    Objects lose hookrunner's labels, Helm's marks and the reference to the instance. It can be repeated.
    """
    loaded = read_cluster_settings(kube_config, kube_context)
    with quiet():
        for line in run_to_end(_abandon(loaded, target.addon, target.name, target.namespace)):
            echo(line)


async def _abandon(loaded: Settings, addon: str, name: str, namespace: str) -> list[str]:
    """What was done, for a person. Raises BadInput, KubeError, ReleaseFailed."""
    async with connect_cluster(loaded) as (client, _):
        target = await _find(client, addon, name, namespace)
        ref = ObjectRef(target.addon.object.resource, target.instance.namespace, name)
        if not target.instance.is_unmanaged:
            await writes.merge_patch(client, ref, {"metadata": {"annotations": {UNMANAGED: "true"}}})
            await asyncio.sleep(_SETTLED)
        marks = marks_of(target.addon, target.instance)
        lines = [f"{addon}/{name}: annotated with {UNMANAGED}=true"]
        for driver, home in await _homes(client, target.instance.unit):
            removal, unit = _releases(client, driver, home).removal, target.instance.unit
            left = await removal.abandon(unit, home, ReleaseOptions(marks=marks))
            await removal.forget(unit, home)
            lines.append(f"release {home}/{unit}: {left} objects left, records deleted")
        await remove_finalizer(client, target.addon, target.instance)
        return [*lines, f"{addon}/{name}: not managed any more"]


def _releases(client: Client, driver: Driver, home: str) -> Releases:
    discovery = Discovery(client)
    return Releases(client, discovery, Watches(client, discovery, Metrics(), 75.0), RecordSettings(driver, 0, home))


async def _find(client: Client, addon: str, name: str, namespace: str) -> _LiveTarget:
    """The one instance of this name. Raises BadInput, KubeError."""
    definitions = await writes.read_list(client, ObjectRef(DEFINITION))
    targets = list[_LiveTarget]()
    for kind in map(_kind_of, filter(partial(_may_be_of, addon), definitions["items"])):
        ref = ObjectRef(kind.resource, namespace if kind.namespaced else "")
        found = await writes.read_list(client, ref, ListOptions(fields=f"metadata.name={name}"))
        targets += _matching(addon, kind, found["items"])
    if not targets:
        place = f" in namespace '{namespace}'" if namespace else ""
        raise BadInput(f"there is no {addon}/{name}{place} in the cluster; see `kubectl get {CATEGORY} -A`")
    if len(targets) > 1:
        places = ", ".join(sorted(target.instance.namespace for target in targets))
        raise BadInput(f"there are several {addon}/{name}: add -n with one of {places}")
    return targets[0]


def _matching(name: str, kind: AddonObject, items: list[JSON]) -> Iterator[_LiveTarget]:
    """Those objects of a kind that are instances of the addon. A definition does not name its addon: the release in
    the status does, or the kind is called like it."""
    addon = Addon(name, name, Path(), Path(), kind)
    for item in items:
        instance = read_instance(addon, {"apiVersion": kind.api_version, "kind": kind.kind, **item})
        is_alike = name.replace("-", "").lower() == kind.kind.lower()
        is_alike = is_alike or name == addon_name(kind.group, kind.kind)
        if instance.status.get("release") == instance.unit or is_alike:
            yield _LiveTarget(addon, instance)


def _may_be_of(addon: str, definition: JSON) -> bool:
    """May the kind be that of the addon? A definition of ours names no addon; one of its users, by a Generic, leads to
    the addon's name."""
    spec = definition["spec"]
    is_ours = CATEGORY in (spec["names"].get("categories") or ())
    return is_ours or addon_name(spec["group"], spec["names"]["kind"]) == addon


def _kind_of(definition: JSON) -> AddonObject:
    spec = definition["spec"]
    version = next(entry["name"] for entry in spec["versions"] if entry["storage"])
    return AddonObject(spec["names"]["kind"], spec["names"]["plural"], spec["group"], version, spec["scope"])


async def _homes(client: Client, unit: str) -> list[tuple[Driver, str]]:
    """Where the release has records: of which kind, in which namespaces."""
    homes = set[tuple[Driver, str]]()
    for driver, resource in _RECORDS.items():
        options = ListOptions(labels=f"owner=helm,{ADDON_LABEL}={unit}", metadata_only=True)
        listed = await writes.read_list(client, ObjectRef(resource), options)
        homes |= {(driver, record["metadata"]["namespace"]) for record in listed["items"]}
    return sorted(homes)
