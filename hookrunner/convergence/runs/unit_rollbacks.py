"""Gives up a revision that does not work, and brings back the last healthy one of the unit.

A module says with `rollbackOnFailure` that a failed upgrade is undone at once, by the release itself. An instance of an
addon may turn out much later not to work: the fallback of its plan says which revision to restore, after a failed
rollout and in each run that finds nothing else to do (see docs/addons.md#rollback). The restored revision stands for
the attempt that has failed, so that this one is not repeated before the user changes something.
"""

from collections.abc import Callable

from hookrunner import log
from hookrunner.convergence.plan import Plan
from hookrunner.convergence.runs.seams import HealthyRevisions
from hookrunner.errors import ReleaseFailed
from hookrunner.model.releases import ROLLED_BACK, Head, ReleaseResult
from hookrunner.releases.manifest_objects import ReleaseId

_log = log.get(__name__)


class UnitRollbacks:
    """Restores the revisions that plans fall back to. `pause` is called before a release is written."""

    def __init__(self, releases: HealthyRevisions, pause: Callable[[ReleaseId], None]) -> None:
        self._releases = releases
        self._pause = pause

    async def after_error(self, plan: Plan, error: ReleaseFailed, head: Head | None, digest: str) -> ReleaseResult:
        """Restore the last healthy revision after a rollout with this error, as a new one. `head` is that from before
        the rollout, `digest` that of what has failed. Raises the error if there is nothing to restore. That the API
        server was unavailable, or that we lack a right, says nothing about the version."""
        says_nothing = error.brief or error.lacks_rights or not plan.fallback.after_errors
        if not head or not plan.fallback.revision or says_nothing or head.note == ROLLED_BACK:
            raise error
        try:
            return await self.restore(plan, head, digest)
        except ReleaseFailed as second:
            raise ReleaseFailed(f"{error}; rolling back failed too: {second}", second.brief) from error

    async def restore(self, plan: Plan, head: Head, digest: str) -> ReleaseResult:
        """Restore the revision that the plan falls back to, as a new one. `digest` is that of what was given up."""
        self._pause(ReleaseId(head.name, head.namespace))
        target, failed = plan.fallback.revision, plan.attempt_digest(digest)
        restored = await self._releases.restore_healthy(head.name, head.namespace, target, failed, plan.options)
        _log.warn("release rolled back", restored=target, revision=restored.head.revision)
        return restored
