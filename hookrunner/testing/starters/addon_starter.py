"""New addons, with a schema, one version of a package, a hook and test cases. The texts are in `addon/`."""

import shlex
from pathlib import Path

from hookrunner.model.modules import camel
from hookrunner.testing.starters.directory_starter import DirectoryStarter, checked_name

VERSION = "0.1.0"
"""The version of its only package."""

_PACKAGE = f"channels/packages/@NAME@/{VERSION}"
_FILES = {
    "addon.yaml": "addon.yaml",
    "README.md": "README.md",
    "example.yaml": "example.yaml",
    "spec.yaml": "openapi/spec.yaml",
    "values.yaml": "openapi/values.yaml",
    "nodes.sh": "hooks/nodes.sh",
    "nodes.sh.test.yaml": "hooks/nodes.sh.test.yaml",
    "stable": "channels/stable",
    "config.yaml": f"{_PACKAGE}/config.yaml",
    "deployment.yaml": f"{_PACKAGE}/deployment.yaml",
    "greeting.in.yaml": "tests/greeting.in.yaml",
    "greeting.side_in.yaml": "tests/greeting.side_in.yaml",
    "greeting.out.yaml": "tests/greeting.out.yaml",
}
"""Each text, and which file in the addon it becomes."""


def addon_starter(name: str, directory: Path) -> DirectoryStarter:
    """An addon of this name in the addons directory. Raises BadInput for a name that no addon can have."""
    checked_name(name, "addon")
    addon = directory / name
    key = camel(name)
    words = {
        "@NAME@": name,
        "@KEY@": key,
        "@KIND@": key[:1].upper() + key[1:],
        "@LOWER@": key.lower(),
        "@VERSION@": VERSION,
        "@PATH@": shlex.quote(str(addon)),
        "@ADDONS@": shlex.quote(str(directory)),
        "@HOOK@": shlex.quote(str(addon / "hooks" / "nodes.sh")),
    }
    return DirectoryStarter(name, addon, "addon", _FILES, words)
