"""The values of one instance, from the files of its addon and the instance's own fields."""

from hookrunner.addons.addon_crd import SPEC_FILE
from hookrunner.model.addons import Addon, Instance
from hookrunner.model.modules import GLOBAL
from hookrunner.testing import manifests
from hookrunner.values.schemas import schema_files
from hookrunner.values.section import READ_ONLY
from hookrunner.values.section_store import SectionStore
from kubetypes.json_values import JSON


def read_values(addon: Addon, instance: Instance, version: str) -> SectionStore:
    """The values, with the section of the instance under its unit. Raises BadAddon, BadValues."""
    path = addon.directory / "values.yaml"
    document: JSON = manifests.mapping(str(path)) if path.is_file() else {}
    store = SectionStore({GLOBAL: document.get(GLOBAL) or {}}, {})
    store.add(instance.unit, addon.key, schema_files.load_of_addon(addon.directory, SPEC_FILE, READ_ONLY))
    about = {
        "name": instance.name,
        "namespace": instance.namespace,
        "kind": addon.object.kind,
        "version": version,
        "previousVersion": "",
        "channel": instance.fields.channel,
    }
    store.describe(instance.unit, (document.get(addon.key) or {}) | {READ_ONLY: about}, dict(instance.own))
    return store
