"""What the hooks of an instance know of it besides values, and what they report of it."""

from collections.abc import Callable, Sequence
from pathlib import PurePosixPath

import orjson

from hookrunner import safe_files
from hookrunner.addons.status_conditions import hook_conditions_before
from hookrunner.hooks.condition_reports import ConditionReports
from hookrunner.instances.instance_planner import InstancePlanner
from hookrunner.model.addon_status import HookCondition
from hookrunner.model.addons import Addon
from hookrunner.model.bindings import label_of
from hookrunner.model.hook_runs import InstanceInput

_LONGEST_PATH = 255
"""Characters of a hook's path: a longer one cannot be looked for everywhere."""


class InstanceSubject:
    """One instance, as its hooks see it (`decisions.hook_values.HookSubject`). `reports` is what they report of it,
    `on_report` is called with the unit when that is something new."""

    def __init__(self, planner: InstancePlanner, on_report: Callable[[str], None]) -> None:
        self._planner = planner
        self._on_report = on_report
        known = hook_conditions_before(planner.instance.status)
        self.reports = ConditionReports([report for report in known if _is_hook(planner.addon, report.hook)])

    def give(self) -> InstanceInput:
        """The instance as it is now, and the directory of the package that the last run has chosen."""
        prepared = self._planner.prepared
        return InstanceInput(
            orjson.dumps(self._planner.instance.document), str(prepared.chosen.directory) if prepared else ""
        )

    def report(self, hook: str, conditions: Sequence[HookCondition]) -> None:
        """Keep what a hook reports, until it runs again."""
        unit = self._planner.instance.unit
        if self.reports.replace(label_of(hook, unit), conditions):
            self._on_report(unit)


def _is_hook(addon: Addon, path: str) -> bool:
    """Is this a hook that the addon still has? Others than an earlier process may have written the status: it must not
    show which files exist elsewhere."""
    is_inside = path.startswith("hooks/") and ".." not in PurePosixPath(path).parts
    return is_inside and len(path) <= _LONGEST_PATH and safe_files.may_be_file(addon.directory / path)
