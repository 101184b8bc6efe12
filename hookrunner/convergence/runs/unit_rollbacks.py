"""Gives up a revision that does not work, and brings back the last healthy one of the unit.

A module says with `rollbackOnFailure` that a failed upgrade is undone at once, by the release itself. An instance of an
addon may turn out much later not to work: its blueprint says which revision to restore, after a failed rollout and in
each run that finds nothing else to do (see docs/addons.md#rollback). The restored revision stands for the attempt that
has failed, so that this one is not repeated before the user changes something.
"""

from hookrunner import log
from hookrunner.convergence.plan import OwnBlueprint
from hookrunner.convergence.runs.unit_releases import DriftTracker
from hookrunner.convergence.unit_state import UnitState
from hookrunner.errors import ReleaseFailed
from hookrunner.model.releases import DesiredRelease, Head, ReleaseOptions
from hookrunner.releases.manifest_objects import ReleaseId
from hookrunner.releases.releases import Releases
from hookrunner.releases.rollout import PINNED, ROLLED_BACK

_log = log.get("helm")


def digest_to_reach(blueprint: OwnBlueprint, head: Head | None, digest: str) -> str:
    """The digest that the release should have: that of the attempt in whose place the head was restored, because it had
    failed or on request, if nothing has changed since; else the one that the unit's inputs have now."""
    if head is None or head.note not in (ROLLED_BACK, PINNED):
        return digest
    replaced = blueprint.attempt_digest(digest)
    return replaced if head.digest == replaced else digest


class UnitRollbacks:
    """Restores revisions of units that have a blueprint of their own."""

    def __init__(self, releases: Releases, tracker: DriftTracker) -> None:
        self._releases = releases
        self._tracker = tracker

    async def after_error(
        self, state: UnitState, error: ReleaseFailed, head: Head | None, failed: DesiredRelease
    ) -> Head:
        """Restore the last healthy revision after a rollout with this error; the new head. `head` is that from before
        the rollout. Raises the error if there is nothing to restore."""
        target = state.blueprint.target_after(error, head) if state.blueprint and head else 0
        if not head or not target:
            raise error
        try:
            return await self._restore(state, head, target, failed.digest, failed.options)
        except ReleaseFailed as second:
            raise ReleaseFailed(f"{error}; rolling back failed too: {second}", second.brief) from error

    async def if_given_up(self, state: UnitState, head: Head, digest: str, options: ReleaseOptions) -> Head:
        """Restore the last healthy revision if this one was given up; the head afterwards."""
        target = state.blueprint.target_instead(head) if state.blueprint else 0
        return await self._restore(state, head, target, digest, options) if target else head

    async def _restore(self, state: UnitState, head: Head, target: int, digest: str, options: ReleaseOptions) -> Head:
        assert state.blueprint is not None, "it has named the revision"
        self._tracker.pause(ReleaseId(head.name, head.namespace))
        failed = state.blueprint.attempt_digest(digest)
        restored = await self._releases.restore_healthy(head.name, head.namespace, target, failed, options)
        _log.warn("release rolled back", module=head.name, restored=target, revision=restored.revision)
        return restored
