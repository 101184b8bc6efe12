"""The addons in `addons/` meet the rules for all of them: files, schemas, channels, documentation and hooks.

Level: control plane."""

import json
import os
import re
import runpy
import subprocess
import textwrap
from collections.abc import Iterator
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
import yaml

from hookrunner.addons.files.addon_file import read_addon
from hookrunner.cli.main import run
from hookrunner.packages.channels import choose_entry, parse_channel
from hookrunner.testing.addons.addon_cases import AddonCase, read_cases
from hookrunner.testing.cases.object_changes import with_changes
from kubetypes.json_values import JSON
from tests.controlplane.cluster import Cluster
from tests.syntax import foreign_imports
from tests.tables import each

ADDONS = Path(__file__).parents[1] / "addons"
ALL = sorted(file.parent for file in ADDONS.glob("*/addon.yaml"))
HOOKS = sorted(ADDONS.glob("*/hooks/*.py"))
SCRIPTS = sorted(ADDONS.glob("*/hooks/**/*.py"))

IMAGE = "[a-z0-9.]+/[a-z0-9./-]+"
CAPABILITIES = {
    "canal": {"NET_ADMIN", "NET_RAW"},
    "coredns": {"NET_BIND_SERVICE"},
    "flannel": {"NET_ADMIN", "NET_RAW"},
    "ingress-nginx": {"NET_BIND_SERVICE"},
    "kube-proxy": {"NET_ADMIN", "NET_RAW", "SYS_RESOURCE"},
    "nodelocaldns": {"NET_ADMIN"},
}

PRIVILEGED = {"calico-node", "weave", "weave-npc"}
"""Felix writes sysctls of interfaces, which are read-only in other containers; Weave Net enters namespaces of Pods."""

CALICO = "crd.projectcalico.org"
"""The group of Calico's own objects, which it makes and deletes."""
WRITES = {
    "calico": {"create", "patch", "delete"},
    "canal": {"create", "patch", "delete"},
    "cloud-controller-manager": {"create", "patch", "delete"},
    "flannel": {"patch"},
    "ingress-nginx": {"create", "patch"},
    "weave-net": {"patch"},
}
"""What roles allow besides reading and updating: Events, leases, statuses of Nodes and Pods, Nodes of machines, kinds
of the addon itself."""
NAMELESS = {
    "calico": {"nodes/status"},
    "canal": {"nodes/status"},
    "ingress-nginx": {"ingresses/status"},
    "weave-net": {"nodes/status"},
}
"""What roles allow to update without a name: each object's own status."""
ENDED = {"weave-net"}
"""Addons whose projects have ended, so that there is no next version."""
READ_SECRETS = {"ingress-nginx"}
"""Certificates of hosts are in Secrets of all namespaces."""

ABSENT = ("Namespace", "Application")
"""Kinds that are not tried out: a namespace would have to exist for what is in it, and a kind of another project."""

every = pytest.mark.parametrize("addon", ALL, ids=lambda addon: str(addon.name))


def parsed(path: Path) -> Any:
    return yaml.safe_load(path.read_text())


def source(addon: Path) -> Path:
    """Where its channels and packages are."""
    return addon / str(parsed(addon / "addon.yaml").get("source", "channels"))


def versions(addon: Path) -> set[str]:
    """The versions of its packages."""
    return {package.name for package in source(addon).glob("packages/*/*")}


@every
def test_addon_has_every_file_that_users_need(addon: Path) -> None:
    files = ("README.md", "example.yaml", "values.yaml", "openapi/spec.yaml")
    channels = (source(addon) / "stable", source(addon) / "next")
    assert [file for file in (*(addon / name for name in files), *channels) if not file.is_file()] == []
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
        name: {entry["version"] for entry in parsed(source(addon) / name)["manifests"]} for name in ("stable", "next")
    }
    assert len(versions(addon)) >= 2
    assert offered["stable"] | offered["next"] <= versions(addon)
    assert offered["next"] - offered["stable"] or addon.name in ENDED


@each("minor", ["1.34", "1.35", "1.36", "1.37"])
def test_kube_proxy_follows_the_minor_version_of_the_cluster(minor: str) -> None:
    stable = parse_channel("stable", (ADDONS / "kube-proxy/channels/stable").read_text())
    assert choose_entry(stable, "kube-proxy", f"v{minor}.9").version.startswith(f"{minor}.")


@every
def test_packages_carry_their_version(addon: Path) -> None:
    """In the image, or in the chart's metadata, from which its templates take it."""
    for package in source(addon).glob("packages/*/*"):
        texts = [file.read_text() for file in package.rglob("*.yaml")]
        carried = (f"image: {IMAGE}:v?{re.escape(package.name)}$", f"^appVersion: {re.escape(package.name)}$")
        assert any(re.search("|".join(carried), text, re.MULTILINE) for text in texts), package
        assert parsed(package / "package.yaml")["testedKubernetes"]


def expected(kind: str) -> Iterator[tuple[Path, Any]]:
    """All objects of a kind that cases expect whole, each with its addon."""
    for case in read_cases(ALL):
        objects = with_changes(case.rest, case.stated) if case.stated else case.expected or ()
        whole = [document for document in objects if "selector" in document.get("spec", {"selector": {}})]
        yield from ((case.subject, document) for document in whole if document["kind"] == kind)


def successful_cases(addon: Path) -> list[AddonCase]:
    """Its cases that lead to objects."""
    return [case for case in read_cases([addon]) if case.expects and not case.error]


@pytest.mark.slow
@each("kind", ["Deployment", "DaemonSet"])
def test_pods_have_requests_and_no_more_rights_than_needed(kind: str) -> None:
    for addon, workload in expected(kind):
        template = workload["spec"]["template"]
        assert workload["spec"]["selector"]["matchLabels"].items() <= template["metadata"]["labels"].items()
        assert template["spec"]["nodeSelector"] == {"kubernetes.io/os": "linux"}
        for container in template["spec"]["containers"]:
            security = container["securityContext"]
            assert re.fullmatch(f"{IMAGE}:v?[0-9][0-9.]+", container["image"])
            assert {"cpu", "memory"} <= container["resources"]["requests"].keys()
            if container["name"] in PRIVILEGED:
                continue
            assert not security.get("privileged")
            assert set(security["capabilities"].get("add", ())) <= CAPABILITIES.get(addon.name, set())
            assert security.get("allowPrivilegeEscalation") is False or addon.name == "nodelocaldns"


@pytest.mark.slow
def test_roles_of_addons_name_what_they_allow_and_no_secrets() -> None:
    roles = [(addon.name, role["rules"]) for kind in ("ClusterRole", "Role") for addon, role in expected(kind)]
    for name, rule in ((name, rule) for name, rules in roles for rule in rules):
        assert set(rule["verbs"]) <= {"get", "list", "watch", "update"} | WRITES.get(name, set())
        named = {*rule["apiGroups"], *rule["resources"]}
        assert "*" not in named
        assert "secrets" not in named or (name in READ_SECRETS and {"get", "list", "watch"} >= set(rule["verbs"]))
        is_named = rule.get("resourceNames") or named <= {"", "networking.k8s.io", *NAMELESS.get(name, ())}
        assert is_named or CALICO in named or "update" not in rule["verbs"], rule


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


@pytest.mark.slow
def test_kube_proxy_asks_the_api_server_that_the_environment_names(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """After the spec, and before everything that the cluster shows."""
    monkeypatch.setenv("KUBEPROXY_KUBERNETES_SERVICE_HOST", "fd00::1")
    addon = ADDONS / "kube-proxy"
    servers = {
        case: re.findall(r"server: (\S+)", obj["data"]["kubeconfig.conf"])
        for case in ("default", "own-config")
        for obj in rendered(addon / f"tests/{case}.in.yaml", addon, case, capsys)
        if obj["kind"] == "ConfigMap"
    }
    assert servers["default"] == ["https://[fd00::1]:443"]
    assert servers["own-config"] == ["https://api.example.com:443"]


def rendered(instance: Path, addon: Path, case: str, capsys: pytest.CaptureFixture[str]) -> list[JSON]:
    """The objects for an instance in the cluster of a test case."""
    given = [f"--given={file}" for file in addon.glob(f"tests/{case}.side_in.yaml")]
    words = ["addon", "render", str(instance), f"--addons-dir={ADDONS}", "--kube-version=1.36.3", *given]
    assert run(words, "hookrunner") == 0, capsys.readouterr().err
    return [document for document in yaml.safe_load_all(capsys.readouterr().out) if document]


@every
def test_an_api_server_accepts_the_definition_and_all_objects(
    addon: Path, cluster: Cluster, namespace: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """A dry run on a real one, of each version that a case has."""
    flags = ("--server-side", "--force-conflicts", "--dry-run=server", "--validate=strict")
    assert run(["addon", "crd", addon.name, "--addons-dir", str(ADDONS)], "hookrunner") == 0
    built = list(yaml.safe_load_all(capsys.readouterr().out))
    for case in successful_cases(addon):
        built += stated(case) or rendered(case.path, addon, case.name, capsys)
    items = [obj for obj in built if obj["kind"] not in ABSENT]
    text = json.dumps({"apiVersion": "v1", "kind": "List", "items": items})
    here = re.sub('"namespace": "(kubernetes-dashboard|ingress-nginx)"', f'"namespace": "{namespace}"', text)
    applied = cluster.kubectl("apply", *flags, "-f", "-", input=here)
    assert applied.count("serverside-applied (server dry run)") == len(items)


def stated(case: AddonCase) -> list[JSON]:
    """All objects that a case leads to, as `addon test` finds; none if the case states only some of them."""
    return with_changes(case.rest, case.stated) if case.rest else [*(case.expected or ())]


@pytest.mark.slow
@every
def test_examples_of_the_addon_can_be_installed(
    addon: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Those of its README, and its `example.yaml`; those that are cases are built by `addon test`."""
    cases = [case.instance for case in successful_cases(addon)]
    readme = (addon / "README.md").read_text()
    examples = re.findall(r"^```yaml\n(.*?)^```", readme, re.MULTILINE | re.DOTALL)
    examples += re.findall(r"<<END\n(.*?)^    END", readme, re.MULTILINE | re.DOTALL)
    for text in (*examples, (addon / "example.yaml").read_text()):
        (tmp_path / "instance.yaml").write_text(textwrap.dedent(text))
        assert parsed(tmp_path / "instance.yaml") in cases or rendered(
            tmp_path / "instance.yaml", addon, "default", capsys
        )


class WeaveMetrics(BaseHTTPRequestHandler):
    """A Node with one connection, and the one to itself that always fails."""

    def do_GET(self) -> None:
        self.send_response(HTTPStatus.OK)
        self.end_headers()
        for state, count in (("established", 1), ("failed", 1), ("pending", 0)):
            self.wfile.write(f'weave_connections{{encryption="",state="{state}",type="fastdp"}} {count}\n'.encode())

    def log_message(self, *_: Any) -> None: ...


def test_weave_net_counts_the_connections_of_each_node() -> None:
    peers = runpy.run_path(str(ADDONS / "weave-net/hooks/peers.py"))
    with ThreadingHTTPServer(("127.0.0.1", 0), WeaveMetrics) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        pods = [{"node": "a", "ip": "127.0.0.1"}, {"node": "b", "ip": ""}]
        answers = peers["ask"](pods, server.server_port)
        server.shutdown()
    assert (answers["a"], isinstance(answers["b"], OSError)) == (1, True)
    assert [peers["judged"](answers, others)["status"] for others in (0, 1, 2)] == ["True", "True", "False"]
    assert "a has 1: TCP and UDP 6783" in peers["judged"](answers, 2)["message"]


@pytest.mark.slow
def test_cases_of_addons_and_of_their_hooks_pass(capsys: pytest.CaptureFixture[str]) -> None:
    assert [addon.name for addon in ALL if len(successful_cases(addon)) < 2] == []
    assert [hook.name for hook in HOOKS if not hook.with_name(f"{hook.name}.test.yaml").exists()] == []
    assert run(["addon", "test", str(ADDONS)], "hookrunner") == 0, capsys.readouterr().out


@pytest.mark.slow
def test_the_linter_reports_nothing_about_addons_and_their_hooks(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["addon", "lint", "--strict", str(ADDONS)], "hookrunner") == 0, capsys.readouterr().out


@each("hook", SCRIPTS, ids=lambda hook: str(hook.name))
def test_hooks_of_addons_need_the_sdk_and_the_standard_library_only(hook: Path) -> None:
    own = {"lib"} & {path.name for path in hook.parent.iterdir()}
    assert {name.partition(".")[0] for name in foreign_imports(hook)} <= own


@pytest.mark.slow
def test_the_previous_certificate_is_trusted_while_it_is_valid(tmp_path: Path) -> None:
    host = "ingress-nginx-controller-admission.ingress-nginx.svc"
    asked = ["-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout", f"{tmp_path}/key"]
    subject = ["-subj", "/CN=old", "-addext", f"subjectAltName=DNS:{host}", "-days", "10"]
    old = subprocess.run(["openssl", "req", *asked, *subject], capture_output=True, text=True, check=True).stdout
    known = {"certificate": old, "key": (tmp_path / "key").read_text(), "trusted": old}
    values = {"global": {}, "ingressNginx": {"internal": {"admission": known}}}
    (tmp_path / "values").write_text(json.dumps(values))
    (tmp_path / "contexts").write_text(json.dumps([{"binding": "daily", "snapshots": {"secrets": []}}]))
    places = {"BINDING_CONTEXT_PATH": "contexts", "VALUES_PATH": "values", "VALUES_JSON_PATCH_PATH": "patch"}
    files = {name: str(tmp_path / file) for name, file in places.items()}
    subprocess.run([ADDONS / "ingress-nginx/hooks/certificate.py"], env={**os.environ, **files}, check=True)
    made = json.loads((tmp_path / "patch").read_text())["value"]
    assert made["trusted"] == made["certificate"] + old != old
    checked = ["openssl", "verify", "-CAfile", f"{tmp_path}/trusted", "-verify_hostname", host, f"{tmp_path}/new"]
    (tmp_path / "trusted").write_text(made["trusted"])
    (tmp_path / "new").write_text(made["certificate"])
    subprocess.run(checked, check=True, capture_output=True)
