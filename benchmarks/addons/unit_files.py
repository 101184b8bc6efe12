"""The files of modules, and of an addon, with the same chart of ten objects and a hook that tells when a run ends."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import yaml

from benchmarks import charts, hooks

OBJECTS = 10
"""In the chart."""

ADDON = "unit"
"""Releases of its instances are called as the modules: `unit-aa`."""

VERSION = "1.0.0"
_HOOK = {"done.sh": hooks.writes({"configVersion": "v1", "afterHelm": 1}, "done")}


def write_modules(directory: Path, names: Sequence[str]) -> None:
    """Put `modules/` into a directory."""
    modules = directory / "modules"
    for name in names:
        module, key = modules / f"010-{name}", charts.key(name)
        charts.write_chart(module, name, _chart(key))
        (module / "values.yaml").write_text(yaml.safe_dump({key: {"size": 1}}))
        hooks.write(module / "hooks", _HOOK)
    flags = {f"{charts.key(name)}Enabled": True for name in names}
    (modules / "values.yaml").write_text(yaml.safe_dump({"global": {"color": "red"}} | flags))


def write_addon(directory: Path, group: str) -> None:
    """Put `addons/` into a directory, with one addon, whose kind `Unit` is in this group."""
    addon = directory / "addons" / ADDON
    package = addon / "channels" / "packages" / ADDON / VERSION
    charts.write_chart(package, ADDON, _chart(ADDON))
    hooks.write(addon / "hooks", _HOOK)
    (addon / "openapi").mkdir()
    for path, document in {
        addon / "addon.yaml": {"object": {"kind": "Unit", "group": group}, "instances": "many"},
        addon / "values.yaml": {"global": {"color": "red"}},
        addon / "openapi/spec.yaml": {"type": "object", "properties": {"size": {"type": "integer"}}},
        addon / "channels/stable": {"manifests": [{"version": VERSION}]},
        package / "package.yaml": {"description": "Ten objects"},
        package / "Chart.yaml": {"apiVersion": "v2", "name": ADDON, "version": VERSION},
    }.items():
        path.write_text(yaml.safe_dump(document))


def instance(name: str) -> str:
    """The object whose release is called so."""
    return name.removeprefix(f"{ADDON}-")


def _chart(section: str) -> list[dict[str, Any]]:
    """Ten objects, named after the release; one shows values of this section."""
    name = "{{ .Release.Name }}"
    notes = {"metadata": {"name": f"{name}-notes", "labels": {"app": name}}, "data": {"text": name}}
    return [*charts.objects(name, section), {"apiVersion": "v1", "kind": "ConfigMap"} | notes]
