"""Hooks in tests written in Python: what the pytest fixture `hook` gives.

    def test_copies(hook: Hooks) -> None:
        result = hook("hooks/copy.sh").given(namespace, secret).on_event("Added", secret)
        assert result.patches == [{"operation": "CreateOrUpdate", "object": {...}}]

Everything here waits until it is done, also where a test runs in an event loop. Objects are mappings, or names of files
with one object each.
"""

import asyncio
from collections.abc import Coroutine, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AsyncExitStack
from dataclasses import field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, Self, TypeAlias, TypeVar

from hookrunner.errors import BadConfig, BadInput, PatchFailed
from hookrunner.kube.cluster_lookup import with_kubeconfig
from hookrunner.model.bindings import Change, Hook
from hookrunner.settings import load
from hookrunner.testing import display, manifests
from hookrunner.testing.bench import Bench, bench
from hookrunner.testing.happenings import (
    Changed,
    Conversion,
    Given,
    Grouped,
    Happening,
    Review,
    Startup,
    Synchronization,
    Tick,
)
from hookrunner.testing.results import Effects, Result
from kubetypes.json_values import JSON
from kubetypes.light_dataclasses import dataclass

__tracebackhide__ = True  # by pytest: what fails is the line in the test

T = TypeVar("T")

Object: TypeAlias = Mapping[str, Any] | str | Path


class Tools:
    """A bench and the event loop that it lives in, for a whole test session. A context manager."""

    def __enter__(self) -> Self:
        # Our own factory: otherwise the runner would set its loop in the main thread, where others have theirs.
        self._runner = asyncio.Runner(loop_factory=asyncio.new_event_loop)
        self._stack = AsyncExitStack()
        self.bench: Bench = self.wait(self._stack.enter_async_context(bench(load({}, "hookrunner").hooks)))
        return self

    def __exit__(self, *_: object) -> None:
        self.wait(self._stack.aclose())
        self._runner.close()

    def wait(self, work: Coroutine[Any, Any, T]) -> T:
        """The result of some work. What was wrong with the test's words is raised without our own story of it."""
        try:
            if not _inside_a_loop():
                return self._runner.run(work)
            with ThreadPoolExecutor(1) as thread:  # the test runs in a loop of its own, which must wait
                return thread.submit(self._runner.run, work).result()
        except BadConfig as error:
            raise error.with_traceback(None) from None


def _inside_a_loop() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


@dataclass(frozen=True, slots=True)
class Hooks:
    """Call it with the path of a hook, relative to the first of `directories` that has it."""

    tools: Tools
    directories: Sequence[Path]

    def __call__(self, path: str | Path, timeout: float = 30.0, kubeconfig: str | Path = "") -> "HookUnderTest":
        """The hook, asked for its configuration. `timeout` in seconds is the longest that a run may take; `kubeconfig`
        is for a hook that calls kubectl, which finds no cluster otherwise.

        Raises BadInput if there is no such file, BadHookConfig if the hook is no good.
        """
        file = next((directory / path for directory in self.directories if (directory / path).is_file()), None)
        if file is None:
            places = " or ".join(map(str, self.directories))
            raise BadInput(f"there is no hook {path} in {places}")
        settings = self.tools.bench.settings
        if kubeconfig:
            settings = replace(settings, environ=with_kubeconfig(settings.environ, str(kubeconfig)))
        tried = replace(self.tools.bench, timeout=timeout, settings=settings)
        return HookUnderTest(self.tools, tried, self.tools.wait(tried.load(file)), self.directories[-1])


@dataclass(frozen=True, slots=True)
class HookUnderTest:
    """A hook and what is given; each `on_…` lets something happen and returns what came of it."""

    tools: Tools
    bench: Bench
    hook: Hook
    directory: Path
    _given: Given = field(default_factory=Given)

    @property
    def config(self) -> JSON:
        """What the hook declares, every default written out."""
        return display.config_document(self.hook.config)

    def given(self, *objects: Object) -> "HookUnderTest":
        """The same hook in a cluster with these objects, too; every binding takes those that match."""
        return self._with(replace(self._given, objects=self._given.objects + self._objects(objects)))

    def with_snapshot(self, binding: str, *objects: Object) -> "HookUnderTest":
        """The same hook with these objects for one binding alone."""
        own = self._given.snapshots.get(binding, ()) + self._objects(objects)
        return self._with(replace(self._given, snapshots={**self._given.snapshots, binding: own}))

    def with_values(self, values: JSON, config_values: JSON = None) -> "HookUnderTest":
        """The same hook as one of a module with these values."""
        return self._with(replace(self._given, values=values, config_values=config_values))

    def on_startup(self) -> "Run":
        """hookrunner starts."""
        return self.on(Startup())

    def on_schedule(self, binding: str = "") -> "Run":
        """A schedule comes due, named by its name or its crontab."""
        return self.on(Tick(binding))

    def on_event(
        self, change: Literal["Added", "Modified", "Deleted"], obj: Object, old: Object | None = None, binding: str = ""
    ) -> "Run":
        """An object comes, changes or goes."""
        if change not in tuple(Change):
            raise BadInput(f"'{change}' is no event; it is Added, Modified or Deleted")
        return self.on(Changed(Change(change), self._object(obj), self._object(old), binding))

    def on_synchronization(self, binding: str = "") -> "Run":
        """The binding's objects have been listed for the first time."""
        return self.on(Synchronization(binding))

    def on_group(self, group: str) -> "Run":
        """Something happened to a binding of this group."""
        return self.on(Grouped(group))

    def on_review(
        self, operation: str, obj: Object, old: Object | None = None, binding: str = "", dry_run: bool = False
    ) -> "Run":
        """The API server asks whether an operation is allowed, or how to change the object."""
        return self.on(Review(operation.upper(), self._object(obj), self._object(old), binding, dry_run))

    def on_conversion(self, *objects: Object, to: str = "", binding: str = "") -> "Run":
        """The API server wants objects in another version."""
        return self.on(Conversion(self._objects(objects), to, binding))

    def _with(self, given: Given) -> "HookUnderTest":
        return replace(self, _given=given)

    def on(self, *happenings: Happening) -> "Run":
        """All of these (`hookrunner.testing.happenings`) in one run, combined as in a queue where they wait."""
        return Run(self.tools, self.tools.wait(self.bench.run(self.hook, self._given, *happenings)))

    def _objects(self, objects: Sequence[Object]) -> tuple[JSON, ...]:
        return tuple(self._object(obj) for obj in objects)

    def _object(self, obj: Object | None) -> JSON:
        """Raises BadInput."""
        if isinstance(obj, str | Path):
            return manifests.load_one(str(obj), self.directory)
        if obj is not None and (problem := manifests.complaint(obj)):
            raise BadInput(problem)
        return obj


class Run:
    """What came of it. A hook that would not run has `ran` False and says why in `reason`."""

    def __init__(self, tools: Tools, result: Result) -> None:
        self._tools = tools
        self.result = result
        self.ran = result.ran
        self.reason = result.reason
        self.failure = result.failure
        self.exit_code = result.exit_code
        self.contexts: JSON = result.contexts
        self.logs = list(result.logs)
        self.patches: list[JSON] = result.patches
        self.metrics: list[JSON] = list(result.metrics)
        self.conditions: list[JSON] = result.reported
        self.again_after = result.again_after
        self.verdict: JSON = result.verdict
        self.mutated: JSON = result.mutated
        self.values: JSON = result.values.after if result.values else None
        self.config_values: JSON = result.config_values.after if result.config_values else None

    @property
    def ok(self) -> bool:
        """Whether the hook ran, nothing failed, and the API refuses nothing that it asks for."""
        return self.result.ran and self.result.ok and not self.refusal

    @property
    def objects(self) -> list[JSON]:
        """The given objects with the hook's operations carried out, and new ones. Raises PatchFailed if the API refuses
        one."""
        if self.refusal:
            raise PatchFailed(self.refusal)
        return list(self._effects.objects)

    @property
    def refusal(self) -> str:
        """What the API says to operations that it refuses; then the run fails in a cluster. Empty if all are done."""
        return self._effects.refusal if self.patches else ""

    @cached_property
    def _effects(self) -> Effects:
        return self._tools.wait(self._tools.bench.effects(self.result))

    def __repr__(self) -> str:
        """For pytest's failure messages."""
        if not self.ran:
            return f"<would not run: {self.reason}>"
        return f"<exit {self.exit_code}{': ' * bool(self.failure)}{self.failure}, {len(self.patches)} patches>"
