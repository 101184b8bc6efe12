"""Checks of `patches` in addon.yaml against the objects of the addon's packages.

A rule for an object that no package has allows nothing, and neither does a path that the kind does not have or that may
never be patched.
"""

from collections.abc import Iterator, Sequence

from hookrunner.addons.files.addon_file import ADDON_FILE
from hookrunner.linting.modules.module_remarks import ModuleRemark, in_yaml
from hookrunner.manifests.field_paths import FieldPath, parse_path
from hookrunner.manifests.unpatchable import reason_of_kind, reason_of_step
from hookrunner.model.addons import Addon, PatchRule
from kubetypes.json_values import JSON
from kubetypes.openapi.documents import kind_schema

CODE = "patch-unused"


def check_patch_rules(addon: Addon, objects: Sequence[JSON]) -> Iterator[ModuleRemark]:
    """Remarks on rules and paths that allow nothing. `objects` are those of all packages."""
    for index, rule in enumerate(addon.patches):
        kinds = {(str(obj["apiVersion"]), rule.kind) for obj in objects if _fits(rule, obj)}
        if not kinds:
            subject = f"{rule.kind} {rule.name}".strip()
            yield _remark(
                addon, f"/patches/{index}", f"no package has a {subject} with default values: the rule allows nothing"
            )
        for number, path in enumerate(rule.paths if kinds else ()):
            reasons = [_reason(api_version, kind, parse_path(path)) for api_version, kind in sorted(kinds)]
            if all(reasons):
                yield _remark(addon, f"/patches/{index}/paths/{number}", f"`{path}` allows nothing: {reasons[0]}")


def _remark(addon: Addon, pointer: str, text: str) -> ModuleRemark:
    return ModuleRemark(ADDON_FILE, in_yaml(addon.directory / ADDON_FILE, pointer), CODE, text)


def _fits(rule: PatchRule, obj: JSON) -> bool:
    return bool(obj["kind"] == rule.kind and rule.name in ("", obj["metadata"].get("name")))


def _reason(api_version: str, kind: str, path: FieldPath) -> str:
    """Why a path of this kind allows nothing, "" if it may allow something."""
    group = api_version.rpartition("/")[0]
    steps = (reason_of_step(group, kind, path[:position], step) for position, step in enumerate(path))
    if reason := reason_of_kind(group, kind) or next(filter(None, steps), ""):
        return f"only --addon-patches all allows it, because it is {reason}"
    return "" if _is_known(api_version, kind, path) else f"{kind} has no such field"


def _is_known(api_version: str, kind: str, path: FieldPath) -> bool:
    """Does the kind have such a field, as far as that is known?"""
    schema = kind_schema(api_version, kind)
    for step in path:
        if schema is None or schema.preserves_unknown:
            return True
        inner = schema.field(step) if isinstance(step, str) else schema.items
        if inner is None:
            return not (schema.properties or schema.items or schema.type in ("array", "string", "integer", "boolean"))
        schema = inner
    return True
