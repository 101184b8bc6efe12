"""Builds the objects of an instance from its package: one order of steps for charts, kustomizations and plain files.

text → render → Lists taken apart → namespaces → images → labels → postRender (and namespaces again) → application →
patches → instance label → Helm's order of kinds. All steps are pure functions of `manifests/`, except for rendering,
kustomize and postRender, which start processes. The result depends on the request alone, in whatever order files and
keys come.

A chart's Helm hooks get namespaces, images and labels, too, but no patches, as with Helm's own post-renderers.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass

from hookrunner.addons.build_request import BuildRequest, Scopes
from hookrunner.charts.chart_files import read_crds
from hookrunner.charts.manifests import assemble
from hookrunner.charts.renderer import Renderer
from hookrunner.errors import RenderFailed
from hookrunner.manifests.documents import read_objects, split_lists
from hookrunner.manifests.sourced_object import SourcedObject
from hookrunner.model.releases import RenderedChart, RenderRequest
from hookrunner.packages.package import Package
from kubetypes.json_values import JSON

_SOURCE = re.compile(r"^---\n# Source: (.*)$", re.MULTILINE)
_CRD = "CustomResourceDefinition"

Objects = tuple[SourcedObject, ...]


@dataclass(frozen=True, slots=True)
class BuiltRelease:
    """What a request leads to. `crds` are those in a chart's `crds/`, which are applied before its objects; `unmatched`
    says of each patch without an object why it has none, where addon.yaml allows that."""

    rendered: RenderedChart
    crds: tuple[JSON, ...] = ()
    unmatched: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Rendered:
    """What a package's form leads to."""

    objects: Objects
    hooks: Objects = ()
    notes: str = ""
    chart: JSON = None


class ObjectBuilder:
    """Builds objects; charts are rendered by `renderer`."""

    def __init__(self, renderer: Renderer) -> None:
        self._renderer = renderer

    async def build(self, request: BuildRequest) -> BuiltRelease:
        """Build the objects of one revision. Raises BadChart, RenderFailed for what cannot be rendered."""
        rendered = await self._render(request)
        crds = tuple(read_crds(request.directory, ())) if request.package.form == "chart" else ()
        scopes = with_definitions(request.scopes, (*crds, *(source.obj for source in rendered.objects)))
        objects = _placed(split_lists(rendered.objects), request, scopes)
        hooks = _placed(rendered.hooks, request, scopes)
        own = {request.addon.object.instance_label: request.instance.name}
        made = assemble(
            (source.labelled(own) for source in objects), (source.labelled(own) for source in hooks), rendered.notes
        )
        chart = RenderedChart(made.manifest, made.objects, made.hooks, made.notes, rendered.chart)
        return BuiltRelease(chart, crds)

    async def _render(self, request: BuildRequest) -> _Rendered:
        match request.package.form:
            case "chart":
                return await self._render_chart(request)
            case "plain":
                return _Rendered(read_objects(_texts(request.package)), chart=synthetic_record(request))
        raise RenderFailed(f"package {request.package}: kustomizations cannot be built yet; use a chart or plain files")

    async def _render_chart(self, request: BuildRequest) -> _Rendered:
        chart = await self._renderer.render(
            RenderRequest(
                directory=request.directory,
                name=request.release_name,
                namespace=request.namespace,
                values=request.values,
                capabilities=request.capabilities,
                install=request.install,
                revision=request.revision,
                quotes=request.quotes,
            )
        )
        paths = _SOURCE.findall(chart.manifest)
        objects = (SourcedObject(path, obj) for path, obj in zip(paths, chart.objects, strict=True))
        hooks = (SourcedObject(hook.path, hook.obj) for hook in chart.hooks)
        return _Rendered(tuple(objects), tuple(hooks), chart.notes, chart.chart)


def _texts(package: Package) -> dict[str, str]:
    return {path: data.decode() for path, data in package.manifests.items()}


def synthetic_record(request: BuildRequest) -> JSON:
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
    return {
        "metadata": {key: value for key, value in metadata.items() if value},
        "lock": None,
        "templates": [],
        "values": {},
        "schema": None,
        "files": [],
    }


def _placed(objects: Iterable[SourcedObject], request: BuildRequest, scopes: Scopes) -> Objects:
    """The objects with namespaces and the addon's labels."""
    filled = (
        source.with_metadata({"namespace": request.namespace})
        if not source.namespace and scopes(source.api_version, source.kind)
        else source
        for source in objects
    )
    return tuple(source.labelled(request.addon.labels) for source in filled)


def with_definitions(scopes: Scopes, objects: Iterable[JSON]) -> Scopes:
    """The scopes of `scopes` and of the kinds that definitions among the objects bring."""
    specs = [obj["spec"] for obj in objects if obj.get("kind") == _CRD and isinstance(obj.get("spec"), dict)]
    defined: dict[tuple[str, str], bool] = {}
    for spec in specs:
        names = spec.get("names")
        if isinstance(names, dict):
            defined[str(spec.get("group")), str(names.get("kind"))] = spec.get("scope") == "Namespaced"

    def scope(api_version: str, kind: str) -> bool | None:
        known = scopes(api_version, kind)
        return defined.get((api_version.rpartition("/")[0], kind)) if known is None else known

    return scope
