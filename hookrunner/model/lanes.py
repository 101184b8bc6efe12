"""Which tasks of a queue may run side by side: those of different lanes, as many as its rules allow.

A queue keeps the order of tasks that share a lane. What a lane is, its rules say: a binding, as in every queue without
rules, an object, or a namespace. Where lanes are objects, what waits for one of them is one run with its latest state.
What is about no single object, a Synchronization or a group, has the whole queue to itself.
"""

from collections.abc import Sequence

from hookrunner.errors import BadHookConfig
from hookrunner.model.bindings import ONE_BY_ONE, Hook, QueueRules
from hookrunner.model.contexts import Context
from hookrunner.model.tasks import HookRun, Lane, Order
from kubetypes.light_dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Lanes:
    """The lanes of a queue with these rules."""

    rules: QueueRules

    @property
    def are_bindings(self) -> bool:
        """Is the lane of a run its binding, whatever the object?"""
        return self.rules.order_by == "binding"

    def of(self, order: Order) -> frozenset[Lane]:
        """The lanes of a task."""
        if self.are_bindings or not isinstance(order, HookRun) or not order.contexts or is_about_many(order):
            return order.lanes
        return frozenset(lane_of(order, context, self.rules.order_by == "namespace") for context in order.contexts)

    def needs_all(self, order: Order) -> bool:
        """Does it run only while nothing else of the queue does?"""
        return not (isinstance(order, HookRun) and not is_about_many(order))


class AgreedRules:
    """The rules that hooks state for queues, by the names of queues and hooks."""

    def __init__(self) -> None:
        self._stated: dict[str, dict[str, QueueRules]] = {}

    def add(self, hooks: Sequence[Hook]) -> None:
        """Take in what hooks state, or nothing of it if two state different rules for a queue. Raises BadHookConfig
        then, which names both."""
        try:
            for hook in hooks:
                self._add(hook)
        except BadHookConfig:
            for hook in hooks:
                self.forget(hook)
            raise

    def forget(self, hook: Hook) -> None:
        """The hook states nothing any more."""
        for name in hook.config.settings.queues:
            self._stated.get(name, {}).pop(hook.name, None)

    def of(self, queue: str) -> QueueRules:
        """Those of a queue."""
        return next(iter(self._stated.get(queue, {}).values()), ONE_BY_ONE)

    def _add(self, hook: Hook) -> None:
        for name, rules in hook.config.settings.queues.items():
            stated = self._stated.setdefault(name, {})
            for other, known in stated.items():
                if known != rules:
                    problem = f"settings.queues.{name} is {rules}, and {known} in {other}; state the same in both"
                    raise BadHookConfig(hook.name, [problem])
            stated[hook.name] = rules


def is_about_many(order: HookRun) -> bool:
    """Is the run about a group, or about all objects of a binding?"""
    return bool(order.group) or any(context.has_all_objects for context in order.contexts)


def subject_of(order: HookRun) -> frozenset[Lane]:
    """What a run is about, whatever the rules: its objects, or its bindings where it is about no single ones."""
    if is_about_many(order):
        return order.lanes
    return frozenset(lane_of(order, context) for context in order.contexts)


def lane_of(order: HookRun, context: Context, whole_namespace: bool = False) -> Lane:
    """The lane of one event: its object's or its namespace's; its binding's if it has no object."""
    if context.key is None:
        return order.hook, context.binding
    key = context.key.namespace if whole_namespace else str(context.key)
    return order.hook, f"{order.binding_type}[{context.source}] {key}"
