"""Works on the objects of one stage at the same time, and makes one error of all that failed.

    runner = StageRunner(kinds)                        # at most 24 objects at once, for all who share it
    results = await runner.run(stage, work, StageProgress("applied", total=7, done=2))

An object that fails does not keep the others of its stage from being written, only later stages.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from http import HTTPStatus
from typing import TypeVar

from hookrunner.errors import ApiError, KubeError, ObjectOwned, ReleaseFailed
from hookrunner.kube import refusals
from hookrunner.model.status import MOST, some
from hookrunner.releases.manifest_objects import KindResolver, ObjectId

_AT_ONCE = 24
_INVALID = frozenset((HTTPStatus.BAD_REQUEST, HTTPStatus.UNPROCESSABLE_ENTITY))
_WRONG_TYPE = ("failed to create typed patch object", "failed to convert new object")
"""Source: https://github.com/kubernetes/kubernetes/blob/master/staging/src/k8s.io/apimachinery/pkg/util/managedfields/internal/structuredmerge.go"""

Result = TypeVar("Result")
Failure = KubeError | ReleaseFailed


@dataclass(frozen=True, slots=True)
class StageProgress:
    """What is done with objects (`applied`), with how many in all stages, and with how many in the stages before."""

    what: str
    total: int
    done: int


class StageRunner:
    """Bounds how many objects are worked on at once. `kinds` knows which failed objects have no namespace."""

    def __init__(self, kinds: KindResolver) -> None:
        self._turn = asyncio.Semaphore(_AT_ONCE)
        self._kinds = kinds

    async def run(
        self, stage: Sequence[ObjectId], work: Callable[[ObjectId], Awaitable[Result]], progress: StageProgress
    ) -> list[Result]:
        """Work on the objects of a stage; the result of each. Raises ReleaseFailed, which names those that failed."""

        async def attempt(target: ObjectId) -> Result | KubeError | ReleaseFailed:
            async with self._turn:
                try:
                    return await work(target)
                except (KubeError, ReleaseFailed) as error:
                    return error

        results = await asyncio.gather(*map(attempt, stage))
        done = [result for result in results if not isinstance(result, KubeError | ReleaseFailed)]
        if len(done) < len(stage):
            pairs = zip(stage, results, strict=True)
            failed = {target: error for target, error in pairs if isinstance(error, KubeError | ReleaseFailed)}
            beside = [await self._in_scope(target) for target in stage if target not in failed]
            raise _failure(progress, beside, await self._with_scopes(failed))
        return done

    async def _with_scopes(self, failed: Mapping[ObjectId, Failure]) -> dict[ObjectId, Failure]:
        """The failures with objects that show no namespace if their kind has none."""
        return {await self._in_scope(target): error for target, error in failed.items()}

    async def _in_scope(self, target: ObjectId) -> ObjectId:
        try:
            resource = await self._kinds.resolve(target.api_version, target.kind)
        except KubeError:
            return target
        return target if resource.namespaced else target._replace(namespace="")


def _failure(progress: StageProgress, done: Sequence[ObjectId], failed: Mapping[ObjectId, Failure]) -> ReleaseFailed:
    """Names each kind of failure, because each may need another remedy, and all others unless there are many: the
    message is in logs, at `/readyz`, in `module list` and in the release's record."""
    what = progress.what
    rest = progress.total - progress.done - len(done) - len(failed)
    lines = [f"{len(failed)} of {progress.total} objects could not be {what}:"]
    shown = _chosen({target: str(error) for target, error in failed.items()})
    lines += _grouped({target: str(failed[target]) for target in shown})
    lines += [f"and {len(failed) - len(shown)} more, for the same reasons or others"] * (len(failed) > len(shown))
    others = {f"{what} before that": progress.done, "beside it": some([*map(str, done)]), "not tried yet": rest}
    lines.append("; ".join(f"{which}: {value}" for which, value in others.items() if value))
    brief = any(error.brief for error in failed.values())
    invalid = [str(target) for target, error in failed.items() if _is_invalid(error)]
    lacks_rights = all(_lacks_rights(error) for error in failed.values())
    kind = ObjectOwned if all(isinstance(error, ObjectOwned) for error in failed.values()) else ReleaseFailed
    return kind("\n".join(filter(None, lines)), brief, invalid, lacks_rights)


def _grouped(failed: Mapping[ObjectId, str]) -> list[str]:
    """A line for each reason, with all objects that failed for it."""
    objects: dict[str, list[str]] = {}
    for target, reason in failed.items():
        objects.setdefault(reason, []).append(str(target))
    return [f"{', '.join(names)}: {reason}" for reason, names in objects.items()]


def _lacks_rights(error: KubeError | ReleaseFailed) -> bool:
    return error.lacks_rights if isinstance(error, ReleaseFailed) else refusals.lacks_rights(error)


def _is_invalid(error: KubeError | ReleaseFailed) -> bool:
    """Does the API server refuse what the object says? A field of a wrong type fails the conversion of a server-side
    apply, which the API server takes for a fault of its own (status 500)."""
    cause = error.__cause__ if isinstance(error, ReleaseFailed) else error
    return isinstance(cause, ApiError) and (cause.status in _INVALID or any(text in str(cause) for text in _WRONG_TYPE))


def _chosen(failed: Mapping[ObjectId, str]) -> list[ObjectId]:
    """Some of the failed objects in their order: first those that fail in another way than those before."""
    reasons: dict[tuple[str, str], ObjectId] = {}
    for target, error in failed.items():
        reasons.setdefault((target.kind, error.replace(target.name, "")), target)
    chosen = {*[*dict.fromkeys([*reasons.values(), *failed])][:MOST]}
    return [target for target in failed if target in chosen]
