"""Objects of an instance: the same from every form of package, in one order, with namespaces and labels.

Level: pure."""

import os
import shutil
from collections.abc import AsyncIterator, Callable, Collection, Mapping
from dataclasses import replace
from pathlib import Path

import pytest
from aiohttp import web
from aiohttp.test_utils import RawTestServer

from hookrunner.addons.build_request import BuildRequest, BuildTerms, ImageSettings, build_digest
from hookrunner.addons.files.addon_file import to_addon
from hookrunner.addons.instance_fields import read_instance
from hookrunner.addons.object_builder import MIN_OPERATOR, ObjectBuilder
from hookrunner.charts.renderer import Renderer
from hookrunner.errors import BadManifest, BadPatch, MissingValue, UnknownKind
from hookrunner.kube.cluster_lookup import with_kubeconfig
from hookrunner.manifests.object_metadata import Kind
from hookrunner.manifests.program_runner import ProgramRunner
from hookrunner.modules.offline import stock_capabilities
from hookrunner.packages.package import parse_package
from hookrunner.packages.package_cache import unpack_package
from hookrunner.process.child import Patience
from hookrunner.process.children import Children
from hookrunner.settings import own_environment
from kubetypes.json_values import JSON
from tests.controlplane.tools import find_tool

CONFIG = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: web}\ndata: {text: __GREETING__}\n"
ROLE = "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata: {name: web}\n"
DEPLOYMENT = """apiVersion: apps/v1
kind: Deployment
metadata: {name: web, labels: {app: own}}
spec: {template: {spec: {containers: [{name: web, image: docker.io/library/nginx:1}]}}}
"""
ITSELF = "apiVersion: addons.x-k8s.io/v1\nkind: Web\nmetadata: {name: default, namespace: apps}\n"
LISTED = [{"kind": "ConfigMap", "paths": ["data", "metadata.labels"]}]
POD = {"serviceAccountName": "admin", "hostPID": True, "containers": [{"name": "web", "image": "evil"}]}
TAKING_OVER = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"}}
TAKING_OVER |= {"spec": {"template": {"spec": POD}}}
CHART = {"Chart.yaml": "apiVersion: v2\nname: web\nversion: 1.0.0\n"}

KUBECONFIG = """apiVersion: v1
kind: Config
clusters: [{{name: a, cluster: {{server: '{server}'}}}}]
contexts: [{{name: a, context: {{cluster: a, user: a}}}}]
users: [{{name: a, user: {{}}}}]
current-context: a
"""

Request = Callable[..., BuildRequest]


@pytest.fixture
def kubectl(monkeypatch: pytest.MonkeyPatch) -> None:
    """Put it on PATH, which it may not be on."""
    monkeypatch.setenv("PATH", f"{find_tool('kubectl').parent}:{os.environ['PATH']}")


@pytest.fixture
async def builder(tmp_path: Path) -> AsyncIterator[ObjectBuilder]:
    runner = ProgramRunner(Children(Patience(kill=1.0)), tmp_path)
    async with Renderer() as renderer:
        yield ObjectBuilder(renderer, runner, own_environment())


@pytest.fixture
def request_of(tmp_path: Path) -> Request:
    """Requests for packages with given files, and with keys of addon.yaml."""

    def make(files: Mapping[str, str], spec: JSON = None, **keys: JSON) -> BuildRequest:
        document = {"object": {"kind": "Web"}, "text": {"__GREETING__": "greeting"}, "labels": {"app": "web"}} | keys
        addon = to_addon(document, tmp_path / "web", tmp_path)
        metadata = {"name": "default", "namespace": "apps"}
        obj = {"apiVersion": "addons.x-k8s.io/v1alpha1", "kind": "Web", "metadata": metadata, "spec": spec}
        package = parse_package("web", "1.0.0", {path: text.encode() for path, text in files.items()})
        return BuildRequest(
            addon=addon,
            instance=read_instance(addon, obj),
            package=package,
            directory=unpack_package(package, tmp_path / "packages"),
            values={"global": {}, "web": {"greeting": "hello"}},
            capabilities=stock_capabilities(),
        )

    return make


async def test_plain_files_become_objects_of_the_instance(builder: ObjectBuilder, request_of: Request) -> None:
    built = await builder.build(request_of({"b.yaml": DEPLOYMENT, "a.yaml": f"{CONFIG}---\n{ROLE}"}))
    assert [obj["kind"] for obj in built.rendered.objects] == ["ConfigMap", "ClusterRole", "Deployment"]
    config, role, deployment = built.rendered.objects
    assert config["data"] == {"text": "hello"}
    assert config["metadata"]["namespace"] == "apps"
    assert "namespace" not in role["metadata"]
    assert deployment["metadata"]["labels"] == {"addons.x-k8s.io/web": "default", "app": "web"}


@pytest.mark.slow
async def test_chart_leads_to_the_same_objects(builder: ObjectBuilder, request_of: Request) -> None:
    templates = {"templates/a.yaml": CONFIG.replace("__GREETING__", "{{ .Values.web.greeting }}")}
    charted = await builder.build(request_of({**CHART, **templates}))
    plain = await builder.build(request_of({"a.yaml": CONFIG}))
    assert charted.rendered.objects == plain.rendered.objects


@pytest.mark.slow
async def test_templates_look_into_the_cluster_with_the_rights_of_the_account(
    request_of: Request, tmp_path: Path
) -> None:
    """Of two instances of one worker: one with an account, one without."""
    heard: list[str] = []

    async def answer(request: web.BaseRequest) -> web.Response:
        if request.path.endswith("/nodes"):
            heard.append(request.headers.get("Impersonate-User", ""))
        kinds = [{"name": "nodes", "kind": "Node", "namespaced": False, "verbs": ["list"]}]
        found = {"/api": {"versions": ["v1"]}, "/api/v1": {"groupVersion": "v1", "resources": kinds}}
        return web.json_response(found.get(request.path, {"apiVersion": "v1", "kind": "NodeList", "items": []}))

    files = CHART | {"templates/a.yaml": CONFIG.replace("__GREETING__", '{{ lookup "v1" "Node" "" "" | len }}')}
    async with RawTestServer(answer) as server:
        (kubeconfig := tmp_path / "kubeconfig").write_text(KUBECONFIG.format(server=server.make_url("")))
        async with Renderer(environ=with_kubeconfig(os.environ, str(kubeconfig))) as renderer:
            builder = ObjectBuilder(renderer, ProgramRunner(Children(Patience()), tmp_path), own_environment())
            for spec in ({"serviceAccountName": "deployer"}, {}):
                await builder.build(request_of(files, spec))
    assert heard == ["system:serviceaccount:apps:deployer", ""]


@pytest.mark.usefixtures("kubectl")
async def test_kustomization_leads_to_the_same_objects(builder: ObjectBuilder, request_of: Request) -> None:
    kustomization = "resources: [a.yaml]\n"
    built = await builder.build(request_of({"kustomization.yaml": kustomization, "a.yaml": CONFIG}))
    plain = await builder.build(request_of({"a.yaml": CONFIG}))
    assert built.rendered.objects == plain.rendered.objects


@pytest.mark.usefixtures("kubectl")
@pytest.mark.parametrize(
    "files",
    [
        {"a.yaml": "# later\n"},
        {**CHART, "templates/a.yaml": "{{ if false }}" + CONFIG + "{{ end }}"},
        {"kustomization.yaml": "resources: [a.yaml]\n", "a.yaml": "# later\n"},
    ],
    ids=["plain", "chart", "kustomization"],
)
async def test_build_that_leaves_all_objects_out_is_refused(
    builder: ObjectBuilder, request_of: Request, files: dict[str, str]
) -> None:
    """Else a wrong value would remove all that is installed."""
    with pytest.raises(BadManifest, match="no objects are left to install"):
        await builder.build(request_of(files))


@pytest.mark.slow
async def test_chart_of_hooks_alone_is_built(builder: ObjectBuilder, request_of: Request) -> None:
    hook = CONFIG.replace("name: web", "name: web, annotations: {helm.sh/hook: pre-install}")
    built = await builder.build(request_of({**CHART, "templates/a.yaml": hook}))
    assert (len(built.rendered.objects), len(built.rendered.hooks)) == (0, 1)


async def test_post_renderer_changes_objects_before_patches(
    builder: ObjectBuilder, request_of: Request, tmp_path: Path
) -> None:
    script = tmp_path / "web/render/shout"
    script.parent.mkdir(parents=True)
    script.write_text("#!/bin/sh\nsed -e s/hello/HELLO/ -e /namespace:/d\n")
    script.chmod(0o755)
    patch = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "web"}, "data": {"more": "yes"}}
    request = request_of({"a.yaml": CONFIG}, spec={"patches": [patch]}, postRender=["render/shout"], patches=LISTED)
    [config] = (await builder.build(request)).rendered.objects
    assert config["data"] == {"text": "HELLO", "more": "yes"}
    assert config["metadata"]["namespace"] == "apps"


async def test_record_names_component_and_version(builder: ObjectBuilder, request_of: Request) -> None:
    built = await builder.build(request_of({"a.yaml": CONFIG}, description="Says hello"))
    metadata = built.rendered.chart["metadata"]
    assert (metadata["name"], metadata["version"], metadata["description"]) == ("web", "1.0.0", "Says hello")
    assert built.rendered.manifest.startswith("---\n# Source: a.yaml\n")


async def test_order_of_files_does_not_matter(builder: ObjectBuilder, request_of: Request) -> None:
    parts = [CONFIG, ROLE, DEPLOYMENT]
    forwards = await builder.build(request_of({f"{n}.yaml": text for n, text in enumerate(parts)}))
    backwards = await builder.build(request_of({f"{n}.yaml": text for n, text in enumerate(reversed(parts))}))
    assert forwards.rendered.objects == backwards.rendered.objects


async def test_images_come_from_the_private_registry(builder: ObjectBuilder, request_of: Request) -> None:
    request = replace(request_of({"a.yaml": DEPLOYMENT}), terms=BuildTerms(ImageSettings("reg.local", "pull")))
    [deployment] = (await builder.build(request)).rendered.objects
    pod = deployment["spec"]["template"]["spec"]
    assert pod["containers"][0]["image"] == "reg.local/nginx:1"
    assert pod["imagePullSecrets"] == [{"name": "pull"}]


async def test_definitions_of_a_package_tell_scopes(builder: ObjectBuilder, request_of: Request) -> None:
    spec = "{group: a.io, scope: Namespaced, names: {kind: Thing, plural: things}, versions: []}"
    head = "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: t}\n"
    definition = f"{head}spec: {spec}\n"
    thing = "apiVersion: a.io/v1\nkind: Thing\nmetadata: {name: one}\n"
    built = await builder.build(request_of({"a.yaml": f"{definition}---\n{thing}"}))
    assert built.rendered.objects[-1]["metadata"]["namespace"] == "apps"


async def test_cluster_tells_scopes_of_kinds_that_only_it_knows(builder: ObjectBuilder, request_of: Request) -> None:
    asked = list[Kind]()

    async def read_scopes(kinds: Collection[Kind]) -> dict[Kind, bool]:
        asked.extend(kinds)
        return {("a.io/v1", "Thing"): True, ("a.io/v1", "Zone"): False}

    things = (f"apiVersion: a.io/v1\nkind: {kind}\nmetadata: {{name: x}}\n" for kind in ("Thing", "Zone", "Odd"))
    request = replace(
        request_of({"a.yaml": "---\n".join([CONFIG, *things])}), terms=BuildTerms(read_scopes=read_scopes)
    )
    objects = (await builder.build(request)).rendered.objects
    placed = {obj["kind"]: obj["metadata"].get("namespace") for obj in objects}
    assert placed == {"ConfigMap": "apps", "Thing": "apps", "Zone": None, "Odd": None}
    assert asked == [("a.io/v1", "Thing"), ("a.io/v1", "Zone"), ("a.io/v1", "Odd")]


async def test_object_of_a_kind_that_the_cluster_does_not_know_is_named(
    builder: ObjectBuilder, request_of: Request
) -> None:
    async def read_scopes(kinds: Collection[Kind]) -> dict[Kind, bool]:
        raise UnknownKind(f"no kind {kinds}")

    request = request_of({"b.yaml": "apiVersion: a.io/v1\nkind: Zone\nmetadata: {name: x}\n", "a.yaml": CONFIG})
    with pytest.raises(UnknownKind, match=r"^Zone x \(b\.yaml\): no kind \(\('a\.io/v1', 'Zone'\),\)"):
        await builder.build(replace(request, terms=BuildTerms(read_scopes=read_scopes)))


def test_namespace_of_an_instance_without_one_is_that_of_the_program(request_of: Request) -> None:
    request = request_of({"a.yaml": CONFIG})
    rootless = read_instance(request.addon, {**request.instance.document, "metadata": {"name": "default"}})
    assert replace(request, instance=rootless, terms=BuildTerms(namespace="home")).namespace == "home"


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({"a.yaml": "- 1\n"}, r"a\.yaml, document 1: not an object"),
        ({"a.yaml": CONFIG, "b.yaml": CONFIG}, r"ConfigMap apps/web \(b\.yaml\): the package has it twice"),
        ({"a.yaml": "apiVersion: v1\nkind: Secret\nmetadata: {generateName: x}\n"}, "has no metadata.name"),
        ({"a.yaml": ITSELF}, "itself"),
        ({"a.yaml": ITSELF.replace(", namespace: apps", "").replace("/v1", "/v1alpha1")}, "itself"),
    ],
)
async def test_unusable_packages_are_refused(
    files: Mapping[str, str], message: str, builder: ObjectBuilder, request_of: Request
) -> None:
    with pytest.raises(BadManifest, match=message):
        await builder.build(request_of(files))


async def test_placeholder_without_a_value_is_refused(builder: ObjectBuilder, request_of: Request) -> None:
    with pytest.raises(MissingValue, match="__GREETING__ has no value"):
        await builder.build(request_of({"a.yaml": CONFIG}, text={"__GREETING__": "missing"}))


async def test_file_that_is_no_text_is_named(builder: ObjectBuilder, request_of: Request) -> None:
    request = request_of({"a.yaml": CONFIG})
    package = parse_package("web", "1.0.0", {"a.yaml": CONFIG.encode(), "b.bin": b"\xff"})
    with pytest.raises(BadManifest, match=r"b\.bin: is not UTF-8"):
        await builder.build(replace(request, package=package))


async def test_patches_are_applied_to_objects_with_namespaces(builder: ObjectBuilder, request_of: Request) -> None:
    target = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web", "namespace": "apps"}}
    built = await builder.build(
        request_of({"a.yaml": DEPLOYMENT}, spec={"patches": [{**target, "spec": {"replicas": 3}}]})
    )
    [deployment] = built.rendered.objects
    assert deployment["spec"]["replicas"] == 3
    assert [name for *_, name in built.rendered.unpatched] == ["web"]


async def test_patch_cannot_remove_the_label_of_the_instance(builder: ObjectBuilder, request_of: Request) -> None:
    labels = {"addons.x-k8s.io/web": "other", "mine": "yes"}
    patch = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "web", "labels": labels}}
    request = request_of({"a.yaml": CONFIG}, spec={"patches": [patch]}, patches=LISTED)
    [config] = (await builder.build(request)).rendered.objects
    assert config["metadata"]["labels"] == {"addons.x-k8s.io/web": "default", "app": "web", "mine": "yes"}


async def test_author_of_an_instance_gets_no_rights_by_patches(builder: ObjectBuilder, request_of: Request) -> None:
    """Seen before on a real control plane: a privileged Pod in kube-system. `test_patch_policy.py` has more patches."""
    rules = [{"kind": "Deployment", "paths": ["spec"]}]
    request = request_of({"a.yaml": DEPLOYMENT}, spec={"patches": [TAKING_OVER]}, patches=rules)
    for mode in ("listed", "none"):
        with pytest.raises(BadPatch, match="--addon-patches") as refused:
            await builder.build(replace(request, terms=BuildTerms(patches=mode)))
        assert refused.value.reason == "NotAllowed"
    built = await builder.build(replace(request, terms=BuildTerms(patches="all")))
    assert [name for *_, name in built.rendered.unpatched] == ["web"]


async def test_unmatched_patch_is_refused_or_reported(builder: ObjectBuilder, request_of: Request) -> None:
    patches = [{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "wbe"}, "data": {}}]
    with pytest.raises(BadPatch, match="did you mean 'web'") as refused:
        await builder.build(request_of({"a.yaml": CONFIG}, spec={"patches": patches}))
    assert refused.value.reason == "NoMatch"
    built = await builder.build(request_of({"a.yaml": CONFIG}, spec={"patches": patches}, unmatchedPatches="warn"))
    assert "did you mean 'web'" in built.rendered.unmatched[0]


async def test_application_selects_objects_of_the_instance(builder: ObjectBuilder, request_of: Request) -> None:
    application = "apiVersion: app.k8s.io/v1beta1\nkind: Application\nmetadata: {name: web}\nspec: {}\n"
    built = await builder.build(request_of({"a.yaml": CONFIG, "b.yaml": application}, application=True))
    spec = built.rendered.objects[-1]["spec"]
    assert spec["selector"] == {"matchLabels": {"addons.x-k8s.io/web": "default"}}
    assert spec["descriptor"] == {"version": "1.0.0"}


@pytest.mark.slow
async def test_definitions_of_a_chart_come_with_its_objects(builder: ObjectBuilder, request_of: Request) -> None:
    definition = "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: t}\nspec: {}\n"
    files = {**CHART, "crds/t.yaml": definition, "templates/a.yaml": ROLE}
    built = await builder.build(request_of(files))
    assert [obj["kind"] for obj in built.rendered.objects] == ["CustomResourceDefinition", "ClusterRole"]
    assert "# Source: crds\n" in built.rendered.manifest


@pytest.mark.parametrize(("asked", "highest"), [([], ""), (["0.2.0", "0.10.0"], "0.10.0"), (["9.0.0", "soon"], "soon")])
async def test_highest_wanted_operator_is_known(
    asked: list[str], highest: str, builder: ObjectBuilder, request_of: Request
) -> None:
    text = "apiVersion: v1\nkind: Namespace\nmetadata: {{name: n{0}, annotations: {{{1}: '{2}'}}}}\n"
    files = {f"{n}.yaml": text.format(n, MIN_OPERATOR, version) for n, version in enumerate(asked)}
    built = await builder.build(request_of({"a.yaml": ROLE, **files}))
    assert built.min_operator == highest


def test_digest_covers_what_changes_objects(request_of: Request) -> None:
    first = request_of({"a.yaml": CONFIG})
    elsewhere = {**first.instance.document, "metadata": {"name": "default", "namespace": "other"}}
    others = [
        request_of({"a.yaml": ROLE}),
        request_of({"a.yaml": CONFIG}, labels={}),
        request_of({"a.yaml": CONFIG}, spec={"patches": [{"kind": "ConfigMap"}]}),
        replace(first, values={"global": {}, "web": {}}),
        replace(first, instance=read_instance(first.addon, elsewhere)),
        replace(first, terms=BuildTerms(ImageSettings("reg.local"))),
    ]
    assert len({build_digest(request) for request in (first, *others)}) == len(others) + 1


def test_digest_covers_what_allows_patches_where_there_are_any(request_of: Request) -> None:
    """Without this, patches that are no longer allowed would stay until something else changes."""

    def digests(spec: JSON) -> set[str]:
        requests = [
            request_of({"a.yaml": CONFIG}, spec=spec),
            request_of({"a.yaml": CONFIG}, spec=spec, patches=LISTED),
        ]
        return {build_digest(r) for r in (*requests, replace(requests[0], terms=BuildTerms(patches="all")))}

    assert (len(digests({})), len(digests({"patches": [{"kind": "ConfigMap"}]}))) == (1, 3)


def test_digest_ignores_the_versions_before_and_after(request_of: Request) -> None:
    """The former is another one after the first run; a restart would find a difference."""
    request = request_of({"a.yaml": CONFIG})
    first, again, held_back, other = (
        replace(request, values={"global": {}, "web": {"addon": {"version": version, **versions}}})
        for version, versions in (
            ("1.0.0", {"previousVersion": ""}),
            ("1.0.0", {"previousVersion": "1.0.0"}),
            ("1.0.0", {"availableVersion": "1.1.0"}),
            ("1.1.0", {"previousVersion": "1.0.0"}),
        )
    )
    assert build_digest(first) == build_digest(again) == build_digest(held_back) != build_digest(other)


def test_files_of_a_chart_are_read_once_for_all_instances_of_its_package(request_of: Request) -> None:
    request = request_of(CHART | {"templates/a.yaml": "a: {{ .Capabilities.KubeVersion }}"})
    digest = build_digest(request)
    shutil.rmtree(request.directory)
    assert build_digest(request) == digest
    assert build_digest(replace(request, capabilities=stock_capabilities("1.30"))) != digest


def test_digest_ignores_what_changes_no_object(request_of: Request) -> None:
    first, other = request_of({"a.yaml": CONFIG}), request_of({"a.yaml": CONFIG}, spec={"timeout": "5m"})
    assert build_digest(first) == build_digest(replace(other, capabilities=stock_capabilities("1.30")))
