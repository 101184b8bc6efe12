"""Small desired releases."""

from dataclasses import replace
from typing import Any

import yaml

from hookrunner.model.releases import (
    NEVER_PRUNED,
    DesiredRelease,
    HelmHook,
    ObjectMarks,
    OwnerReference,
    ReleaseOptions,
    RenderedChart,
)
from hookrunner.releases.records.record import now
from tests.fakes.objects import config_map


def configmap(name: str, **data: str) -> Any:
    """For the release's namespace."""
    return config_map(name, "", **data)


def hook(name: str, event: str, **data: str) -> HelmHook:
    """A ConfigMap: it is there as soon as it is written."""
    obj = configmap(name, **data)
    obj["metadata"]["annotations"] = {"helm.sh/hook": event}
    return HelmHook(name, "ConfigMap", f"demo/templates/{name}.yaml", _dumped(obj), obj, (event,))


def _dumped(obj: Any) -> str:
    return str(yaml.dump(obj, Dumper=yaml.CSafeDumper))


def wanted(
    digest: str, *objects: Any, hooks: tuple[HelmHook, ...] = (), namespace: str = "default", **options: Any
) -> DesiredRelease:
    """Release `demo`, of these objects."""
    manifest = "".join(f"---\n# Source: demo/templates/all.yaml\n{_dumped(obj)}" for obj in objects)
    chart: dict[str, Any] = {
        "metadata": {"name": "demo", "version": "0.2.0", "apiVersion": "v2"},
        "lock": None,
        "templates": [],
        "values": {},
        "schema": None,
        "files": [],
        "modtime": now(),
    }
    rendered = RenderedChart(manifest, objects, hooks, "", chart)
    return DesiredRelease(
        "demo", namespace, rendered, {"global": {}, "demo": {"digest": digest}}, digest, ReleaseOptions(**options)
    )


ADDON_OWNER = OwnerReference(
    "addons.example.com/v1", "Demo", "instance", "11111111-0000-4000-8000-000000000001", "default"
)
"""Of a kind that the sandbox does not serve: otherwise its garbage collector would delete the objects of an owner that
does not exist."""

ADDON_OPTIONS = ReleaseOptions(
    marks=ObjectMarks({"hookrunner.io/addon": "demo"}, ADDON_OWNER),
    dry_run=True,
    respect_ignore=True,
    recreate_jobs=True,
    kept_kinds=NEVER_PRUNED,
)


def addon(digest: str, *objects: Any, version: str = "1.0.0", **options: Any) -> DesiredRelease:
    """Release `demo` of an addon, whose owner is in its namespace."""
    desired = wanted(digest, *objects)
    return replace(desired, options=replace(ADDON_OPTIONS, **options), addon="demo", version=version)
