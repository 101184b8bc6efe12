"""Works on the objects of one stage at the same time, and makes one error of all that failed.

    stage = {target: write(target) for target in targets}      # coroutines, which bound themselves
    results = await run_stage(stage, StageProgress("applied", total=7, done=2), kinds)

An object that fails does not keep the others of its stage from being written, only later stages.
"""

import asyncio
from collections.abc import Coroutine, Mapping, Sequence
from http import HTTPStatus
from typing import TypeVar

from hookrunner.errors import ApiError, KubeError, ObjectOwned, ReleaseFailed
from hookrunner.kube import refusals
from hookrunner.model.status import MOST, some
from hookrunner.releases.manifest_objects import KindResolver, ObjectId
from kubetypes.light_dataclasses import dataclass

OBJECTS_AT_ONCE = 24
"""Objects that are worked on at the same time, for all releases."""

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


async def run_stage(
    stage: Mapping[ObjectId, Coroutine[None, None, Result]], progress: StageProgress, kinds: KindResolver
) -> list[Result]:
    """Work on the objects of a stage; the result of each. `kinds` knows which failed objects have no namespace. Raises
    ReleaseFailed, which names those that failed."""
    results = await asyncio.gather(*stage.values(), return_exceptions=True)
    outcomes = dict(zip(stage, results, strict=True))
    failed = {target: error for target, error in outcomes.items() if isinstance(error, KubeError | ReleaseFailed)}
    for error in results:
        if isinstance(error, BaseException) and not isinstance(error, KubeError | ReleaseFailed):
            raise error
    if failed:
        beside = [await _in_scope(target, kinds) for target in stage if target not in failed]
        raise _failure(progress, beside, {await _in_scope(target, kinds): error for target, error in failed.items()})
    return [result for result in results if not isinstance(result, BaseException)]


async def _in_scope(target: ObjectId, kinds: KindResolver) -> ObjectId:
    """The object without a namespace if its kind has none."""
    try:
        resource = await kinds.resolve(target.api_version, target.kind)
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
    lacks_rights = all(refusals.lacks_rights(error) for error in failed.values())
    kind = ObjectOwned if all(isinstance(error, ObjectOwned) for error in failed.values()) else ReleaseFailed
    return kind("\n".join(filter(None, lines)), brief, invalid, lacks_rights)


def _grouped(failed: Mapping[ObjectId, str]) -> list[str]:
    """A line for each reason, with all objects that failed for it."""
    objects: dict[str, list[str]] = {}
    for target, reason in failed.items():
        objects.setdefault(reason, []).append(str(target))
    return [f"{', '.join(names)}: {reason}" for reason, names in objects.items()]


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
