"""What `addon.yaml` may hold: `addon.schema.json`, and the rules that JSON Schema cannot have."""

from collections.abc import Iterator
from pathlib import PurePosixPath

from hookrunner.addons.instance_fields import WITH_DEFAULT_IN_FILE, text_problems
from hookrunner.file_schemas import FileSchema, quoted
from hookrunner.manifests.field_paths import parse_path
from hookrunner.modules import traits
from hookrunner.shapes import Problem
from kubetypes.json_values import JSON

NEVER = "never"
"""A value of `adopt` here: no instance can set it."""

ADDON_SCHEMA = FileSchema.load("hookrunner.addons", "addon.schema.json")

_HOOKS = "hooks"


def file_problems(document: JSON) -> Iterator[Problem]:
    """Everything that is wrong with the content of an `addon.yaml`."""
    yield from ADDON_SCHEMA.problems(document)
    if isinstance(document, dict):
        yield from text_problems({name: document.get(name) for name in WITH_DEFAULT_IN_FILE})
        yield from traits.requires_problems(document.get("requires"))
        yield from _post_render_problems(document.get("postRender"))
        yield from _patch_problems(document.get("patches"))


def _post_render_problems(paths: JSON) -> Iterator[Problem]:
    for index, path in enumerate(paths if isinstance(paths, list) else ()):
        parts = PurePosixPath(path).parts if isinstance(path, str) else ("x",)
        if path == "" or ".." in parts or PurePosixPath(*parts).is_absolute():
            yield Problem(f"postRender[{index}]", "leads out of the addon's directory; write a path inside it")
        elif parts[0] == _HOOKS:
            yield Problem(f"postRender[{index}]", "is in hooks/, where it would run as a hook; move it to render/")


def _patch_problems(rules: JSON) -> Iterator[Problem]:
    """A path that no rule can mean would silently allow nothing."""
    for index, rule in enumerate(rules if isinstance(rules, list) else ()):
        paths = rule.get("paths") if isinstance(rule, dict) else ()
        for number, path in enumerate(paths if isinstance(paths, list) else ()):
            try:
                parse_path(path if isinstance(path, str) else "x")
            except ValueError as error:
                yield Problem(f"patches[{index}].paths[{number}]", f"cannot be {quoted(path)}; {error}")
