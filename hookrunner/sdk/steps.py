"""From a context to calls of a function: which calls it is for, each with a key, so that of several calls with the same
key only the last one is made. What comes of a call goes to the task."""

from __future__ import annotations

import json
from collections.abc import Callable, Hashable, Iterator, Mapping
from functools import partial
from typing import Any

from .answers import Deny, HookFailed, pointer_of
from .subjects import Event, Review
from .tasks import Handler, Task

JSON = Any
Context = Mapping[str, JSON]
Calls = Iterator[tuple[Hashable, Callable[[], JSON]]]
Step = Callable[[Task, int, Context], Calls]
"""The number of the context in its run is for keys."""


def group_key(group: str) -> str:
    """The key of a group's function among those of bindings."""
    return f"group {group}"


def once(handler: Handler) -> Step:
    """One call in a run, for however many reasons: startup, a schedule, a group."""

    def step(task: Task, number: int, context: Context) -> Calls:
        yield handler.function, partial(handler.call, task, context)

    return step


def for_events(handler: Handler) -> Step:
    """A call for each event."""

    def step(task: Task, number: int, context: Context) -> Calls:
        for place, event in enumerate(_events(context)):
            yield (number, place), partial(handler.call, task, context, event, event.object)

    return step


def for_objects(handler: Handler) -> Step:
    """A call for each object, however often it has changed."""

    def step(task: Task, number: int, context: Context) -> Calls:
        for event in _events(context):
            key = event.binding, event.namespace, event.name
            obj = None if event.type == "Deleted" else event.object
            yield key, partial(handler.call, task, context, obj, obj, event)

    return step


def _events(context: Context) -> Iterator[Event]:
    for entry in context["objects"] if context.get("type") == "Synchronization" else [context]:
        yield Event(context, entry)


def for_verdicts(handler: Handler) -> Step:
    """A call for a question whether a request is allowed."""
    return _for_reviews(handler, lambda review, before, result: _expect_nothing(result))


def _expect_nothing(result: JSON) -> None:
    """A verdict that is returned would be lost, and the request allowed."""
    if result is not None:
        raise TypeError(f"a validating function returned a {type(result).__name__}; raise Deny to refuse a request")


def for_changes(handler: Handler) -> Step:
    """A call for a question how an object should be changed."""

    def take_in(review: Review, before: JSON, result: JSON) -> None:
        steps = result if isinstance(result, list) else list(_difference(before, result or review.object, ""))
        review.verdict["patch"] = steps

    return _for_reviews(handler, take_in)


def _for_reviews(handler: Handler, take_in: Callable[[Review, JSON, JSON], None]) -> Step:
    def ask(task: Task, context: Context) -> None:
        review = Review(context)
        before = json.loads(json.dumps(review.object))
        try:
            take_in(review, before, handler.call(task, context, review, review.object))
        except Deny as refusal:
            review.verdict.update(allowed=False, message=str(refusal), code=refusal.code)
        task.admission = review.verdict

    def step(task: Task, number: int, context: Context) -> Calls:
        yield number, partial(ask, task, context)

    return step


def _difference(before: JSON, after: JSON, path: str) -> Iterator[dict[str, JSON]]:
    """Steps of a JSON patch that make the one of the other. Lists of another length are replaced as a whole."""
    if isinstance(before, list) and isinstance(after, list) and len(before) == len(after):
        for place, (old, new) in enumerate(zip(before, after)):  # noqa: B905  # Python 3.9
            yield from _difference(old, new, f"{path}/{place}")
    elif isinstance(before, dict) and isinstance(after, dict):
        yield from _difference_of_objects(before, after, path)
    elif before != after:
        yield {"op": "replace", "path": path, "value": after}


def _difference_of_objects(before: dict[str, JSON], after: dict[str, JSON], path: str) -> Iterator[dict[str, JSON]]:
    for key in [*before, *(key for key in after if key not in before)]:
        inner = path + pointer_of([key])
        if key not in after:
            yield {"op": "remove", "path": inner}
        elif key not in before:
            yield {"op": "add", "path": inner, "value": after[key]}
        else:
            yield from _difference(before[key], after[key], inner)


def for_conversions(handler: Handler, from_version: str, to_version: str) -> Step:
    """A call for each object to be converted from the one version to the other."""

    def convert(task: Task, context: Context, obj: JSON) -> JSON:
        name = obj["metadata"].get("name", "")
        try:
            converted = handler.call(task, context, obj, obj)
        except HookFailed as error:
            raise HookFailed(f"{obj['kind']} {name}: {error}") from None
        converted = obj if converted is None else converted
        group = obj["apiVersion"].partition("/")[0]
        converted["apiVersion"] = f"{group}/{context['toVersion'].rpartition('/')[2]}"
        return converted

    def convert_all(task: Task, context: Context) -> None:
        try:
            objects = [convert(task, context, obj) for obj in context["review"]["request"]["objects"]]
        except HookFailed as error:
            task.conversion = {"failedMessage": str(error)}
        else:
            task.conversion = {"convertedObjects": objects}

    def step(task: Task, number: int, context: Context) -> Calls:
        if (context["fromVersion"], context["toVersion"]) == (from_version, to_version):
            yield number, partial(convert_all, task, context)

    return step
