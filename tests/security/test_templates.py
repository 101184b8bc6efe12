"""Values that a chart uses as templates and paths: who may only edit the ConfigMap reads no variable, file, name of a
host, or object of the cluster with them.

Level: control plane."""

import json
import os
from pathlib import Path

import pytest

from hookrunner.charts.renderer import Renderer
from hookrunner.errors import RenderFailed
from hookrunner.kube.cluster_lookup import with_kubeconfig
from hookrunner.model.releases import Capabilities, RenderRequest
from tests.charts.conftest import order
from tests.controlplane.cluster import Cluster
from tests.flows.modules.world import World

SECRET = "swordfish-4711"
CHART = """apiVersion: v1
kind: ConfigMap
metadata: {name: a}
data:
{{- range $key, $text := .Values.a.texts }}
  {{ $key }}: {{ tpl $text $ | quote }}
{{- end }}
{{- range $key, $path := .Values.a.paths }}
  {{ $key }}: {{ printf "%s%s" ($.Files.Get $path) ($.Files.Glob $path).AsConfig | quote }}
{{- end }}
"""
TEXTS = {
    "a-host": '{{ getHostByName "localhost" }}',
    "secrets": '{{ lookup "v1" "Secret" "" "" | len }}',
    "a-secret": '{{ (lookup "v1" "Secret" "default" "precious").data }}',
    "a-file": '{{ .Files.Get "../../precious" }}',
    "lines": '{{ .Files.Lines "../../precious" | len }}',
    "all-files": '{{ range $path, $_ := .Files.Glob "**" }}{{ $path }}{{ end }}',
    "a-file-as-template": '{{ tpl (.Files.Get "../../precious") . }}',
    "a-variable": "{{ .Environment }}{{ $.TOKEN }}",
}
SEEN = {"secrets": "0", "lines": "0", "all-files": "own"}
"""The others are empty."""
PATHS = [
    "../../precious",
    "x/../../../precious",
    "{directory}/precious",
    "file://{directory}/precious",
    "/etc/passwd",
    "../**",
]
FAILING = [
    '{{ env "TOKEN" }}',
    '{{ expandenv "$TOKEN" }}',
    '{{ getenv "TOKEN" }}',
    '{{ readFile "/etc/passwd" }}',
    '{{ exec "id" }}',
    '{{ include "../../precious" . }}',
    '{{ template "/etc/passwd" . }}',
    '{{ fail (env "TOKEN") }}',
]


async def test_values_find_nothing_outside_the_chart(world: World) -> None:
    world.operator.environ = {"TOKEN": SECRET}
    world.write("precious", SECRET)
    world.module("010-a", {"templates/a.yaml": CHART, "own": "own"})
    precious = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "precious"}, "stringData": {"a": SECRET}}
    await world.ask("POST", world.path(resource="secrets"), precious)
    paths = {f"path-{number}": path.format(directory=world.directory) for number, path in enumerate(PATHS)}
    await world.configure(aEnabled="true", a=json.dumps({"texts": TEXTS, "paths": paths | {"inside": "own"}}))
    await world.start()
    nothing = dict.fromkeys(paths, "{}") | dict.fromkeys(TEXTS, "")
    assert await world.map("a") == nothing | SEEN | {"inside": "ownown: own"}
    assert SECRET not in (world.directory / "log").read_text()


@pytest.mark.slow
async def test_template_functions_that_read_variables_and_files_are_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TOKEN", SECRET)
    (tmp_path / "precious").write_text(SECRET)
    (tmp_path / "a" / "b" / "templates").mkdir(parents=True)
    (tmp_path / "a" / "b" / "templates" / "a.yaml").write_text("a: {{ tpl .Values.text . }}")
    async with Renderer(environ=dict(os.environ)) as renderer:
        for text in FAILING:
            with pytest.raises(RenderFailed, match=r"not defined|no template") as raised:
                await renderer.render(order(tmp_path / "a" / "b", {"text": text}))
            assert SECRET not in str(raised.value)


async def test_lookup_shows_only_objects_that_the_account_may_read(
    cluster: Cluster, namespace: str, tmp_path: Path
) -> None:
    cluster.kubectl("create", "secret", "generic", "precious", "-n", namespace, f"--from-literal=a={SECRET}")
    user = cluster.user("stranger", namespace)
    (tmp_path / "templates").mkdir()
    (tmp_path / "templates" / "a.yaml").write_text("a: {{ (lookup `v1` `Secret` .Release.Namespace `precious`).data }}")
    async with Renderer(environ=with_kubeconfig(os.environ, str(user.kubeconfig))) as renderer:
        with pytest.raises(RenderFailed, match="forbidden"):
            await renderer.render(RenderRequest(tmp_path, "demo", namespace, {}, Capabilities("v1.31.0", ())))
