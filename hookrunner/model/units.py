"""Units: what convergence reconciles, a module or an instance of an addon.

How the two differ is data here, or stands in the plan of a run, which the unit's planner makes (`convergence/plan.py`):
no step asks which of them it has before it.
"""

import re
from pathlib import Path
from typing import Literal

from kubetypes.light_dataclasses import dataclass

Drift = Literal["off", "missing", "warn", "repair"]
"""What is done about objects of a release that someone else has changed or deleted."""


@dataclass(frozen=True, slots=True)
class UnitKind:
    """How units of a kind are reported, by the reasons of their Events, and when they run again.

    `adopted` (with a hint), `rolled_back`, `drifted`: what has happened to its release. `repaired` is that drift is
    repaired, `failed` and `deletion_failed` that an attempt failed, `works_again` that the next one succeeded; empty
    where that is no Event because the unit's status has it. `pinned_until` says what ends a revision that was brought
    back. `fails_rolled_back`: a unit whose upgrade was rolled back has failed, until its inputs change.
    `follows_version`: another version of the cluster may lead to another one of the unit. `corrects_at_once`: it runs
    again at once if its first attempt fails that was overtaken by another request.
    """

    adopted: str
    rolled_back: str
    pinned_until: str
    drifted: str
    deletion_failed: str
    adoption_hint: str = ""
    repaired: str = ""
    failed: str = ""
    works_again: str = ""
    fails_rolled_back: bool = False
    follows_version: bool = False
    corrects_at_once: bool = False


MODULE = UnitKind(
    adopted="ObjectsAdopted",
    rolled_back="ModuleRolledBack",
    pinned_until="its values or its chart change",
    drifted="ModuleDrifted",
    deletion_failed="ModuleFailed",
    failed="ModuleFailed",
    works_again="ModuleHealed",
    fails_rolled_back=True,
)

INSTANCE = UnitKind(
    adopted="Adopted",
    adoption_hint="; what was taken over stays when the instance is deleted, unless its spec.deletionPolicy is Delete",
    rolled_back="RolledBack",
    pinned_until="its spec, its package or the annotation hookrunner.io/reconcile changes",
    drifted="Drifted",
    repaired="Repaired",
    deletion_failed="DeleteFailed",
    follows_version=True,
    corrects_at_once=True,
)


@dataclass(frozen=True, slots=True)
class Unit:
    """One unit. `name` is that of its release, its queue and the subject of its Events; `key` is what its values are
    called in documents, and `section` where they are kept: units may share a key.

    `directory` has its hooks and definitions; units with the same `hooks_of` have the same hooks, which are loaded once
    for each `stamp` of their files. `installs`: it has objects to install. `namespace` is that of its release, empty
    for hookrunner's own. `labels` are those of the metrics of a run's steps, empty if these are not measured.
    `compiled` as in Module. `has_script`: a script is asked whether it is on."""

    name: str
    key: str
    section: str
    directory: Path
    kind: UnitKind
    installs: bool = True
    namespace: str = ""
    drift: Drift = "missing"
    hooks_of: str = ""
    stamp: str = ""
    labels: tuple[str, ...] = ()
    compiled: tuple[str, ...] = ()
    has_script: bool = False

    @property
    def fields(self) -> dict[str, str]:
        """The unit in a log record."""
        return unit_fields(self.name)


_POINT = re.compile(r"(?<!\d)\.|\.(?!\d)")


def is_unit_of_addon(name: str) -> bool:
    """Is this the name of an instance's unit (`coredns.kube-system.default`), and of no module? A module's name has a
    point between digits only (`v1.2`), as others do not survive the way to its key."""
    return _POINT.search(name) is not None


def unit_fields(name: str) -> dict[str, str]:
    """The unit of this name in a log record: as a unit, and as what people search for."""
    return {"unit": name, "instance" if is_unit_of_addon(name) else "module": name}
