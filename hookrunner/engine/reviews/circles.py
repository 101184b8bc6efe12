"""Conversions that wait for themselves. Pure.

A conversion waits for the snapshots that its hook reads. If one of them is of the very objects that are converted, in
the version that they are to come back in, then the API server needs the conversion to list them: neither can be first.
"""

from collections.abc import Iterator

from hookrunner.model.bindings import Hook, Kubernetes
from hookrunner.model.reviews import ConversionReview
from hookrunner.model.tasks import HookRun


def circle(hook: Hook, order: HookRun, review: ConversionReview) -> str:
    """What a person should know if the order may wait for ever, else empty.

    It need not: if the wanted version is the stored one, the list may come without any conversion.
    """
    names = [binding.name for binding in _read(hook, order) if _lists(binding, review)]
    if not names:
        return ""
    return (
        f"it needs the snapshot of '{names[0]}', which lists its own objects in {review.request['desiredAPIVersion']}, "
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
    kinds = {str(obj.get("kind")).lower() for obj in review.request["objects"]} | {review.definition.partition(".")[0]}
    return binding.api_version in ("", review.request["desiredAPIVersion"]) and binding.kind.lower() in kinds
