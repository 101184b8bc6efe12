"""The values of instances: what an addon's files contribute to their layers (docs/addons.md, Values).

    layers = read_addon_values(addon)
    store.add(unit, addon.key, layers.schemas)
    store.describe(unit, layers.of_instance(known), instance.own)

The layers, the later over the earlier: `values.yaml` of the addon; defaults of `openapi/spec.yaml`; the instance's own
fields; defaults of `openapi/values.yaml`; what its hooks have patched in memory. `<key>.addon` is what is known of the
instance, for hooks and templates to read.
"""

from collections.abc import Iterable
from dataclasses import field
from functools import reduce

from hookrunner import log, redaction
from hookrunner.addons.version_resolver import ResolvedVersion
from hookrunner.errors import BadAddon, BadModule
from hookrunner.model.addons import Addon, Instance
from hookrunner.model.modules import GLOBAL
from hookrunner.modules.discovery import VALUES_FILE
from hookrunner.modules.shelf import read_values_file
from hookrunner.values.schemas import schema_files
from hookrunner.values.schemas.schema_files import Schemas
from hookrunner.values.section import READ_ONLY, merged
from hookrunner.values.section_store import SectionStore
from kubetypes.json_values import JSON
from kubetypes.light_dataclasses import dataclass

_log = log.get(__name__)


def known_of(instance: Instance, addon: Addon, found: ResolvedVersion, previous_version: str) -> dict[str, JSON]:
    """What hooks and templates read under `<key>.addon`: what is known of an instance once its version is found.
    `previous_version` is that which is installed, empty before the first install; the channel is empty for an exact
    version, the available version unless the policy holds one back."""
    return {
        "name": instance.name,
        "namespace": instance.namespace,
        "kind": addon.object.kind,
        "version": found.version,
        "previousVersion": previous_version,
        "availableVersion": found.available,
        "channel": found.channel,
    }


@dataclass(frozen=True, slots=True)
class AddonValues:
    """What an addon's files say. `static` is its section of `values.yaml`, `shared` what that has for `global`."""

    static: dict[str, JSON] = field(default_factory=dict)
    shared: dict[str, JSON] = field(default_factory=dict)
    schemas: Schemas = field(default_factory=Schemas)

    def of_instance(self, known: dict[str, JSON]) -> dict[str, JSON]:
        """The lowest layer of an instance's values; `known` is as `known_of` returns it."""
        return self.static | {READ_ONLY: known}


def read_addon_values(addon: Addon) -> AddonValues:
    """Read an addon's `values.yaml` and schemas. Unknown keys are logged. Raises BadAddon."""
    path = addon.directory / VALUES_FILE
    try:
        document = read_values_file(path) or {}
        schemas = schema_files.load_of_addon(addon.directory, READ_ONLY)
    except BadModule as error:
        raise BadAddon(str(error)) from None
    for key in (GLOBAL, addon.key):
        if not isinstance(document.get(key) or {}, dict):
            raise BadAddon(f"{path}: `{key}` must be a map of values, not {redaction.described(document[key])}")
    static = document.get(addon.key) or {}
    if READ_ONLY in static:
        raise BadAddon(f"{path}: `{addon.key}.{READ_ONLY}` is what hookrunner says about the instance; remove it")
    if unknown := [redaction.key(key) for key in document if key not in (GLOBAL, addon.key)]:
        text = f"keys other than {GLOBAL} and {addon.key} in values.yaml are ignored"
        _log.warn(text, path=path, keys=", ".join(unknown))
    for slip in schemas.slips:
        _log.warn("schema has a slip", addon=addon.name, slip=str(slip))
    return AddonValues(static, document.get(GLOBAL) or {}, schemas)


def shared_values(addons: Iterable[AddonValues], own: JSON) -> JSON:
    """What all addons have for `global`, below what modules and their directories have for it (`own`)."""
    shared: JSON = reduce(merged, (values.shared for values in addons), {})
    return merged(shared, own or {})


def instance_values(addon: Addon, instance: Instance, found: ResolvedVersion) -> SectionStore:
    """The values of one instance alone, for tools that ask no cluster: a first install of this version, with nothing
    but the addon's files below its fields. Raises BadAddon, BadValues."""
    layers = read_addon_values(addon)
    store = SectionStore({GLOBAL: layers.shared}, {})
    store.add(instance.unit, addon.key, layers.schemas)
    store.describe(instance.unit, layers.of_instance(known_of(instance, addon, found, "")), dict(instance.own))
    return store
