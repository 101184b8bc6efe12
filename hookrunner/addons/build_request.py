"""What the objects of an instance are made from, and the digest of all that: equal digests mean that nothing need be
rendered, compared or written.

The digest covers the package, what `addon.yaml` says about building, the instance's name, namespace and patches, its
values and, for a chart that reads them, the capabilities of the cluster. Neither the instance's UID nor its other
fields are in it: an instance that is created again, or gets another `timeout`, changes no object.
"""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import orjson

from hookrunner import safe_files
from hookrunner.charts import chart_files
from hookrunner.errors import RenderFailed
from hookrunner.manifests.object_metadata import Scopes
from hookrunner.model.addons import Addon, Instance
from hookrunner.model.releases import Capabilities
from hookrunner.packages.package import Package
from kubetypes.json_values import JSON

_BUILDER = 1
"""Raise it when the same inputs lead to other objects: everything is then built and compared again."""


@dataclass(frozen=True, slots=True)
class ImageSettings:
    """The registry that takes the place of every image's, and the Secret to pull with; empty for neither."""

    registry: str = ""
    pull_secret: str = ""


@dataclass(frozen=True, slots=True)
class BuildRequest:
    """Everything that the objects of one revision are made from.

    `directory` has the package's files (`packages/package_cache.py`). `values` has the keys `global` and the
    addon's. `namespace` is for objects of namespaced kinds that name none; `scopes` asks the cluster which kinds
    these are. `install` says that there is no earlier revision. `quotes`: errors may repeat values, as
    for authors at their own terminal.
    """

    addon: Addon
    instance: Instance
    package: Package
    directory: Path
    values: JSON
    namespace: str
    capabilities: Capabilities
    scopes: Scopes | None = None
    images: ImageSettings = field(default_factory=ImageSettings)
    install: bool = True
    revision: int = 1
    quotes: bool = False

    @property
    def release_name(self) -> str:
        """What templates see as the name of the release."""
        addon, instance = self.addon, self.instance
        return addon.name if addon.instances == "one" else f"{addon.name}-{instance.name}"


def digest_of(request: BuildRequest) -> str:
    """The digest of a request, 40 hex digits. Raises RenderFailed if an executable of `postRender` cannot be read."""
    addon, instance = request.addon, request.instance
    parts = [
        _BUILDER,
        request.package.digest,
        [instance.unit, instance.name, request.namespace],
        [[place.text, place.value, place.indent] for place in addon.text],
        dict(addon.labels),
        list(_post_render_digests(addon)),
        [addon.application, addon.unmatched_patches],
        [request.images.registry, request.images.pull_secret],
        list(instance.fields.patches),
    ]
    fingerprint = hashlib.sha256(orjson.dumps(parts, option=orjson.OPT_SORT_KEYS)).hexdigest()
    return chart_files.digest(fingerprint, request.values, _capabilities_read(request), {})


def _capabilities_read(request: BuildRequest) -> Capabilities | None:
    """Those that the package may depend on, None if it does not read them: a new CRD then changes no digest."""
    if request.package.form != "chart" or not chart_files.scan(request.directory).reads_capabilities:
        return None
    return request.capabilities


def _post_render_digests(addon: Addon) -> Iterator[str]:
    for path in addon.post_render:
        try:
            yield hashlib.sha256(safe_files.read(addon.directory / path)).hexdigest()
        except OSError as error:
            raise RenderFailed(f"postRender: {addon.directory / path}: {error.strerror}") from None
