"""`hookrunner module render`: of a running hookrunner, of files, and files compared with a cluster. Level: sandbox."""

import json
from pathlib import Path

import aiohttp
import pytest
import yaml

from hookrunner.cli.modules import module_rendering
from hookrunner.cli.modules.module_options import ClusterChoice, ModuleFiles
from kubesandbox.sandbox import Options, Sandbox, serving
from tests.fakes.command_line import Command, Endpoint
from tests.fakes.transports import all_closed

TEMPLATE = """
apiVersion: v1
kind: ConfigMap
metadata: {name: dns}
data:
  replicas: {{ required "say how many" .Values.dns.replicas | quote }}
  version: {{ .Capabilities.KubeVersion.Version }}
  things: {{ .Capabilities.APIVersions.Has "example.com/v1/Thing" | quote }}
  pods: {{ .Capabilities.APIVersions.Has "v1/Pod" | quote }}
  namespace: {{ .Release.Namespace }}
"""


@pytest.fixture
def modules(tmp_path: Path) -> Path:
    (tmp_path / "m/010-dns/templates").mkdir(parents=True)
    (tmp_path / "m/010-dns/templates/dns.yaml").write_text(TEMPLATE)
    (tmp_path / "m/020-hooks/hooks").mkdir(parents=True)
    (tmp_path / "config.yaml").write_text("dns: {replicas: 2}")
    return tmp_path


@pytest.mark.parametrize(
    ("flags", "query"), [("", ""), ("--debug", "?debug=true"), ("--diff --debug", "?diff=true&debug=true")]
)
def test_render_asks_a_running_hookrunner(flags: str, query: str, endpoint: Endpoint, command: Command) -> None:
    endpoint.answers[f"/module/dns/render{query}"] = "No diff found\n"
    ended = command("module", "render", "dns", *flags.split(), "--debug-unix-socket", str(endpoint.socket))
    assert (ended.code, ended.out) == (0, "No diff found\n")


def test_differences_end_with_3(endpoint: Endpoint, command: Command) -> None:
    endpoint.answers["/module/dns/render?diff=true"] = "--- live\n+++ wanted\n"
    ended = command("module", "render", "dns", "--diff", "--debug-unix-socket", str(endpoint.socket))
    assert (ended.code, ended.out) == (3, "--- live\n+++ wanted\n")


@pytest.mark.slow
def test_files_are_rendered_for_a_made_up_cluster(modules: Path, command: Command) -> None:
    files = ("--modules-dir", str(modules / "m"), "--config", str(modules / "config.yaml"))
    cluster = ("--kube-version", "1.33", "--api-versions", "example.com/v1/Thing,b/v1", "--namespace", "addons")
    ended = command("module", "render", "dns", *files, *cluster)
    assert ended.code == 0, ended.err
    _, data = ended.out.split("\ndata:\n")
    assert [line.split() for line in data.splitlines()] == [
        ["replicas:", '"2"'],
        ["version:", "v1.33.0"],
        ["things:", '"true"'],
        ["pods:", '"true"'],
        ["namespace:", "addons"],
    ]


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        ("dns --modules-dir m", 1, "dns/templates/dns.yaml:6:15: say how many"),
        ("hooks --modules-dir m", 0, "nothing to render"),
        ("dns --kube-version 1.33", 2, "give --modules-dir, too"),
        ("dns --modules-dir m --kube-config nowhere", 2, "there is no file 'nowhere'"),
    ],
)
def test_render_errors_are_reported(
    words: str, code: int, message: str, modules: Path, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(modules)
    ended = command("module", "render", *words.split())
    assert (ended.code, ended.out) == (code, "")
    assert message in ended.err


@pytest.mark.slow
async def test_files_are_compared_with_a_cluster(modules: Path, sandbox: Sandbox) -> None:
    (modules / "kc").write_text(sandbox.kubeconfig())
    old = {"metadata": {"name": "dns"}, "data": {"replicas": "1", "namespace": "default"}}
    async with aiohttp.ClientSession(sandbox.url) as session:
        await (await session.post("/api/v1/namespaces/default/configmaps", json=old)).read()
    files = ModuleFiles((modules / "m",), None, (modules / "config.yaml",), "hookrunner")
    wanted = ClusterChoice("default", "", (), str(modules / "kc"))
    lines = (await module_rendering.read_diff(files, "dns", wanted)).splitlines()
    assert lines[:2] == ["--- live/default/ConfigMap/dns", "+++ wanted/default/ConfigMap/dns"]
    assert {"-  replicas: '1'", "+  replicas: '2'", "   namespace: default"} <= set(lines)
    assert await module_rendering.read_diff(files, "hooks", wanted) == ""


@pytest.mark.slow
async def test_lookup_in_templates_uses_the_chosen_context(
    modules: Path, sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The current one of the same kubeconfig, and what the environment says, are asked nothing."""
    template = modules / "m/010-dns/templates/dns.yaml"
    template.write_text(f'{TEMPLATE}  found: {{{{ lookup "v1" "Namespace" "" "" | len | quote }}}}\n')
    config = yaml.safe_load(sandbox.kubeconfig())
    async with serving(Options()) as other:
        config["clusters"].append({"name": "other", "cluster": {"server": other.url}})
        config["contexts"].append({"name": "other", "context": {"cluster": "other"}})
        (modules / "kc").write_text(json.dumps(config | {"current-context": "other"}))
        monkeypatch.setenv("KUBECONFIG", str(modules / "kc"))
        monkeypatch.setenv("KUBERNETES_MASTER", other.url)
        files = ModuleFiles((modules / "m",), None, (modules / "config.yaml",), "hookrunner")
        rendered = await module_rendering.render_manifests(files, "dns", ClusterChoice(context="sandbox"), False)
        assert list(other.faults.requests) == []
    await all_closed()
    assert 'found: "0"' not in rendered
