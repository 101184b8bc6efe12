"""The rights for what modules and addons install, from their objects as charts and packages render them.

An addon is asked for by instances that are not known here, in any version that is offered. So all versions are built,
each for the addon's example and for the instances of its test cases; a name or a namespace counts as fixed if an
instance of another name in another namespace leads to the same. A module is rendered with the values that files
configure.
"""

from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import field
from typing import TypeAlias

from hookrunner.charts.renderer import Renderer
from hookrunner.errors import BadInput, HookrunnerError
from hookrunner.linting.addon_instances import default_instance, example_instance
from hookrunner.model.addons import Addon
from hookrunner.model.modules import Module
from hookrunner.model.releases import NEVER_PRUNED
from hookrunner.model.rights import ANY, READS, Right
from hookrunner.modules.offline import Offline, stock_capabilities
from hookrunner.packages.channels import is_kubernetes_in
from hookrunner.releases.manifest_objects import CRD, NAMESPACE
from hookrunner.rights.kind_names import KindNames
from hookrunner.rights.release_rights import REQUIRED, Release, health_rights, release_rights
from hookrunner.testing.addons.addon_bench import AddonBench, BuiltInstance
from hookrunner.testing.addons.addon_cases import read_cases
from kubetypes.json_values import JSON
from kubetypes.light_dataclasses import dataclass

INSTANCE = ANY
"""As the namespace of a right: those in which instances are reconciled."""
_OTHER = "hookrunner-rbac-other"
"""A name and a namespace that no package has in its objects."""
_MINORS = range(20, 100)
_KEPT_KINDS = NEVER_PRUNED - {NAMESPACE}
"""Of an instance, which deletes a namespace that nothing else uses."""

_Identity: TypeAlias = tuple[str, str, str, str]
"""apiVersion, kind, namespace and name of an object."""


@dataclass(frozen=True, slots=True)
class ModuleCharts:
    """The charts of modules with the values that are configured. `namespace` is that of releases whose module names
    none, `labels` are those of every object."""

    modules: Offline
    namespace: str
    labels: Mapping[str, str]
    renderer: Renderer

    async def rights(self, module: Module, kinds: KindNames) -> list[Right]:
        """The rights for a module's release. Raises BadInput if the values are not enough to render it."""
        if not module.chart:
            return []
        try:
            order = self.modules.order(module.name, self.namespace, self.labels, stock_capabilities())
            rendered = await self.renderer.render(order)
        except HookrunnerError as error:
            advice = "name a file with its values, --config"
            raise BadInput(f"module {module.name} cannot be rendered: {error}; {advice}") from None
        release = Release(f"module {module.name}", order.namespace)
        return [*release_rights(rendered.objects, release, kinds, [hook.obj for hook in rendered.hooks])]


async def addon_rights(addon: Addon, bench: AddonBench, kinds: KindNames) -> list[Right]:
    """The rights for the releases of an addon's instances, in all versions that are offered. Those in the namespaces of
    instances have the namespace `INSTANCE`. Raises BadInput, PackageError."""
    source, builder = bench.source_of(addon), _Builder(bench, _instances(addon))
    release = Release(f"addon {addon.name}", INSTANCE, _KEPT_KINDS)
    rights = list(release.needs(REQUIRED, _required_rights(addon, kinds)))
    kinds.learn(obj for request in builder.requests for obj in request.cluster if obj["kind"] == CRD)
    for version in await source.list_versions(addon.component):
        package = await source.read_package(addon.component, version)
        kubernetes = _fitting(package.traits.kubernetes, addon.requires.kubernetes)
        async for objects, helm_hooks in builder.builds(version, kubernetes):
            rights += [*release_rights(objects, release, kinds, helm_hooks), *health_rights(objects, release)]
    return rights


def _required_rights(addon: Addon, kinds: KindNames) -> Iterator[Right]:
    for required in addon.requires.objects:
        kind = kinds.find(required.api_version, required.kind)
        yield Right((kind.group,), (kind.plural,), READS, (required.name,), required.namespace)


@dataclass(frozen=True, slots=True)
class _Request:
    """An instance, and the objects of the cluster that it is in."""

    document: JSON
    cluster: tuple[JSON, ...] = ()

    def moved(self) -> "_Request":
        """The same for an instance of another name and, if it has one, another namespace."""
        metadata = self.document["metadata"] | {"name": _OTHER}
        place = {"namespace": _OTHER} if "namespace" in metadata else {}
        return _Request(self.document | {"metadata": metadata | place}, self.cluster)

    def of_version(self, version: str) -> "_Request":
        spec = (self.document.get("spec") or {}) | {"version": version}
        return _Request(self.document | {"spec": spec}, self.cluster)


def _instances(addon: Addon) -> list[_Request]:
    """One that sets nothing, the example, and those of the test cases that expect no error."""
    examples = [default_instance(addon)]
    with suppress(OSError):  # an addon needs no example
        examples.append(example_instance(addon))
    cases = [_Request(case.instance, case.cluster) for case in read_cases([addon.directory]) if not case.error]
    return [*(_Request(instance.document) for instance in examples), *cases]


@dataclass(frozen=True, slots=True)
class _Builder:
    """Builds the instances of one addon. `fixed` are the objects that were found not to follow the instance."""

    bench: AddonBench
    requests: Sequence[_Request]
    fixed: set[_Identity] = field(default_factory=set)

    async def builds(self, version: str, kubernetes: str) -> AsyncIterator[tuple[list[JSON], list[JSON]]]:
        """The objects and the Helm hooks of each instance that can be built in this version. Raises BadInput if none
        can. One that cannot may need objects of a cluster that its example does not name."""
        refusals = list[str]()
        for request in (request.of_version(version) for request in self.requests):
            try:
                built = await self._build(request, kubernetes)
            except HookrunnerError as error:
                refusals.append(str(error))
                continue
            others = await self._others(built, request, kubernetes)
            yield list(generalize(built.objects, others)), list(generalize(built.helm_hooks, others))
        if len(refusals) == len(self.requests):
            text = f"{self.requests[0].document['kind']} {version}: no instance can be built: {refusals[0]}"
            raise BadInput(f"{text}; write a test case for one that can")

    async def _others(self, built: BuiltInstance, request: _Request, kubernetes: str) -> set[_Identity]:
        """What does not follow the instance, and what another one has in place of the rest."""
        own = {_identity(obj) for obj in (*built.objects, *built.helm_hooks)}
        if own <= self.fixed:
            return self.fixed
        try:
            other = await self._build(request.moved(), kubernetes)
        except HookrunnerError:  # there can be no other one
            return own
        others = {_identity(obj) for obj in (*other.objects, *other.helm_hooks)}
        self.fixed.update(own & others)
        return self.fixed | others

    async def _build(self, request: _Request, kubernetes: str) -> BuiltInstance:
        return await self.bench.build(request.document, request.cluster, stock_capabilities(kubernetes))


def _fitting(*ranges: str) -> str:
    """A version of Kubernetes in these ranges: ours, or the oldest. Raises BadInput."""
    versions = (stock_capabilities().kube_version, *(f"v1.{minor}.0" for minor in _MINORS))
    fitting = (version for version in versions if all(is_kubernetes_in(version, wanted) for wanted in ranges if wanted))
    if found := next(fitting, ""):
        return found
    raise BadInput(f"no version of Kubernetes is in {' and '.join(filter(None, ranges))}")


def generalize(objects: Sequence[JSON], others: set[_Identity]) -> Iterator[JSON]:
    """The objects, with `*` for names and namespaces that follow those of the instance. `others` has an object of
    another instance for each."""
    named = {(api_version, kind, name) for api_version, kind, _, name in others}
    placed = {(api_version, kind, namespace) for api_version, kind, namespace, _ in others}
    for obj in objects:
        identity = api_version, kind, namespace, name = _identity(obj)
        if identity in others:
            yield obj
            continue
        keeps_name = (api_version, kind, name) in named
        keeps_place = not namespace or (not keeps_name and (api_version, kind, namespace) in placed)
        general = ({} if keeps_name else {"name": ANY}) | ({} if keeps_place else {"namespace": INSTANCE})
        yield obj | {"metadata": obj["metadata"] | general}


def _identity(obj: JSON) -> _Identity:
    metadata = obj["metadata"]
    return obj["apiVersion"], obj["kind"], metadata.get("namespace", ""), metadata.get("name", "")
