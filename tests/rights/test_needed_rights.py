"""Rights of what is installed: modules with their hooks, addons in all their versions. Level: pure."""

from collections.abc import Mapping
from functools import partial
from pathlib import Path

import pytest

from hookrunner import settings
from hookrunner.cli.shared import quiet
from hookrunner.errors import BadInput, StartRefused
from hookrunner.modules.offline import Configured, read_configured
from hookrunner.rights.needed_rights import NeededRights, find_needed_rights, read_files
from hookrunner.rights.package_rights import generalize
from hookrunner.testing.addons.addon_bench import offline_source
from kubetypes.json_values import JSON
from tests.trees import write_files

CHART = "apiVersion: v2\nname: web\nversion: 1.0.0\n"
SECRET = """\
apiVersion: v1
kind: Secret
metadata: {name: {{ .Values.web.name }}}
---
apiVersion: v1
kind: Namespace
metadata: {name: own}
"""
HOOK = """\
#!/bin/sh
echo '{"configVersion": "v1", "kubernetes": [{"kind": "Pod", "namespace": {"nameSelector": {"matchNames": ["%s"]}}}]}'
"""
ADDON = """\
object: {kind: Web, plural: webs, group: example.com}
"""
OBJECT = """\
apiVersion: v1
kind: %s
metadata: {name: web-%s}
"""


async def needed(tmp_path: Path, files: Mapping[str, str], flags: dict[str, str], config: str = "") -> NeededRights:
    write_files(tmp_path, files)
    write_files(tmp_path, {"config.yaml": config})
    loaded = settings.load({"modules-dir": ":", "hooks-dir": ":"} | flags, "hookrunner", {"PATH": "/usr/bin:/bin"})
    configured = read_configured([tmp_path / "config.yaml"]) if config else Configured()
    with quiet():
        read = read_files(loaded, configured, partial(offline_source, loaded.addons))
        return await find_needed_rights(read, "ns")


def shown(found: NeededRights) -> set[tuple[str, ...]]:
    """Of hooks, modules and addons: namespace, resource, verbs, names."""
    return {(right.namespace, *right.resources, " ".join(right.verbs), ",".join(right.names)) for right in found.others}


@pytest.mark.slow
async def test_a_module_needs_its_objects_and_what_its_hooks_watch(tmp_path: Path, forking: None) -> None:
    module = {"Chart.yaml": CHART, "templates/a.yaml": SECRET, "hooks/a.sh*": HOOK % "shop"}
    files = {f"modules/010-web/{name}": text for name, text in module.items()}
    found = await needed(tmp_path, files, {"modules-dir": str(tmp_path / "modules")}, "web: {name: front}")
    assert shown(found) == {
        ("ns", "secrets", "get patch delete", "front"),
        ("ns", "secrets", "create", ""),
        ("", "secrets", "list watch", ""),
        ("", "namespaces", "get patch delete", "own"),
        ("", "namespaces", "list watch create", ""),
        ("shop", "pods", "list watch", ""),
    }


@pytest.mark.slow
async def test_a_hook_in_a_namespace_that_its_module_creates_has_its_rights_everywhere(
    tmp_path: Path, forking: None
) -> None:
    module = {"Chart.yaml": CHART, "templates/a.yaml": SECRET, "hooks/a.sh*": HOOK % "own"}
    files = {f"modules/010-web/{name}": text for name, text in module.items()}
    found = await needed(tmp_path, files, {"modules-dir": str(tmp_path / "modules")}, "web: {name: front}")
    assert ("", "pods", "list watch", "") in shown(found)


@pytest.mark.slow
async def test_every_version_of_an_addon_counts(tmp_path: Path, forking: None) -> None:
    packages = "addons/web/channels/packages/web"
    files = {
        "addons/web/addon.yaml": ADDON,
        "addons/web/channels/stable": "manifests: [{version: 2.0.0}]\n",
        f"{packages}/1.0.0/a.yaml": OBJECT % ("ConfigMap", "one"),
        f"{packages}/2.0.0/a.yaml": OBJECT % ("Secret", "two"),
    }
    flags = {"addons-dir": str(tmp_path / "addons"), "addon-namespaces": "a"}
    found = await needed(tmp_path, files, flags)
    assert shown(found) >= {
        ("a", "configmaps", "get patch delete", "web-one"),
        ("a", "secrets", "get patch delete", "web-two"),
        ("a", "secrets", "create", ""),
    }


def obj(kind: str, name: str, namespace: str = "") -> JSON:
    place = {"namespace": namespace} if namespace else {}
    return {"apiVersion": "v1", "kind": kind, "metadata": {"name": name} | place}


def test_names_and_namespaces_that_follow_the_instance_become_any() -> None:
    own = [obj("Secret", "a", "here"), obj("Secret", "of-x", "kube-system"), obj("Node", "x"), obj("Pod", "x", "here")]
    other = [obj("Secret", "a", "far"), obj("Secret", "of-y", "kube-system"), obj("Node", "y"), obj("Pod", "y", "far")]
    others = {(o["apiVersion"], o["kind"], o["metadata"].get("namespace", ""), o["metadata"]["name"]) for o in other}
    assert [made["metadata"] for made in generalize(own, others)] == [
        {"name": "a", "namespace": "*"},
        {"name": "*", "namespace": "kube-system"},
        {"name": "*"},
        {"name": "*", "namespace": "*"},
    ]


async def test_an_addon_that_cannot_be_offered_is_not_left_out(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="addon 'web' cannot be offered: "):
        await needed(tmp_path, {"addons/web/addon.yaml": "object: 1\n"}, {"addons-dir": str(tmp_path / "addons")})


async def test_a_name_that_no_addon_has_is_refused(tmp_path: Path) -> None:
    flags = {"addons-dir": str(tmp_path / "addons"), "addons": "wbe"}
    with pytest.raises(StartRefused, match="wbe"):
        await needed(tmp_path, {"addons/web/addon.yaml": ADDON}, flags)


WRITER = """\
#!/bin/sh
case $1 in --config) echo '{"configVersion": "v1", "onStartup": 1, "settings": {"permissions": []}}'; exit;; esac
echo '{"operation": "DeleteInBackground", "kind": "Pod", "namespace": "a", "name": "b"}' > "$KUBERNETES_PATCH_PATH"
"""


@pytest.mark.slow
async def test_what_a_hook_uses_and_does_not_state_is_added_with_a_note(tmp_path: Path) -> None:
    files = {"hooks/a.sh*": WRITER, "hooks/a.sh.test.yaml": "- {name: starts, when: {event: Startup}}\n"}
    found = await needed(tmp_path, files, {"hooks-dir": str(tmp_path / "hooks")})
    assert shown(found) == {("", "pods", "delete", "")}
    assert found.notes == (
        "hook a.sh does not state in settings.permissions what its test case 'starts' uses: "
        '{apiGroups: [""], resources: [pods], verbs: [delete]}',
    )
