"""A hook: functions with the bindings that they are for."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Hashable
from os.path import basename
from typing import Any, TypeVar

from . import carriers, steps
from .config import to_kind, to_part
from .steps import Step
from .tasks import Handler, Task, code_of

JSON = Any
F = TypeVar("F", bound=Callable[..., Any])


class Hook:
    """Settings of the hook as keywords (docs/hooks.md, settings); functions are added by decorators. Its process stays
    between runs unless `resident` is False."""

    def __init__(self, resident: JSON = True, **settings: JSON) -> None:
        self._resident = resident
        self._settings = to_part("settings", settings)
        self._own_queues: dict[str, JSON] = {}
        self._reconcilers: set[str] = set()
        self._parts: dict[str, Any] = {}
        self._steps: dict[str, list[Step]] = {}

    def reconcile(self, kind: str, concurrency: int = 1, **binding: JSON) -> Callable[[F], F]:
        """Call the function for each object of this kind, at first and when it has changed, with the object as it was
        last heard of, None when it does not exist any more. It may return `After`. Raises ValueError for a binding
        that keeps no objects.

        It has a queue of its own, for which nothing else waits, and where one object holds up no other: `concurrency`
        of them are reconciled at once, more than one in threads, and each in order. A queue that is named by `queue`
        has the rules of `Hook(queues=…)`.
        """
        if not binding.get("keep_full_objects_in_memory", True):
            raise ValueError("reconcile needs whole objects: take keep_full_objects_in_memory away, or use `on`")
        if "queue" in binding and concurrency > 1:
            raise ValueError("concurrency is for a queue of the function's own: take queue away, or use Hook(queues=…)")

        def add(function: F) -> F:
            own = {} if "queue" in binding else {"queue": self._own_queue(function, binding, concurrency)}
            self._reconcilers.add(binding.get("name", function.__name__))
            return self._object(kind, function, {**own, **binding}, steps.for_objects)

        return add

    def on(self, kind: str, **binding: JSON) -> Callable[[F], F]:
        """Call the function for each event of objects of this kind, with an `Event`, or with its object made to the
        type that the function names. At first there is one of type Synchronization for each object that exists."""
        return lambda function: self._object(kind, function, binding, steps.for_events)

    def watch(self, kind: str, name: str, **binding: JSON) -> None:
        """Objects for `snapshots[name]`, and in a `group` for the function of that. Without a group they cause no
        run. With a filter only its results are kept, unless `keep_full_objects_in_memory` is true."""
        given = to_part("kubernetes", binding)
        quiet = {} if "group" in given else {"executeHookOnEvent": [], "executeHookOnSynchronization": False}
        small = {"keepFullObjectsInMemory": False} if "jqFilter" in given else {}
        self._bind("kubernetes", name, {**to_kind(kind), **quiet, **small, **given})

    def group(self, name: str) -> Callable[[F], F]:
        """Call the function once when something has changed in a group of bindings; `snapshots` has the objects."""
        return lambda function: self._plain(steps.group_key(name), function)

    def startup(self, order: int = 10) -> Callable[[F], F]:
        """Call the function once at the start; hooks with lower numbers come first."""
        return self._numbered("onStartup", order)

    def schedule(self, crontab: str, **binding: JSON) -> Callable[[F], F]:
        """Call the function at these times."""

        def add(function: F) -> F:
            given = {"crontab": crontab, **to_part("schedule", binding)}
            return self._plain(self._bind("schedule", function.__name__, given), function)

        return add

    def before_all(self, order: int = 10) -> Callable[[F], F]:
        """Of a global hook: before the modules run."""
        return self._numbered("beforeAll", order)

    def after_all(self, order: int = 10) -> Callable[[F], F]:
        """Of a global hook: when all modules have run."""
        return self._numbered("afterAll", order)

    def before_helm(self, order: int = 10) -> Callable[[F], F]:
        """Of a module or an addon: before its objects are rendered."""
        return self._numbered("beforeHelm", order)

    def after_helm(self, order: int = 10) -> Callable[[F], F]:
        """Of a module or an addon: when its objects are in the cluster."""
        return self._numbered("afterHelm", order)

    def before_delete_helm(self, order: int = 10) -> Callable[[F], F]:
        """Of a module or an addon: before its objects are deleted."""
        return self._numbered("beforeDeleteHelm", order)

    def after_delete_helm(self, order: int = 10) -> Callable[[F], F]:
        """Of a module or an addon: when its objects are deleted."""
        return self._numbered("afterDeleteHelm", order)

    def validate(self, name: str, **binding: JSON) -> Callable[[F], F]:
        """Ask the function about requests of the API server, with a `Review`. It raises `Deny`, or lets them pass."""
        return lambda function: self._review("kubernetesValidating", name, binding, function)

    def mutate(self, name: str, **binding: JSON) -> Callable[[F], F]:
        """The same before an object is stored: what the function changes in it is changed. It may also return what the
        object should be, or a JSON patch."""
        return lambda function: self._review("kubernetesMutating", name, binding, function)

    def convert(self, crd: str, from_version: str, to_version: str, **binding: JSON) -> Callable[[F], F]:
        """Let the function convert objects of a kind from one version to another. It changes the object in place, or
        returns another one. The message of `HookFailed` is shown to the user, with the object's name. All functions
        for a kind share one binding, which is called like the kind."""
        name = self._conversion(crd, {"fromVersion": from_version, "toVersion": to_version}, binding)

        def add(function: F) -> F:
            handler = Handler(function, has_subject=True)
            return self._add(name, function, steps.for_conversions(handler, from_version, to_version))

        return add

    @property
    def config(self) -> dict[str, JSON]:
        """The answer to `--config`. What no one has written, `resident` and the queues and `synchronizeEachObject` of
        `reconcile`, is in it for hookrunner only, since shell-operator refuses such settings."""
        settings, parts = dict(self._settings), dict(self._parts)
        if carriers.is_hookrunner():
            settings |= {"resident": self._resident} if self._resident else {}
            settings |= {"queues": self._queues} if self._queues else {}
        if "kubernetes" in parts:
            parts["kubernetes"] = list(map(self._begun, parts["kubernetes"]))
        return {"configVersion": "v1", **({"settings": settings} if settings else {}), **parts}

    def carry_out(self, task: Task) -> None:
        """Call what the contexts of a run are for, each object and each group once. Raises what the functions raise."""
        calls: dict[Hashable, Callable[[], JSON]] = {}
        for number, context in enumerate(task.contexts):
            key = steps.group_key(context["groupName"]) if context.get("type") == "Group" else context["binding"]
            for step in self._steps.get(key, ()):
                for what, call in step(task, number, context):
                    calls[what] = call
        for call in calls.values():
            task.raise_if_cancelled()
            task.note(call())

    def run(self) -> None:
        """Do what the command line asks for: print the configuration, carry out one run, or stay and answer. Where the
        file is imported, by a test for instance, nothing."""
        if sys._getframe(1).f_globals.get("__name__") != "__main__":
            return
        if sys.argv[1:] == ["--config"]:
            print(json.dumps(self.config))
        elif sys.argv[1:] == ["--resident"]:
            from . import lines  # what it needs is not imported for one run

            lines.serve(self.carry_out, self._concurrency)
        else:
            sys.exit(carriers.run_once(self.carry_out))

    @property
    def _concurrency(self) -> int:
        """Runs that may be side by side: as many as the widest of its own queues."""
        return max((queue.get("concurrency", 1) for queue in self._queues.values()), default=1)

    @property
    def _queues(self) -> dict[str, JSON]:
        return {**self._own_queues, **self._settings.get("queues", {})}

    def _begun(self, binding: dict[str, JSON]) -> dict[str, JSON]:
        """A binding with how it begins. That of a reconciler has a run for each object if it can have that. Otherwise
        its one run with all objects is in its own queue: in `main` an object that fails would hold up other hooks."""
        if binding["name"] not in self._reconcilers:
            return binding
        queue = binding["queue"]
        is_whole = binding.get("group") or not binding.get("executeHookOnSynchronization", True)
        if carriers.is_hookrunner() and not is_whole and queue not in ("", "main"):
            binding = {"synchronizeEachObject": True, **binding}
        if binding.get("synchronizeEachObject") or queue not in self._own_queues:
            return binding
        return {"waitForSynchronization": False, **binding}

    def _own_queue(self, function: Callable[..., Any], binding: dict[str, JSON], concurrency: int) -> str:
        """The name of a queue for a function: that of its file, since queues are not one hook's, and that of its
        binding."""
        file = basename(code_of(function).co_filename)
        name = f"{file}/{binding.get('name', function.__name__)}"
        self._own_queues[name] = {"concurrency": concurrency, "orderBy": "object"}
        return name

    def _object(self, kind: str, function: F, binding: dict[str, JSON], make: Callable[[Handler], Step]) -> F:
        given = {**to_kind(kind), **to_part("kubernetes", binding)}
        name = self._bind("kubernetes", function.__name__, given)
        return self._add(name, function, make(Handler(function, has_subject=True)))

    def _review(self, part: str, name: str, binding: dict[str, JSON], function: F) -> F:
        self._bind(part, name, to_part(part, binding))
        judge = steps.for_changes if part == "kubernetesMutating" else steps.for_verdicts
        return self._add(name, function, judge(Handler(function, has_subject=True)))

    def _numbered(self, key: str, order: int) -> Callable[[F], F]:
        self._parts[key] = order
        return lambda function: self._plain(key, function)

    def _plain(self, key: str, function: F) -> F:
        return self._add(key, function, steps.once(Handler(function, has_subject=False)))

    def _conversion(self, crd: str, versions: dict[str, str], binding: dict[str, JSON]) -> str:
        """Add two versions to the binding of a kind, and this to it; the binding's name."""
        part = "kubernetesCustomResourceConversion"
        known = [other for other in self._parts.get(part, ()) if other["crdName"] == crd]
        if not known:
            return self._bind(part, crd, {"crdName": crd, "conversions": [versions], **to_part(part, binding)})
        known[0]["conversions"].append(versions)
        known[0].update(to_part(part, binding))
        return str(known[0]["name"])

    def _add(self, key: str, function: F, step: Step) -> F:
        self._steps.setdefault(key, []).append(step)
        return function

    def _bind(self, part: str, name: str, given: dict[str, JSON]) -> str:
        """Add a binding, whose name is this unless the keywords have another one. Raises ValueError for one that is
        there already: their contexts would be alike."""
        binding = {"name": name, **given}
        if any(
            other["name"] == binding["name"]
            for others in self._parts.values()
            if isinstance(others, list)
            for other in others
        ):
            raise ValueError(f"there are two bindings called '{binding['name']}'; give one of them another name")
        self._parts.setdefault(part, []).append(binding)
        return str(binding["name"])
