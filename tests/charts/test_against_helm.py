"""What `helm template` makes of a chart, and what we make of it: the same objects, from the same templates, in the same
order. The `helm` program is the oracle, and also the engine that stands in where the library does not load.

Level: pure."""

import json
import re
import subprocess
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from hookrunner.charts.renderer import Renderer
from hookrunner.errors import BadChart, RenderFailed
from hookrunner.model.releases import RenderedChart
from kubetypes.json_values import JSON
from kubetypes.yaml_values import YAML_1_1, documents
from tests.charts.conftest import CHART, Write, configmap, order

pytestmark = pytest.mark.asyncio(loop_scope="module")

VALUES: JSON = {"global": {"x": "g", "n": 12345678901}, "demo": {"on": True, "list": ["a", "b"], "f": 1.5}}
SOURCE = re.compile(r"^---\n# Source: (.*)\n", re.MULTILINE)
SUB = "apiVersion: v2\nname: sub\nversion: 0.1.0\n"
SUB_FILES = {"charts/sub/Chart.yaml": SUB, "charts/sub/values.yaml": "v: own\n"}
WITH_SUB = CHART + "dependencies:\n- {name: sub, version: 0.1.0"
SEE = configmap("sub", "  v: {{ .Values.v }}\n  g: {{ .Values.global.x }}\n  n: {{ .Chart.Name }}\n")
KINDS = ("Job", "Widget", "Service", "ConfigMap", "Namespace", "Deployment", "Gadget", "ClusterRole", "Secret")
NAMED = "apiVersion: v1\nkind: {kind}\nmetadata: {{name: x}}\n"
WEIGHT, POLICY = ', "helm.sh/hook-weight": "-5"', ', "helm.sh/hook-delete-policy": "hook-failed"'
HOOKED = 'apiVersion: v1\nkind: {kind}\nmetadata:\n  name: h\n  annotations: {{"helm.sh/hook": "{hook}"{more}}}\n'

CHARTS: dict[str, dict[str, str]] = {
    "values": {
        "values.yaml": "demo: {on: false, kept: k, gone: 1}\nother: 7\n",
        "templates/a.yaml": configmap("a", "  v: {{ .Values | toJson | quote }}\n  n: '{{ .Values.global.n }}'\n"),
    },
    "release": {
        "templates/a.yaml": configmap(
            "a", "".join(f"  {word}: {{{{ toJson .{word} | quote }}}}\n" for word in ("Release", "Chart", "Template"))
        )
    },
    "documents": {
        "templates/b.yaml": f"\n---\n\n# nothing\n---\n{configmap('b')}---\n---   \n{configmap('c')}\n--- \n",
        "templates/a.yml": "# only a comment\n",
        "templates/sub/c.yaml": "   \n",
        "templates/.hidden.yaml": "a: [",
        "templates/text.txt": configmap("txt"),
    },
    "ends": {
        "templates/clip.yaml": configmap("clip", "  v: |\n    one"),
        "templates/keep.yaml": "\n---\n".join(configmap(name, "  v: |+\n    one\n\n\n") for name in ("k", "l")),
        "templates/strip.yaml": configmap("strip", "  v: |-\n    one \n\n  \n"),
    },
    "order": {
        f"templates/{number}.yaml": f"{NAMED.format(kind=kind)}---\n{configmap(f'y{number}')}"
        for number, kind in enumerate(KINDS)
    },
    "crds in templates": {
        "crds/not-seen.yaml": "apiVersion: v1\nkind: No\n",
        "templates/crd.yaml": NAMED.format(kind="CustomResourceDefinition"),
        "templates/a.yaml": "apiVersion: b/v1\nkind: A\nmetadata: {name: a}\n",
    },
    "words": {
        "templates/a.yaml": configmap("a")
        + "spec: {a: yes, b: off, c: 1_000, d: 0o17, e: 010, f: 1e3, g: 2024-01-01, h: 1e+06}\n"
    },
    "files and tpl": {
        "conf/a.txt": "one {{ .Release.Name }}\n",
        "conf/b.txt": "two",
        ".helmignore": "# no\nb.txt\n/secret/\n*.bak\n",
        "secret/x": "s",
        "x.bak": "",
        "values.yaml": 't: "{{ .Values.global.x }}!"\n',
        "templates/a.yaml": configmap(
            "a",
            '  all: {{ range $p, $_ := .Files.Glob "**" }}{{ $p }},{{ end }}\n  t: {{ tpl .Values.t . }}\n'
            '  f: {{ tpl (.Files.Get "conf/a.txt") . | quote }}\n',
        ),
    },
    "subchart": {
        "Chart.yaml": WITH_SUB + "}\n",
        **SUB_FILES,
        "charts/sub/templates/s.yaml": SEE,
        "values.yaml": "sub: {v: mine}\n",
    },
    "undeclared subchart": {**SUB_FILES, "charts/sub/templates/s.yaml": SEE},
    "condition off": {
        "Chart.yaml": WITH_SUB + ", condition: demo.off}\n",
        "values.yaml": "demo: {off: false}\n",
        **SUB_FILES,
        "charts/sub/templates/s.yaml": SEE,
    },
    "condition on": {
        "Chart.yaml": WITH_SUB + ", condition: demo.on}\n",
        **SUB_FILES,
        "charts/sub/templates/s.yaml": SEE,
    },
    "tags off": {
        "Chart.yaml": WITH_SUB + ", tags: [back]}\n",
        "values.yaml": "tags: {back: false}\n",
        **SUB_FILES,
        "charts/sub/templates/s.yaml": SEE,
    },
    "alias and import": {
        "Chart.yaml": WITH_SUB + ", alias: other, import-values: [{child: deep, parent: got}]}\n",
        **SUB_FILES,
        "charts/sub/values.yaml": "v: own\ndeep: {k: 1}\n",
        "charts/sub/templates/s.yaml": SEE,
        "templates/a.yaml": configmap("a", "  got: {{ toJson .Values.got | quote }}\n"),
    },
    "library chart": {
        "Chart.yaml": "apiVersion: v2\nname: demo\nversion: 1.2.3\ndependencies:\n- {name: lib, version: 0.1.0}\n",
        "charts/lib/Chart.yaml": "apiVersion: v2\nname: lib\nversion: 0.1.0\ntype: library\n",
        "charts/lib/templates/_l.tpl": '{{ define "l.name" }}{{ .Release.Name }}-l{{ end }}',
        "templates/a.yaml": configmap('{{ include "l.name" . }}'),
    },
    "hooks": {
        "templates/b.yaml": HOOKED.format(kind="Job", hook="post-install, PRE-upgrade", more=WEIGHT),
        "templates/a.yaml": HOOKED.format(kind="Pod", hook="test-success", more=POLICY),
        "templates/c.yaml": HOOKED.format(kind="ConfigMap", hook="pre-delete", more="") + "---\n" + configmap("c"),
        "templates/d.yaml": HOOKED.format(kind="ConfigMap", hook="crd-install", more=""),
    },
    "capabilities": {
        "templates/a.yaml": configmap(
            "a",
            "  v: {{ .Capabilities.KubeVersion }}{{ $.Capabilities.KubeVersion.Minor }}\n"
            '  a: {{ .Capabilities.APIVersions.Has "apps/v1" | quote }}\n',
        )
    },
    "needs a version": {"Chart.yaml": CHART + "kubeVersion: '>=1.30.0-0 <2'\n", "templates/a.yaml": configmap("a")},
    "schema": {
        "values.schema.json": '{"properties": {"demo": {"required": ["on"]}}}',
        "templates/a.yaml": configmap("a"),
    },
}


REFUSED: dict[str, tuple[dict[str, str], str]] = {
    "schema": ({"values.schema.json": '{"properties": {"demo": {"required": ["off"]}}}'}, "missing property 'off'"),
    "version": ({"Chart.yaml": CHART + "kubeVersion: '<1.20'\n"}, "chart requires kubeVersion: <1.20"),
    "subchart missing": ({"Chart.yaml": WITH_SUB + "}\n"}, "missing in charts/ directory: sub"),
    "library": ({"Chart.yaml": CHART + "type: library\n"}, "library"),
    "no version": ({"Chart.yaml": "apiVersion: v2\nname: demo\n"}, "chart.metadata.version is required"),
}


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def renderer() -> AsyncIterator[Renderer]:
    async with Renderer() as renderer:
        yield renderer


def template(helm: Path, directory: Path) -> str:
    values = directory.with_name("values.json")
    values.write_text(json.dumps(VALUES))
    words = f"template demo {directory} -n here --is-upgrade -f {values} "
    words += "--kube-version v1.31.2 --api-versions v1,apps/v1"
    done = subprocess.run([helm, *words.split()], capture_output=True, text=True, check=False)
    return done.stdout if done.returncode == 0 else done.stderr


def theirs(output: str) -> list[tuple[str, JSON]]:
    parts = iter(SOURCE.split(output)[1:])
    pairs = zip(parts, parts, strict=True)
    return [(path, value) for path, text in pairs for value in documents(text.encode(), YAML_1_1) if value]


def ours(rendered: RenderedChart) -> list[tuple[str, JSON]]:
    assert [value for _, value in theirs(rendered.manifest)] == list(rendered.objects)
    return theirs(rendered.manifest) + [(hook.path, hook.obj) for hook in rendered.hooks]


@pytest.mark.slow
@pytest.mark.parametrize("name", CHARTS)
async def test_rendered_objects_equal_those_of_helm_template(
    renderer: Renderer, helm: Path, write: Write, name: str
) -> None:
    directory = write({"Chart.yaml": CHART} | CHARTS[name])
    expected = theirs(template(helm, directory))
    assert expected or "off" in name
    assert ours(await renderer.render(order(directory, VALUES))) == expected


@pytest.mark.slow
@pytest.mark.parametrize("name", REFUSED)
async def test_charts_that_helm_refuses_are_refused(renderer: Renderer, helm: Path, write: Write, name: str) -> None:
    files, message = REFUSED[name]
    directory = write({"Chart.yaml": CHART, "templates/a.yaml": configmap("a")} | files)
    assert message in template(helm, directory)
    with pytest.raises((RenderFailed, BadChart), match=re.escape(message)):
        await renderer.render(order(directory, VALUES))
