"""The rules that the chart grants for each shipped addon: files below the chart, since templates read no others.

`python -m tests.addon_rights` writes them, from all versions of the packages: after a change of an addon or of what
`hookrunner rbac` finds, the diff shows what that changes in the rights.
"""

import asyncio
from functools import partial
from pathlib import Path

from hookrunner import settings
from hookrunner.cli.shared import quiet
from hookrunner.manifests.role_objects import to_values
from hookrunner.model.rights import compact
from hookrunner.modules.offline import Configured
from hookrunner.rights.needed_rights import NeededRights, find_needed_rights, read_files
from hookrunner.testing.addons.addon_bench import offline_source

ROOT = Path(__file__).parents[1]
RULES = ROOT / "charts" / "hookrunner" / "files" / "rights"
WATCHING = RULES.with_name("watching")
"""The same where instances name accounts that write their objects."""
ADDONS = ROOT / "addons"
_HEAD = "# What {0} installs, in each version that is offered: written by `python -m tests.addon_rights`.\n"
_WATCHING_HEAD = "# What {0} takes if accounts write what it installs: written by `python -m tests.addon_rights`.\n"


def rules_of(addon: str, needed: NeededRights) -> dict[Path, str]:
    """The texts of an addon's files, from what it needs."""
    return {
        RULES / f"{addon}.yaml": _HEAD.format(addon) + to_values(compact(needed.others)),
        WATCHING / f"{addon}.yaml": _WATCHING_HEAD.format(addon) + to_values(compact(needed.watching)),
    }


def needed_for(*names: str, namespace: str = "hookrunner", **more: str) -> NeededRights:
    """The rights of a hookrunner in this namespace that offers these addons, or all, with `more` flags. Raises
    HookrunnerError."""
    flags = {"addons-dir": str(ADDONS), "addons": ",".join(names), "modules-dir": ":", "hooks-dir": ":"}
    loaded = settings.load(flags | more, "hookrunner", {})
    with quiet():
        files = read_files(loaded, Configured(), partial(offline_source, loaded.addons))
        needed = asyncio.run(find_needed_rights(files, namespace))
    assert needed.notes == (), needed.notes
    return needed


def addons() -> list[str]:
    """The names of the shipped addons."""
    return sorted(path.parent.name for path in ADDONS.glob("*/addon.yaml"))


if __name__ == "__main__":
    for name in addons():
        for path, text in rules_of(name, needed_for(name)).items():
            path.parent.mkdir(exist_ok=True)
            path.write_text(text)
