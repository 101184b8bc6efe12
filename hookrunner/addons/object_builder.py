"""Builds the objects of an instance from its package: one order of steps for charts, kustomizations and plain files.

text → render → Lists taken apart → namespaces → images → labels → postRender (and namespaces again) → application →
patches → instance label → Helm's order of kinds. All steps are pure functions of `manifests/`, except for rendering,
kustomize and postRender, which start processes. The result depends on the request alone, in whatever order files and
keys come.

Definitions in a chart's `crds/` are objects like those that templates render; a release never deletes any. A chart's
Helm hooks get namespaces, images and labels, too, but no patches, as with Helm's own post-renderers.
"""

import re
from collections.abc import Iterable, Mapping

from hookrunner import redaction
from hookrunner.addons.build_request import BuildRequest
from hookrunner.charts import chart_files
from hookrunner.charts.manifests import assemble_sorted
from hookrunner.charts.renderer import Renderer, worker_environment
from hookrunner.errors import BadManifest, UnknownKind
from hookrunner.manifests.images import redirect_images
from hookrunner.manifests.kustomize import build_kustomization, replace_placeholders
from hookrunner.manifests.large_texts import TEXTS, json_size, size_of
from hookrunner.manifests.object_metadata import (
    Scopes,
    fill_namespaces,
    label_value,
    scopes_of,
    set_labels,
    unplaced_kinds,
)
from hookrunner.manifests.object_set import check_objects, fill_application, unselected_namespaces
from hookrunner.manifests.patch_policy import PatchPolicy, require_allowed, require_patches_on
from hookrunner.manifests.patches import PATCHING, PatchedObjects, apply_patches, patching_work, require_patches
from hookrunner.manifests.placeholders import PlaceholderValues
from hookrunner.manifests.plain_files import read_plain
from hookrunner.manifests.program_runner import ProgramRunner, post_render
from hookrunner.manifests.sourced_object import split_lists
from hookrunner.model.releases import RenderedChart, RenderRequest
from hookrunner.model.sourced_objects import SourcedObject, VersionlessId
from hookrunner.model.status import some
from hookrunner.packages.channels import version_order
from hookrunner.process.pure_calls import call_by_size
from kubetypes.json_values import JSON
from kubetypes.light_dataclasses import dataclass

MIN_OPERATOR = "addons.k8s.io/min-operator-version"
"""Annotation of objects in packages: the lowest version of the operator that may apply them."""
_EMPTY = (
    "no objects are left to install, so nothing is changed: the package, or a value, leaves all of them out; to remove "
    "what is installed, delete the instance"
)
"""Everything that is installed would be removed, which no change of a package or a value should do by accident."""
_QUICKER = 4
"""So many times less is it to write or compare objects than to read them."""
_SOURCE = re.compile(r"^---\n# Source: (.*)$", re.MULTILINE)

Objects = tuple[SourcedObject, ...]


@dataclass(frozen=True, slots=True)
class BuiltRelease:
    """What a request leads to. `min_operator` is the lowest version of hookrunner that all objects accept, "" for any.
    `unshown` are the namespaces of objects that the package's Application cannot show."""

    rendered: RenderedChart
    min_operator: str = ""
    unshown: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _RenderedPackage:
    """What a package's files lead to before all packages are treated alike. `size` is that of their texts, in bytes."""

    objects: Objects
    size: int
    hooks: Objects = ()
    notes: str = ""
    chart: JSON = None


class ObjectBuilder:
    """Builds objects. `renderer` renders charts, `runner` runs kustomize and executables of `postRender`. Of `environ`
    the latter get what a render worker gets, and nothing that leads to a cluster."""

    def __init__(self, renderer: Renderer, runner: ProgramRunner, environ: Mapping[str, str]) -> None:
        self._renderer = renderer
        self._runner = runner
        self._environ = worker_environment(environ, lookup=False)

    async def build(self, request: BuildRequest) -> BuiltRelease:
        """Build the objects of one revision. Raises BadChart, RenderFailed for what cannot be rendered or leads to no
        objects, BadPatch for a patch of the instance that does not fit or is not allowed, KubeError if the cluster
        cannot say which kinds have namespaces."""
        addon, label = request.addon, {request.addon.object.instance_label: label_value(request.instance.name)}
        rendered = await self._render(request)
        objects = split_lists(rendered.objects)
        scopes = await _read_scopes((*objects, *rendered.hooks), request)
        objects = _placed(objects, request, scopes)
        if paths := [addon.directory / path for path in addon.post_render]:
            printed = await post_render(objects, paths, self._runner, self._environ, _hidden(request))
            objects = fill_namespaces(printed, request.namespace, await _read_scopes(printed, request))
        check_objects(objects, _identity(request))
        if addon.application:
            objects = fill_application(objects, label, request.package.version)
        patched = await _patch(objects, request)
        if not (patched.objects or rendered.hooks):
            raise BadManifest(_EMPTY)
        labelled = set_labels(patched.objects, label)  # after the patches, which cannot remove it
        hooks = set_labels(_placed(rendered.hooks, request, scopes), label)
        made = await call_by_size(rendered.size // _QUICKER, TEXTS, assemble_sorted, labelled, hooks, rendered.notes)
        before = (source for source in objects if source.identity in patched.changed)
        unpatched: dict[tuple[str, ...], JSON] = {source.identity: source.obj for source in before}
        problems = tuple(map(str, patched.problems))
        chart = RenderedChart(made.manifest, made.objects, made.hooks, made.notes, rendered.chart, unpatched, problems)
        unshown = unselected_namespaces(patched.objects) if addon.application else ()
        return BuiltRelease(chart, highest_operator(patched.objects), unshown)

    async def _render(self, request: BuildRequest) -> _RenderedPackage:
        match request.package.form:
            case "chart":
                return await self._render_chart(request)
            case "kustomize":
                size = size_of(request.package.files)
                values = _placeholder_values(request)
                files = await call_by_size(size, TEXTS, replace_placeholders, request.package.files, values)
                built = await build_kustomization(files, self._runner, _hidden(request))
                return _RenderedPackage(built, size, chart=record_of(request))
            case "plain":
                size = size_of(request.package.manifests)
                objects = await call_by_size(
                    size, TEXTS, read_plain, request.package.manifests, _placeholder_values(request)
                )
                return _RenderedPackage(objects, size, chart=record_of(request))

    async def _render_chart(self, request: BuildRequest) -> _RenderedPackage:
        account = request.instance.account
        chart = await self._renderer.render(
            RenderRequest(
                directory=request.directory,
                name=request.release_name,
                namespace=request.namespace,
                values=request.values,
                capabilities=request.capabilities,
                install=request.install,
                quotes=request.terms.quotes,
                user=account.user if account else "",
            )
        )
        paths = _SOURCE.findall(chart.manifest)
        objects = (SourcedObject(path, obj) for path, obj in zip(paths, chart.objects, strict=True))
        hooks = (SourcedObject(hook.path, hook.obj) for hook in chart.hooks)
        crds = (SourcedObject(chart_files.CRDS, crd) for crd in chart_files.read_crds(request.directory, ()))
        return _RenderedPackage((*crds, *objects), len(chart.manifest), tuple(hooks), chart.notes, chart.chart)


def record_of(request: BuildRequest) -> JSON:
    """The `chart` of a release record for a package that is no chart: `helm list` shows the component and its
    version."""
    package = request.package
    metadata = {
        "name": package.component,
        "version": package.version,
        "appVersion": package.version,
        "apiVersion": "v2",
        "description": package.traits.description or request.addon.description,
    }
    known = {key: text for key, text in metadata.items() if text}
    return {"metadata": known, "lock": None, "templates": [], "values": {}, "schema": None, "files": []}


def highest_operator(objects: Iterable[SourcedObject]) -> str:
    """The highest version of hookrunner that an object asks for by upstream's annotation; one that is no version is
    higher than all, since nothing satisfies it."""
    annotations = (source.obj["metadata"].get("annotations") or {} for source in objects)
    asked = {str(texts[MIN_OPERATOR]) for texts in annotations if texts.get(MIN_OPERATOR)}
    return max(asked, key=lambda text: (not version_order(text)[0], version_order(text)), default="")


async def _read_scopes(objects: Objects, request: BuildRequest) -> Scopes:
    """Which kinds have namespaces, with what the cluster says of those that only it knows. Raises KubeError."""
    kind = request.addon.object
    own = {(kind.api_version, kind.kind): kind.namespaced}
    known = scopes_of(objects, own)
    unknown = unplaced_kinds(objects, known)
    try:
        return scopes_of(objects, own | {**await request.terms.read_scopes(unknown)}) if unknown else known
    except UnknownKind as error:
        named = [str(source) for source in objects if (source.api_version, source.kind) in unknown]
        raise UnknownKind(f"{some(named)}: {error}") from None


def _placeholder_values(request: BuildRequest) -> PlaceholderValues:
    return PlaceholderValues(request.addon.text, request.values[request.addon.key])


def _hidden(request: BuildRequest) -> frozenset[str]:
    """Words that do not stand in messages about programs."""
    return frozenset() if request.terms.quotes else redaction.words(request.values)


def _placed(objects: Iterable[SourcedObject], request: BuildRequest, scopes: Scopes) -> Objects:
    """The objects with namespaces, images from the registry, and the addon's labels."""
    filled = fill_namespaces(objects, request.namespace, scopes)
    redirected = redirect_images(filled, request.terms.images.registry, request.terms.images.pull_secret)
    return set_labels(redirected, request.addon.labels)


async def _patch(objects: Objects, request: BuildRequest) -> PatchedObjects:
    """The objects with the instance's patches. Raises BadPatch, RenderFailed."""
    if not request.instance.fields.patches:
        return PatchedObjects(objects)
    policy = PatchPolicy(request.terms.patches, request.addon.patches)
    patches = request.instance.fields.patches
    require_patches_on(policy, patches)
    patched = await call_by_size(patching_work(objects, patches), PATCHING, apply_patches, objects, patches)
    require_patches(patched, unmatched=request.addon.unmatched_patches == "warn")
    pairs = [(old, new) for old, new in zip(objects, patched.objects, strict=True) if new.identity in patched.changed]
    before, after = ([pair[side] for pair in pairs] for side in (0, 1))
    size = json_size([source.obj for source in after])
    await call_by_size(size // _QUICKER, TEXTS, require_allowed, before, after, policy)
    return patched


def _identity(request: BuildRequest) -> VersionlessId:
    """The instance, which must not be in its own package."""
    kind, instance = request.addon.object, request.instance
    return VersionlessId(kind.group, kind.kind, instance.namespace, instance.name)
