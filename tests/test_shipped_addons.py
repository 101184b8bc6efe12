"""The addons in `addons/` meet the rules for all of them: files, schemas, channels, documentation and hooks.

What a hook does with its instance (`ADDON_OBJECT_PATH`) is tested here too, as cases in files cannot give one.
"""

import ast
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from hookrunner.addons.addon_file import read_addon
from hookrunner.cli.main import run
from kubetypes.json_values import JSON
from tests.controlplane.cluster import Cluster
from tests.tables import each

ADDONS = Path(__file__).parents[1] / "addons"
ALL = sorted(file.parent for file in ADDONS.glob("*/addon.yaml"))
HOOKS = sorted(ADDONS.glob("*/hooks/*.py"))
SCRIPTS = sorted(ADDONS.glob("*/hooks/**/*.py"))
FOREIGN = [
    {"filterResult": {"ours": False, "config": "coredns-abc"}},
]

every = pytest.mark.parametrize("addon", ALL, ids=lambda addon: str(addon.name))


def parsed(path: Path) -> Any:
    return yaml.safe_load(path.read_text())


def versions(addon: Path) -> set[str]:
    """The versions of its packages."""
    return {package.name for package in addon.glob("channels/packages/*/*")}


@every
def test_addon_has_every_file_that_users_need(addon: Path) -> None:
    files = ("README.md", "example.yaml", "values.yaml", "openapi/spec.yaml", "channels/stable", "channels/next")
    assert [name for name in files if not (addon / name).is_file()] == []
    assert list(addon.glob("tests/*.in.yaml"))
    example, kind = parsed(addon / "example.yaml"), parsed(addon / "addon.yaml")["object"]["kind"]
    assert (example["kind"], example["metadata"]["name"]) == (kind, "default")


@every
def test_addon_file_has_only_keys_that_are_known(addon: Path, capsys: pytest.CaptureFixture[str]) -> None:
    loaded = read_addon(addon, ADDONS)
    assert loaded.description
    assert loaded.requires.kubernetes
    assert capsys.readouterr().err == ""


@every
def test_channels_offer_packages_and_one_is_ahead(addon: Path) -> None:
    offered = {
        name: {entry["version"] for entry in parsed(addon / "channels" / name)["manifests"]}
        for name in ("stable", "next")
    }
    assert len(versions(addon)) >= 2
    assert offered["stable"] | offered["next"] <= versions(addon)
    assert offered["next"] - offered["stable"]


def fields(schema: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    for name, field in schema.get("properties", {}).items():
        yield f"{path}/{name}", field
        yield from fields(field, f"{path}/{name}")


@every
def test_every_field_has_a_description_and_a_line_in_the_readme(addon: Path) -> None:
    readme = (addon / "README.md").read_text()
    own = dict(fields(parsed(addon / "openapi/spec.yaml")))
    assert [path for path, field in own.items() if not {"description", "type"} <= field.keys()] == []
    assert [path for path in own if path.count("/") == 1 and f"`{path[1:]}" not in readme] == []
    assert [version for version in versions(addon) if f"| {version} |" not in readme] == []
    assert f"]({addon.name}/README.md)" in (ADDONS / "README.md").read_text()


def rendered(addon: Path, case: str, capsys: pytest.CaptureFixture[str]) -> list[JSON]:
    """The objects of a test case."""
    given, words = addon / f"tests/{case}.side_in.yaml", ["addon", "render", f"{addon}/tests/{case}.in.yaml"]
    words += [
        "--addons-dir",
        str(ADDONS),
        "--kube-version",
        "1.36.3",
        *(["--given", str(given)] if given.exists() else []),
    ]
    assert run(words, "hookrunner") == 0, capsys.readouterr().err
    return [document for document in yaml.safe_load_all(capsys.readouterr().out) if document]


@every
def test_an_api_server_accepts_the_definition_and_all_objects(
    addon: Path, cluster: Cluster, namespace: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """A dry run on a real one, of each version that a case has."""
    flags = ("--server-side", "--force-conflicts", "--dry-run=server", "--validate=strict")
    assert run(["addon", "crd", addon.name, "--addons-dir", str(ADDONS)], "hookrunner") == 0
    cluster.kubectl("apply", *flags, "-f", "-", input=capsys.readouterr().out)
    for case in sorted(file.name.removesuffix(".out.yaml") for file in addon.glob("tests/*.out.yaml")):
        objects = [obj for obj in rendered(addon, case, capsys) if obj["kind"] != "Namespace"]
        text = json.dumps({"apiVersion": "v1", "kind": "List", "items": objects})
        here = text.replace('"namespace": "kubernetes-dashboard"', f'"namespace": "{namespace}"')
        applied = cluster.kubectl("apply", *flags, "-f", "-", input=here)
        assert applied.count("serverside-applied (server dry run)") == len(objects)


@pytest.mark.slow
def test_hooks_of_addons_have_cases_that_pass(capsys: pytest.CaptureFixture[str]) -> None:
    assert [hook.name for hook in HOOKS if not hook.with_name(f"{hook.name}.test.yaml").exists()] == []
    assert run(["hook", "test", *(str(addon / "hooks") for addon in ALL)], "hookrunner") == 0, capsys.readouterr().out


@pytest.mark.slow
def test_addons_lead_to_the_objects_of_their_cases(capsys: pytest.CaptureFixture[str]) -> None:
    assert [addon.name for addon in ALL if len(list(addon.glob("tests/*.out.yaml"))) < 2] == []
    assert run(["addon", "test", str(ADDONS)], "hookrunner") == 0, capsys.readouterr().out


@pytest.mark.slow
def test_dashboard_has_an_application_where_the_cluster_serves_the_kind(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["addon", "render", f"{ADDONS}/dashboard/example.yaml", f"--addons-dir={ADDONS}", "-o", "json"]
    assert run([*words, "--api-versions=app.k8s.io/v1beta1/Application"], "hookrunner") == 0
    objects = json.loads(capsys.readouterr().out)["items"]
    (application,) = [obj for obj in objects if obj["kind"] == "Application"]
    assert {"group": "apps", "kind": "Deployment"} in application["spec"]["componentKinds"]
    assert application["spec"]["descriptor"]["version"] == "7.13.0"


@pytest.mark.slow
def test_the_linter_reports_nothing_about_hooks_of_addons(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["hook", "lint", "--strict", str(ADDONS)], "hookrunner") == 0, capsys.readouterr().out


@each("hook", SCRIPTS, ids=lambda hook: str(hook.name))
def test_hooks_of_addons_need_the_standard_library_only(hook: Path) -> None:
    nodes = [node for node in ast.walk(ast.parse(hook.read_text())) if isinstance(node, ast.Import | ast.ImportFrom)]
    names = [node.module or "" if isinstance(node, ast.ImportFrom) else node.names[0].name for node in nodes]
    own = {"lib"} & {path.name for path in hook.parent.iterdir()}
    assert {name.partition(".")[0] for name in names} <= sys.stdlib_module_names | own


def run_hook(
    directory: Path, hook: str, snapshots: JSON, values: JSON, instance: JSON, binding: str = "beforeHelm"
) -> dict[str, Any]:
    """What the hook writes in a run of this instance, by the names of the files; raises CalledProcessError."""
    given = {
        "BINDING_CONTEXT_PATH": [{"binding": binding, "snapshots": snapshots}],
        "VALUES_PATH": values,
        "ADDON_OBJECT_PATH": instance,
    }
    written = ("VALUES_JSON_PATCH_PATH", "KUBERNETES_PATCH_PATH", "CONDITIONS_PATH")
    files = {name: directory / name for name in (*given, *written)}
    for name, file in files.items():
        file.write_text(json.dumps(given[name]) if name in given else "")
    env = {**os.environ, **{name: str(file) for name, file in files.items()}}
    subprocess.run([ADDONS / hook], env=env, check=True, capture_output=True, text=True)
    return {name: json.loads(files[name].read_text() or "null") for name in written}


def addon_object(kind: str, spec: JSON) -> JSON:
    metadata = {"namespace": "kube-system", "name": "default"}
    return {"apiVersion": "addons.x-k8s.io/v1alpha1", "kind": kind, "metadata": metadata, "spec": spec}


def adopt_coredns(directory: Path, spec: JSON, configs: JSON, deployments: JSON = FOREIGN) -> dict[str, Any]:
    """What the hook of coredns does about the CoreDNS that runs."""
    snapshots = {
        "services": [],
        "kubelets": [],
        "deployments": deployments,
        "configs": [{"filterResult": {"name": name, "corefile": text}} for name, text in configs.items()],
    }
    instance = addon_object("CoreDNS", spec)
    values = {"global": {}, "coredns": {**spec, "internal": {}}}
    return run_hook(directory, "coredns/hooks/cluster-dns.py", snapshots, values, instance)


def test_adopted_corefile_is_copied_into_the_spec_and_used_at_once(tmp_path: Path) -> None:
    written = adopt_coredns(tmp_path, {"adopt": True}, {"coredns": "unused", "coredns-abc": ". {\n}\n"})
    assert written["KUBERNETES_PATCH_PATH"] == {
        "operation": "MergePatch",
        "apiVersion": "addons.x-k8s.io/v1alpha1",
        "kind": "CoreDNS",
        "namespace": "kube-system",
        "name": "default",
        "mergePatch": {"spec": {"corefile": ". {\n}\n"}},
    }
    assert written["VALUES_JSON_PATCH_PATH"]["value"]["corefile"] == ". {\n}\n"


def test_corefile_is_not_copied_without_need(tmp_path: Path) -> None:
    ours = [{"filterResult": {"ours": True, "config": "coredns-abc"}}]
    corefiles = {"coredns-abc": ". {\n}\n"}
    nothing: list[dict[str, Any]] = [
        adopt_coredns(tmp_path, {}, corefiles),
        adopt_coredns(tmp_path, {"adopt": True}, corefiles, ours),
        adopt_coredns(tmp_path, {"adopt": True}, corefiles, []),
        adopt_coredns(tmp_path, {"adopt": True}, {}),
        adopt_coredns(tmp_path, {"adopt": True, "corefile": "mine"}, corefiles),
    ]
    assert [written["KUBERNETES_PATCH_PATH"] for written in nothing] == [None] * 5
    corefile = [written["VALUES_JSON_PATCH_PATH"]["value"]["corefile"] for written in nothing]
    assert corefile == ["", "", "", "", "mine"]


def test_config_map_without_a_corefile_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(subprocess.CalledProcessError) as failure:
        adopt_coredns(tmp_path, {"adopt": True}, {"coredns-abc": ""})
    assert "ConfigMap kube-system/coredns-abc of the CoreDNS to adopt has no key Corefile" in failure.value.stderr


ADOPTED_PROXY = """\
apiVersion: kubeproxy.config.k8s.io/v1alpha1
bindAddress: 0.0.0.0
clientConnection:
  burst: 0
  kubeconfig: /var/lib/kube-proxy/kubeconfig.conf
clusterCIDR: 10.244.0.0/16
configSyncPeriod: 0s
conntrack:
  maxPerCore: 0
  min: null
hostnameOverride: ""
ipvs:
  excludeCIDRs:
  - 192.0.2.0/24
  - "198.51.100.0/24"
  strictARP: true
kind: KubeProxyConfiguration
mode: ipvs
nodePortAddresses: null
"""


def adopt_kube_proxy(directory: Path, config: str, spec: JSON, binding: str = "beforeHelm") -> dict[str, Any]:
    """What the hook of kube-proxy does about the kube-proxy that runs."""
    snapshots = {
        "settings": [{"filterResult": {"name": "kube-proxy", "data": {"config.conf": config}}}],
        "endpoints": [{"filterResult": {"addresses": ["192.0.2.11"], "port": 6443}}],
        "daemonsets": [{"filterResult": {"ours": False}}],
        "bindings": [{"filterResult": "kubeadm:node-proxier"}],
    }
    instance = addon_object("KubeProxy", spec)
    values = {"global": {}, "kubeProxy": {**spec, "internal": {}}}
    return run_hook(directory, "kube-proxy/hooks/config.py", snapshots, values, instance, binding)


def test_settings_of_an_adopted_kube_proxy_are_copied_into_the_spec(tmp_path: Path) -> None:
    written = adopt_kube_proxy(tmp_path, ADOPTED_PROXY, {"adopt": True})
    copied: dict[str, Any] = {
        "mode": "ipvs",
        "clusterCidr": "10.244.0.0/16",
        "config": {
            "bindAddress": "0.0.0.0",
            "conntrack": {"maxPerCore": 0},
            "ipvs": {"excludeCIDRs": ["192.0.2.0/24", "198.51.100.0/24"], "strictARP": True},
        },
    }
    assert written["KUBERNETES_PATCH_PATH"]["mergePatch"] == {"spec": copied}
    config = yaml.safe_load(written["VALUES_JSON_PATCH_PATH"]["value"]["config"])
    assert config["ipvs"] == copied["config"]["ipvs"]
    assert config["clientConnection"] == {"kubeconfig": "/var/lib/kube-proxy/kubeconfig.conf"}


def test_spec_wins_over_an_adopted_kube_proxy(tmp_path: Path) -> None:
    written = adopt_kube_proxy(
        tmp_path, ADOPTED_PROXY, {"adopt": True, "mode": "nftables", "config": {"bindAddress": "::"}}
    )
    assert written["KUBERNETES_PATCH_PATH"]["mergePatch"] == {"spec": {"clusterCidr": "10.244.0.0/16"}}
    assert adopt_kube_proxy(tmp_path, ADOPTED_PROXY, {})["KUBERNETES_PATCH_PATH"] is None


def test_configuration_that_cannot_be_read_is_not_guessed(tmp_path: Path) -> None:
    with pytest.raises(subprocess.CalledProcessError) as failure:
        adopt_kube_proxy(tmp_path, "mode: |\n  ipvs\n", {"adopt": True})
    assert "key config.conf: value '|' is no plain scalar: set spec.config" in failure.value.stderr


def test_binding_of_kubeadm_is_deleted_after_the_release_that_adopts(tmp_path: Path) -> None:
    deleted = adopt_kube_proxy(tmp_path, "", {"adopt": True}, "afterHelm")["KUBERNETES_PATCH_PATH"]
    assert (deleted["operation"], deleted["kind"], deleted["name"]) == (
        "Delete",
        "ClusterRoleBinding",
        "kubeadm:node-proxier",
    )
    assert adopt_kube_proxy(tmp_path, "", {}, "afterHelm")["KUBERNETES_PATCH_PATH"] is None


IPVS = {"name": "kube-proxy", "text": "mode: ipvs\n"}


@each(
    ("hook", "snapshots", "insecure", "reason"),
    [
        ("kube-proxy/hooks/conflicts.py", {"cilium": ["true"], "daemonsets": []}, None, "Cilium"),
        ("kube-proxy/hooks/conflicts.py", {"cilium": ["false"], "daemonsets": []}, None, None),
        ("metrics-server/hooks/kubelet-certificates.py", {"kubelets": ["kind: X"]}, False, "SelfSigned"),
        ("metrics-server/hooks/kubelet-certificates.py", {"kubelets": ["kind: X"]}, True, None),
        ("nodelocaldns/hooks/cluster.py", {"services": ["10.96.0.10"], "settings": [IPVS]}, None, "ClusterDNS"),
        ("nodelocaldns/hooks/cluster.py", {"services": ["10.96.0.10"], "settings": []}, None, None),
    ],
)
def test_hooks_write_conditions_only_while_they_hold(
    hook: str, snapshots: JSON, insecure: bool | None, reason: str | None, tmp_path: Path
) -> None:
    entries = {name: [{"filterResult": result} for result in results] for name, results in snapshots.items()}
    document: JSON = {"global": {}, "nodelocaldns": {"localIP": "169.254.20.10"}}
    document |= {"metricsServer": {"kubelet": {"insecureTLS": insecure}}}
    condition = run_hook(tmp_path, hook, entries, document, {"spec": {}})["CONDITIONS_PATH"]
    assert (condition and condition["reason"]) == reason
