"""What the release of a unit is made from: the chart of a module, or the package of an instance of an addon. Releases
ask it for a digest and for objects, and treat both alike. The blueprint of a module is in `runs/release_reconciler.py`,
that of an instance in `instances/`."""

from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import NamedTuple, Protocol

from hookrunner.errors import ReleaseFailed
from hookrunner.hooks.workspace import InstanceInput
from hookrunner.metrics.addons import RunStep
from hookrunner.model.addon_status import HookCondition
from hookrunner.model.releases import Head, ReleaseOptions, RenderedChart
from kubetypes.json_values import JSON


class ReleaseInputs(NamedTuple):
    """The digest of everything from which a release is made. With `looks_up` the result depends on objects in the
    cluster too, so that only the rendered manifest says whether it has changed."""

    digest: str
    looks_up: bool = False


class Blueprint(Protocol):
    """Gives the digest and the objects of one unit's release, from what is known at the moment of the call."""

    @property
    def reads_capabilities(self) -> bool:
        """May the objects depend on what the cluster serves?"""

    async def read_inputs(self) -> ReleaseInputs:
        """What the release should be made from. Raises BadChart, KubeError."""

    async def render(self, is_first: bool) -> RenderedChart:
        """Its objects; `is_first` says that nothing is installed yet. Raises BadChart, RenderFailed, KubeError."""

    async def preview(self, is_first: bool) -> RenderedChart:
        """The same for someone who looks, which changes nothing."""

    def options(self, usual: ReleaseOptions) -> ReleaseOptions:
        """How it is rolled out, from what is usual with the unit's traits."""


class OwnBlueprint(Blueprint, Protocol):
    """The blueprint that a unit brings along: an instance, whose package and values are found out in each run."""

    @property
    def version(self) -> str:
        """The version that the last run was prepared with, for the release's records."""

    async def prepare(self) -> None:
        """Bring up to date what hooks and templates see: the version, its package, the values. First step of each run.
        Raises RunBlocked if the unit cannot run before something else changes, else any HookrunnerError."""

    def explain(self, error: Exception) -> None:
        """A run has failed with this error. Raises RunBlocked if time alone does not help."""

    def settle(self, head: Head) -> None:
        """The release is in sync at this revision."""

    def note_faults(self, written: Mapping[str, str], objects: Iterable[JSON] | None) -> None:
        """What the API server does not know of objects, by the object that was written, empty for nothing. `objects`
        are all of the release, None if they have not changed."""

    def attempt_digest(self, digest: str) -> str:
        """The digest of an attempt to reach inputs of this digest. It changes too with what only says whether to try
        again."""

    def target_after(self, error: ReleaseFailed, head: Head) -> int:
        """The revision to restore after a rollout with this error, 0 for none. `head` is that from before it."""

    def target_instead(self, head: Head) -> int:
        """The revision to restore because this one was given up, 0 for none."""

    def give(self) -> InstanceInput:
        """What the unit's hooks are given besides values, at this moment."""

    def report(self, hook: str, conditions: Sequence[HookCondition]) -> None:
        """A hook has run and reports these conditions, in place of those that it reported before."""

    def time_step(self, step: RunStep) -> AbstractContextManager[None]:
        """Measure a step of a run."""

    async def uninstall(self, head: Head) -> None:
        """Remove what the unit has installed, or leave it to its user. Raises ReleaseFailed, KubeError."""
