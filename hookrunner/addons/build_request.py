"""What the objects of an instance are made from, and the digest of all that: equal digests mean that nothing need be
rendered, compared or written.

The digest covers the package, what `addon.yaml` says about building, the instance's name, namespace, patches and
account, its values and, for a chart that reads them, the capabilities of the cluster. Another account changes no
object, but what it lacks should be found before it has to write. Neither the instance's UID nor its other fields are in
it: an instance that is created again, or gets another `timeout`, changes no object. The version that was installed
before is not in it either, though templates read it: it is another one after the very first run, and a restart would
then find a difference.
"""

import hashlib
from collections.abc import Awaitable, Callable, Collection, Iterator, Mapping
from dataclasses import field
from functools import lru_cache
from pathlib import Path

from hookrunner import safe_files
from hookrunner.charts.chart_files import Scan, scan
from hookrunner.charts.release_digests import fingerprint_of, inputs_digest
from hookrunner.errors import RenderFailed
from hookrunner.manifests.object_metadata import Kind
from hookrunner.model.addons import Addon, Instance, PatchMode
from hookrunner.model.releases import Capabilities
from hookrunner.packages.package import Package
from hookrunner.values.section import READ_ONLY
from kubetypes.json_values import JSON
from kubetypes.light_dataclasses import dataclass

_BUILDER = 2
"""Raise it when the same inputs lead to other objects: everything is then built and compared again."""

_OTHER_VERSIONS = ("previousVersion", "availableVersion")
"""What hooks and templates know of versions that are not installed by this run."""

ReadScopes = Callable[[Collection[Kind]], Awaitable[Mapping[Kind, bool]]]
"""Asks the cluster which of these kinds have namespaces; leaves out those that it need not know. Raises KubeError."""


@dataclass(frozen=True, slots=True)
class ImageSettings:
    """The registry that takes the place of every image's, and the Secret to pull with; empty for neither."""

    registry: str = ""
    pull_secret: str = ""


async def read_no_scopes(_kinds: Collection[Kind]) -> Mapping[Kind, bool]:
    """Nothing, where there is no cluster to ask: objects of kinds that only it knows stay as they are."""
    return {}


@dataclass(frozen=True, slots=True)
class BuildTerms:
    """What is the same for all builds of one program. `namespace` is for objects of namespaced kinds that name none, of
    instances without a namespace. `patches` decides which patches of instances are applied. `quotes`: errors may repeat
    values, as for authors at their own terminal."""

    images: ImageSettings = field(default_factory=ImageSettings)
    read_scopes: ReadScopes = read_no_scopes
    namespace: str = "default"
    patches: PatchMode = "listed"
    quotes: bool = False


@dataclass(frozen=True, slots=True)
class BuildRequest:
    """Everything that the objects of one revision are made from.

    `directory` has the package's files (`packages/package_cache.py`). `values` has the keys `global` and the
    addon's. `install` says that there is no earlier revision.
    """

    addon: Addon
    instance: Instance
    package: Package
    directory: Path
    values: JSON
    capabilities: Capabilities
    terms: BuildTerms = field(default_factory=BuildTerms)
    install: bool = True

    @property
    def namespace(self) -> str:
        """That of objects of namespaced kinds that name none, and what templates see as the release's."""
        return self.instance.namespace or self.terms.namespace

    @property
    def release_name(self) -> str:
        """What templates see as the name of the release."""
        addon, instance = self.addon, self.instance
        return addon.name if addon.instances == "one" else f"{addon.name}-{instance.name}"


def build_digest(request: BuildRequest) -> str:
    """The digest of a request, 40 hex digits. Raises RenderFailed if an executable of `postRender` cannot be read."""
    addon, instance, images = request.addon, request.instance, request.terms.images
    parts = [
        _BUILDER,
        request.package.digest,
        [instance.unit, instance.name, request.namespace],
        [[place.text, place.value, place.indent] for place in addon.text],
        dict(addon.labels),
        list(_post_render_digests(addon)),
        [addon.application, addon.unmatched_patches],
        [images.registry, images.pull_secret],
        list(_patch_parts(request)),
        *([list(instance.account)] if instance.account else []),
    ]
    values = _without_other_versions(request.values, addon.key)
    # Without what the package does not read, a new CRD changes no digest.
    capabilities = relevant_capabilities(request.package, request.directory, request.capabilities)
    return inputs_digest(fingerprint_of(parts), values, capabilities, {})


def looks_up(package: Package, directory: Path) -> bool:
    """Do templates of the package look into the cluster, so that only the rendered manifest tells whether it has
    changed? `directory` has its files. Raises BadChart."""
    return package.form == "chart" and _scan(package.digest, directory).looks_up


def relevant_capabilities(package: Package, directory: Path, served: Capabilities) -> Capabilities | None:
    """What the package's objects may depend on of what the cluster serves, None for nothing. Raises BadChart."""
    return _scan(package.digest, directory).capabilities.relevant(served) if package.form == "chart" else None


@lru_cache(maxsize=128)
def _scan(_digest: str, directory: Path) -> Scan:
    """What is known of the chart of the package with this digest: other contents have another digest. Else
    several hundred instances of one version would walk through the same files."""
    return scan(directory)


def _patch_parts(request: BuildRequest) -> Iterator[JSON]:
    """The patches, and what decides whether they may be applied. An instance without patches depends on neither."""
    if request.instance.fields.patches:
        yield list(request.instance.fields.patches)
        yield [request.terms.patches, *([rule.kind, rule.name, *rule.paths] for rule in request.addon.patches)]


def _without_other_versions(values: JSON, key: str) -> JSON:
    """The values without the versions that were installed before and could be installed."""
    section = values[key]
    if READ_ONLY not in section:
        return values
    known = {name: value for name, value in section[READ_ONLY].items() if name not in _OTHER_VERSIONS}
    return {**values, key: {**section, READ_ONLY: known}}


def _post_render_digests(addon: Addon) -> Iterator[str]:
    for path in addon.post_render:
        try:
            yield hashlib.sha256(safe_files.read(addon.directory / path)).hexdigest()
        except OSError as error:
            raise RenderFailed(f"postRender: {addon.directory / path}: {error.strerror}") from None
