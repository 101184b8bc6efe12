"""Answers one conversion review: which objects go through which hook, and whether what comes back can be used.

Objects are grouped by their version and brought together on the way to the desired one, so that each step of it is one
hook run, for thousands of objects too. A hook is given only the objects that are in the version that its rule starts
from, and may return them in any order. What it returns is checked after each step (conversion_checks.py): in place for
a page of objects, in another process for many. Hooks are not run here but by the function that is handed in.
"""

from collections.abc import Awaitable, Callable, Iterator
from typing import TypeAlias

from hookrunner.engine.reviews.chains import Chains, Leg, Step, plan
from hookrunner.engine.reviews.conversion_checks import check_answer, require_objects
from hookrunner.errors import ReviewFailed
from hookrunner.model.bindings import Hook, Kubernetes
from hookrunner.model.json_objects import IN_PLACE, JsonObjects
from hookrunner.model.reviews import ConversionReview, Converted, VersionGroup, merged
from hookrunner.model.tasks import HookRun
from hookrunner.process.pure_calls import LARGE, SizeBounds, call_by_size

Run: TypeAlias = Callable[[Step, JsonObjects, ConversionReview], Awaitable[Converted]]
"""Runs the hook of a step on these objects; the review's `desiredAPIVersion` is for the hook too. Raises ReviewFailed
if the hook fails."""


async def convert(review: ConversionReview, chains: Chains, run: Run) -> JsonObjects:
    """All objects of the request in the desired version, in the request's order. Raises ReviewFailed.

    Those that are in the desired version already are returned as they came.
    """
    request = review.request
    require_objects(request)
    groups = dict(request.groups)
    for leg in plan(chains, review.definition, groups, request.desired):
        group = groups.pop(leg.source)
        converted = await _check(leg, group.objects, await run(leg.step, group.objects, review))
        arrived = VersionGroup(converted, group.positions)
        groups[leg.target] = await _merge(groups[leg.target], arrived) if leg.target in groups else arrived
    return groups.get(request.desired, VersionGroup()).objects


async def _check(leg: Leg, before: JsonObjects, answer: Converted) -> JsonObjects:
    """The objects of an answer, checked and completed. Raises ReviewFailed."""
    if answer.failure:
        raise ReviewFailed(f"{leg.step}: {answer.failure}")
    work, who = before.work + answer.objects.work, str(leg.step)
    bounds = _bounds(f"{who}: its {len(answer.objects):,} objects cannot be checked")
    return await call_by_size(work, bounds, check_answer, who, leg.target, before, answer.objects)


async def _merge(one: VersionGroup, other: VersionGroup) -> VersionGroup:
    """Raises ReviewFailed."""
    bounds = _bounds("objects of several versions cannot be put together")
    return await call_by_size(one.objects.work + other.objects.work, bounds, merged, one, other)


def _bounds(failure: str) -> SizeBounds:
    return SizeBounds(IN_PLACE, limits=LARGE, error=lambda _, lost: ReviewFailed(f"{failure}: {lost}"))


def find_cycle(hook: Hook, order: HookRun, review: ConversionReview) -> str:
    """Why the order may wait indefinitely; empty if it does not.

    It does not wait if the desired version is the stored one: then the list may come without any conversion.
    """
    names = [binding.name for binding in _read(hook, order) if _lists(binding, review)]
    if not names:
        return ""
    return (
        f"it needs the snapshot of '{names[0]}', which lists its own objects in {review.request.desired}, "
        "for which the API server needs this conversion: have that binding watch the stored version, or leave it out "
        "of includeSnapshotsFrom"
    )


def _read(hook: Hook, order: HookRun) -> Iterator[Kubernetes]:
    """The bindings whose snapshots the run reads."""
    for context in order.contexts:
        for include in context.includes:
            yield hook.config.kubernetes[include.index]


def _lists(binding: Kubernetes, review: ConversionReview) -> bool:
    """Without a version the API's preferred one is watched, which may be this."""
    kinds = review.request.kinds | {review.definition.partition(".")[0]}
    return binding.api_version in ("", review.request.desired) and binding.kind.lower() in kinds
