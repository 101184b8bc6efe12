"""What kustomizations name: what is elsewhere is refused before kubectl runs, and is what kubectl would fetch.

Level: pure."""

from collections.abc import AsyncIterator, Mapping
from contextlib import suppress
from typing import NamedTuple

import pytest
from aiohttp.web import BaseRequest, Response

from hookrunner.errors import RenderFailed
from hookrunner.manifests.kustomization_files import check_kustomizations, generated_from
from hookrunner.manifests.kustomize import build_kustomization, run_kustomize
from hookrunner.manifests.program_runner import ProgramRunner
from tests.controlplane.tools import find_tool
from tests.packages.web_place import serve
from tests.tables import each

FILES = {"base/kustomization.yaml": b"resources: [s.yaml]\n", "base/s.yaml": b"", "d.yaml": b"", "Corefile": b""}
PLUGIN = "apiVersion: builtin\nkind: NamespaceTransformer\n"


def check(text: str, **files: str) -> None:
    more = {name.replace("_", "."): content.encode() for name, content in files.items()}
    vendored = {"github.com/a/b/kustomization.yaml": b""}
    check_kustomizations({**FILES, **vendored, **more, "kustomization.yaml": text.encode()})


@each(
    "text",
    [
        "resources: [base, ./d.yaml, base/../d.yaml]",
        "configMapGenerator: [{name: a, files: [Corefile, key=Corefile], envs: [d.yaml], literals: [a=/b]}]",
        "patches: [{path: d.yaml}, {patch: 'https://inline'}]\npatchesStrategicMerge: ['a:\n\n  b: //c', '{a: //b}']",
        "transformers: [p.yaml, '{apiVersion: builtin, kind: PrefixTransformer}']",
        "namespace: https://x\nimages: [{name: a/b, newName: ../c}]",
        "resources: [5, {}, ./github.com/a/b]\npatches: 3\nopenapi: {path: d.yaml}",
        "generators: ['{apiVersion: builtin, kind: SecretGenerator, files: [a=Corefile], literals: [a=http://b]}']",
        "transformers: ['{apiVersion: builtin, kind: LabelTransformer, fieldSpecs: [{path: metadata/labels}]}']",
        "",
    ],
)
def test_what_is_in_the_package_may_be_named(text: str) -> None:
    check(text, p_yaml=PLUGIN)


@each(
    ("text", "message"),
    [
        ("resources: [https://example.com/a.yaml]", "resources: 'https://example.com/a.yaml' is not in the package"),
        ("resources: [github.com/a/b?ref=v1]", "'github.com/a/b?ref=v1' is not in the package"),
        ("resources: [git@github.com:a/b.git]", "is not in the package"),
        ("bases: [../other]", "bases: '../other' leads outside of the package"),
        ("components: [/etc]", "'/etc' leads outside"),
        ("Resources: [../a]", "Resources: '../a' leads outside"),
        ("re\u017fources: [../a]", "'../a' leads outside"),
        ("patches: [{Path: ../a}]", "patches: '../a' leads outside"),
        ("secretGenerator: [{name: a, files: [a=../../etc/passwd]}]", "'../../etc/passwd' leads outside"),
        ("configMapGenerator: [{name: a, env: none.env}]", "'none.env' is not in the package"),
        ("openapi: {path: ../a}", "'../a' leads outside"),
        ("helmCharts: [{name: a}]", "helmCharts: Helm charts are not rendered in a kustomization"),
        ("helmChartInflationGenerator: []", "Helm charts are not rendered"),
        ("generators: [base]", "'base' is no file with plugins"),
        ("generators: [d.yaml]", "'d.yaml' is no file with plugins"),
        ("generators: [p.yaml]", "'p.yaml': only plugins with apiVersion builtin are run"),
        ("generators: ['apiVersion: builtin\n\nkind: HelmChartInflationGenerator']", "Helm charts are not rendered"),
        ("validators: ['{a: [']", "not YAML"),
        (
            "generators: ['{apiVersion: builtin, kind: ExecGenerator}']",
            "'inline': kustomize has no plugin ExecGenerator",
        ),
        ("generators: ['{apiVersion: builtin, kind: List, items: []}']", "'inline': a list of plugins is not read"),
        ("resources: ['base\n']", "is not in the package"),
        ("resources: [./base, 'github.com/a/b']", "'github.com/a/b' is an address to kustomize, which would fetch it"),
        ("- a", "a kustomization is a map, not a list of 1 item"),
        ("a: [", "kustomization.yaml: not YAML"),
    ],
)
def test_what_is_elsewhere_or_runs_programs_is_refused(text: str, message: str) -> None:
    with pytest.raises(RenderFailed) as refused:
        check(text, p_yaml="apiVersion: example.com/v1\nkind: Exec\n")
    assert str(refused.value).startswith("kustomization.yaml: ")
    assert message in str(refused.value)


def test_kustomizations_of_other_directories_are_checked_too() -> None:
    with pytest.raises(RenderFailed, match=r"^base/Kustomization: resources: '\.\./\.\./a' leads outside"):
        check_kustomizations({"base/Kustomization": b"resources: [../../a]", "kustomization.yaml": b""})


def test_what_generators_read_is_known_in_plugins_too() -> None:
    files = {
        "kustomization.yaml": b"generators: [plugins/p.yaml, '{apiVersion: builtin, files: [k=b]}']\n",
        "plugins/p.yaml": b"{apiVersion: builtin, kind: ConfigMapGenerator, envs: [a=b.env], Files: [c]}",
        "sub/kustomization.yaml": b"configMapGenerator: [{files: [x]}]\nsecretGenerator: [{env: b.env}]\n",
        "other/p.yaml": b"{apiVersion: builtin, files: [z]}",
    }
    assert generated_from(files, "files") == {"b", "c", "sub/x"}
    assert generated_from(files, "env", "envs") == {"a=b.env", "sub/b.env"}


def test_a_plugin_that_is_named_a_thousand_times_is_read_once() -> None:
    names = "".join(f"- {'./' * number}p.yaml\n" for number in range(1_000))
    document = f"---\n{PLUGIN}literals: [{'a=b, ' * 50_000}]\n"
    check(f"transformers:\n{names}", p_yaml=document)


class Web(NamedTuple):
    """A web server that remembers for which paths it was asked."""

    url: str
    asked: list[str]


@pytest.fixture
async def web() -> AsyncIterator[Web]:
    asked = list[str]()

    async def answer(request: BaseRequest) -> Response:
        asked.append(request.path)
        return Response(status=404)

    async with serve(answer) as url:
        yield Web(url, asked)


def plugin(kind: str, fields: str) -> str:
    return f"{{apiVersion: builtin, kind: {kind}, metadata: {{name: g}}, {fields}}}"


GENERATOR = "ConfigMapGenerator"
FETCHED: Mapping[str, Mapping[str, str]] = {
    "inline": {"kustomization.yaml": f"generators: [{plugin(GENERATOR, 'files: [k=URL]')!r}]"},
    "inline with a line end": {"kustomization.yaml": f"generators:\n- |\n  {plugin(GENERATOR, 'envs: [URL]')}"},
    "inline of one line": {
        "kustomization.yaml": f"generators: [{'!!map ' + plugin(GENERATOR, 'files: [k=URL]')!r}]",
        f"!!map {plugin(GENERATOR, 'files: [k=URL]')}": plugin("HashTransformer", "a: b"),
    },
    "file": {"kustomization.yaml": "generators: [p/p.yaml]", "p/p.yaml": plugin("SecretGenerator", "Files: [k=URL]")},
    "second document": {
        "kustomization.yaml": "transformers: [p.yaml]",
        "p.yaml": plugin("HashTransformer", "a: b") + "\n---\n" + plugin("PatchTransformer", "path: URL") + "\n",
    },
    "list": {
        "kustomization.yaml": "transformers: [p.yaml]",
        "p.yaml": f"{{apiVersion: builtin, kind: List, items: [{plugin('PatchTransformer', 'path: URL')}]}}",
    },
    "merge": {"kustomization.yaml": "configMapGenerator: [{name: a, files: [Corefile], <<: {files: [k=URL]}}]"},
    "merge by tag": {"kustomization.yaml": "configMapGenerator: [{name: a, !!merge '<<': {files: [k=URL]}}]"},
    "merge in a plugin": {
        "kustomization.yaml": "generators: [p.yaml]",
        "p.yaml": f"{{<<: {{files: [k=URL]}}, {plugin(GENERATOR, 'options: {}')[1:]}",
    },
    "anchor": {"kustomization.yaml": "crds: &a [URL]\nopenapi: {path: cm.yaml}\nconfigurations: *a"},
    "JSON patch": {
        "kustomization.yaml": "transformers: [p.yaml]",
        "p.yaml": plugin("PatchJson6902Transformer", "target: {kind: A, name: b}, path: URL"),
    },
    "strategic merge": {
        "kustomization.yaml": f"transformers: [{plugin('PatchStrategicMergeTransformer', 'paths: [URL]')!r}]"
    },
    "replacement": {
        "kustomization.yaml": f"transformers: [{plugin('ReplacementTransformer', 'replacements: [{path: URL}]')!r}]"
    },
    "values": {"kustomization.yaml": f"transformers: [{plugin('ValueAddTransformer', 'targetFilePath: URL')!r}]"},
    "validator": {"kustomization.yaml": f"validators: [{plugin('PatchTransformer', 'path: URL')!r}]"},
    "base": {
        "kustomization.yaml": "resources: [base]",
        "base/kustomization.yaml": f"generators: [{plugin(GENERATOR, 'files: [k=URL]')!r}]",
    },
    "component": {
        "kustomization.yaml": "components: [c]",
        "c/kustomization.yaml": "apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\n"
        f"generators: [{plugin(GENERATOR, 'files: [k=URL]')!r}]",
    },
    "key in two spellings": {
        "kustomization.yaml": "configMapGenerator: [{name: a, files: [k=URL], Files: [Corefile]}]"
    },
    "name with an equals sign": {"kustomization.yaml": "configMapGenerator: [{name: a, envs: ['URL?a=Corefile']}]"},
    "resource": {"kustomization.yaml": "resources: [URL]"},
    "definition": {"kustomization.yaml": "crds: [URL]"},
    "configuration": {"kustomization.yaml": "configurations: [URL]"},
    "schema": {"kustomization.yaml": "openapi: {path: URL}"},
}
"""Packages by which kubectl asks a web server."""


def attacking(files: Mapping[str, str], url: str) -> dict[str, bytes]:
    """The package with a URL; and with a file whose path is what remains of the URL as a path."""
    path, objects = url.replace("//", "/"), "resources: [cm.yaml]\n"
    more = {"cm.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\n", "Corefile": "a=b\n", path: "a: b\n"}
    written = {name.replace("URL", url).replace("//", "/"): text.replace("URL", url) for name, text in files.items()}
    top = written["kustomization.yaml"]
    written["kustomization.yaml"] = top if top.startswith("resources") else objects + top
    return {name: text.encode() for name, text in {**more, **written}.items()}


@pytest.mark.slow
@pytest.mark.parametrize("case", FETCHED)
async def test_nothing_is_asked_of_the_network(
    case: str, web: Web, runner: ProgramRunner, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(find_tool("kubectl").parent))
    package = attacking(FETCHED[case], f"{web.url}/asked")
    with suppress(RenderFailed):
        await run_kustomize(package, runner)
    assert web.asked, "kubectl does not ask for this: the case proves nothing"
    web.asked.clear()
    with pytest.raises(RenderFailed, match=r"not in the package|is an address|list of plugins|`<<` is not read"):
        await build_kustomization(package, runner)
    assert web.asked == []
