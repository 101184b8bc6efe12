"""What is known about an instance of an addon, and the words in which its status says it (see docs/addons.md, Status).

Those who run, fetch, build, apply and watch state facts; `addons/status_conditions.py` makes the status of them.
"""

from collections.abc import Sequence
from dataclasses import field
from enum import StrEnum
from typing import Literal

from hookrunner.model.addons import CommonFields
from kubetypes.light_dataclasses import dataclass


class AddonPhase(StrEnum):
    """Where an instance is. Only `Current` is healthy."""

    PENDING = "Pending"
    CONFLICT = "Conflict"
    VERSION_MISMATCH = "VersionMismatch"
    PACKAGE_ERROR = "PackageError"
    RENDER_FAILED = "RenderFailed"
    PATCH_FAILED = "PatchFailed"
    APPLYING = "Applying"
    IN_PROGRESS = "InProgress"
    FAILED = "Failed"
    CURRENT = "Current"
    ROLLED_BACK = "RolledBack"
    SUSPENDED = "Suspended"
    TERMINATING = "Terminating"
    INTERNAL_ERROR = "InternalError"


Progress = Literal["reconciling", "stalled", ""]
"""Is the state left by itself, or when an input changes; "" for neither."""

REASONS: dict[AddonPhase, dict[str, Progress]] = {
    AddonPhase.PENDING: {"Waiting": "reconciling"},
    AddonPhase.CONFLICT: {
        "Duplicate": "stalled",
        "Exclusive": "stalled",
        "Replaced": "stalled",
        "Namespace": "stalled",
        "Owned": "stalled",
    },
    AddonPhase.VERSION_MISMATCH: {
        "NoChannel": "stalled",
        "NoVersion": "stalled",
        "Kubernetes": "stalled",
        "Operator": "stalled",
        "UpgradePath": "stalled",
        "DowngradeRefused": "stalled",
    },
    AddonPhase.PACKAGE_ERROR: {
        "Unreachable": "reconciling",
        "NotFound": "stalled",
        "Malformed": "stalled",
        "TooLarge": "stalled",
        "DigestMismatch": "stalled",
        "DigestChanged": "stalled",
        "Unverified": "stalled",
    },
    AddonPhase.RENDER_FAILED: {"HookFailed": "reconciling", "RenderFailed": "reconciling", "SpecInvalid": "stalled"},
    AddonPhase.PATCH_FAILED: {
        "NoMatch": "stalled",
        "Ambiguous": "stalled",
        "MergeFailed": "stalled",
        "NotAllowed": "stalled",
        "SchemaInvalid": "stalled",
    },
    AddonPhase.APPLYING: {"Applying": "reconciling", "ApplyFailed": "reconciling"},
    AddonPhase.IN_PROGRESS: {"ObjectsNotReady": "reconciling", "HookReport": "reconciling"},
    AddonPhase.FAILED: {"ObjectsFailed": "stalled", "TimedOut": "stalled"},
    AddonPhase.CURRENT: {"Current": ""},
    AddonPhase.ROLLED_BACK: {"RolledBack": "stalled"},
    AddonPhase.SUSPENDED: {"Suspended": ""},
    AddonPhase.TERMINATING: {"Terminating": "reconciling"},
    AddonPhase.INTERNAL_ERROR: {"InternalError": "stalled"},
}
"""The reasons of each phase, which are those of the condition Ready. Reconciling states are retried with a back-off,
stalled ones when an input changes."""


class WakeUp(StrEnum):
    """A change that may open a closed gate, for which only instances that wait for it are run. A change of the instance
    itself, of its source or of what the cluster serves always causes a run."""

    INSTANCES = "instances"
    MODULES = "modules"
    ADDONS = "addons"
    OBJECTS = "objects"


@dataclass(frozen=True, slots=True)
class AddonObstacle:
    """Why an instance's desired state is not reached, as the status says it. `wakes_up` are the changes after which it
    is worth trying again; of others only a change of the instance, or the back-off of a reconciling state. `removes`:
    what the instance has installed is removed."""

    phase: AddonPhase
    reason: str
    message: str
    wakes_up: frozenset[WakeUp] = frozenset()
    removes: bool = False

    @property
    def progress(self) -> Progress:
        """Is it left by itself?"""
        return REASONS[self.phase][self.reason]


ObjectStatusWord = Literal["Current", "InProgress", "Failed", "Terminating", "NotFound", "Unknown"]


@dataclass(frozen=True, slots=True)
class ObjectReport:
    """The kstatus of one object. `name` is as errors show it, such as `Deployment kube-system/coredns`. With
    `is_running` it is a Job that has begun and not ended, which counts as current."""

    name: str
    status: ObjectStatusWord
    message: str = ""
    is_running: bool = False

    def __str__(self) -> str:
        return f"{self.name}: {self.message or self.status}"


@dataclass(frozen=True, slots=True)
class ProtectionState:
    """Whether users are kept from changing the objects of an instance, as the condition Protected. `is_passing`: it
    will be another state in a moment, so that what was known before counts until then."""

    status: Literal["True", "False", "Unknown"]
    reason: str
    message: str
    is_passing: bool = False


OWN_CONDITIONS = frozenset(
    (
        "Ready",
        "Available",
        "Reconciling",
        "Stalled",
        "PatchesApplied",
        "UpdateAvailable",
        "VersionSupported",
        "FieldsKnown",
        "NodesClean",
        "Protected",
    )
)
"""Types of conditions that hooks cannot report."""


@dataclass(frozen=True, slots=True)
class HookCondition:
    """A condition that a hook has reported in its last run. With `healthy` False it prevents `Current`. `hook` is the
    path of the hook in its addon, "" before it is known."""

    type: str
    status: Literal["True", "False", "Unknown"]
    reason: str
    message: str = ""
    healthy: bool = True
    hook: str = ""


@dataclass(frozen=True, slots=True)
class Installed:
    """What is applied: the last revision that was deployed. `started_at` is the time of the rollout (RFC 3339);
    `pinned` says that it is an earlier revision, brought back on request; `serial` is that of the channel, 0 without
    one; `commit` is that of git, "" for other sources."""

    version: str
    digest: str
    release: str
    revision: int
    started_at: str
    channel: str = ""
    pinned: bool = False
    serial: int = 0
    commit: str = ""


@dataclass(frozen=True, slots=True)
class LastHealthy:
    """The last revision whose objects were all current, and when."""

    version: str
    revision: int
    time: str


@dataclass(frozen=True, slots=True)
class InstanceFacts:
    """Everything that the status of one instance is made of.

    `generation` is that of the spec which the facts are about. `obstacle` is why the last run did not reach the
    objects, None if it has applied what the spec wants. `objects` are those of the installed revision, None as long as
    they have not been seen; `timed_out` says that they took longer than the timeout. `rolled_back` is why the desired
    version is not installed although no obstacle is left: it failed. `unread_channel` says why the channel that it
    follows cannot be read. `unmatched_patches` are patches that fit nothing and are only reported. `untested` says why
    the version counts as untested on this cluster. `unknown_fields` are what the API server ignores of objects, each
    with its object. `leftovers` is what Nodes may have of the instance whose place this one has taken. `protection` is
    that of the objects, None if the spec does not ask for it.
    """

    generation: int
    fields: CommonFields = field(default_factory=CommonFields)
    obstacle: AddonObstacle | None = None
    installed: Installed | None = None
    last_healthy: LastHealthy | None = None
    objects: Sequence[ObjectReport] | None = None
    timed_out: bool = False
    rolled_back: str = ""
    available_version: str = ""
    unread_channel: str = ""
    unmatched_patches: Sequence[str] = ()
    untested: str = ""
    unknown_fields: Sequence[str] = ()
    leftovers: str = ""
    hook_conditions: Sequence[HookCondition] = ()
    protection: ProtectionState | None = None

    @property
    def lacks_health(self) -> bool:
        """Is something installed of which the health is not known yet?"""
        return self.installed is not None and self.objects is None
