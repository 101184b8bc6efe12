"""One run as functions see it, and functions with what their parameters name.

task = Task(run)                    # the Run of docs/hook-protocol.md
task.call(function, context, ...)   # each function that a context is for
task.answer()                       # its Answer
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from types import CodeType
from typing import Any

from .answers import After, Cancelled, Cluster, Conditions, Metrics, Values
from .config import nearest
from .subjects import Event, Log, Review, Snapshot

JSON = Any
Report = Callable[[str, Mapping[str, JSON]], bool]
"""Sends a message of a kind about a run; False if nothing takes it."""
_OWN = (Any, Event, Review, Mapping, dict, list, object)
"""What an object is not made to if a function names it."""
_RESULTS = "return After(seconds=30) to be run again, raise Deny to refuse a review, and return nothing otherwise"


def _report_nowhere(kind: str, body: Mapping[str, JSON]) -> bool:
    return False


class Task:
    """One run. `attempt` is 1 for the first one, `deadline` when it is given up (RFC 3339), both as far as they are
    known, as is the name of the `hook`. `recycle = True` lets a process that stays end after it. `cancelled` is why it
    should end soon: `deadline`, `fenced`, or `shutdown`, after which its answer still counts; empty while it need not.
    """

    def __init__(self, run: Mapping[str, JSON], report: Report = _report_nowhere) -> None:
        self.id: str = run.get("id", "")
        self.hook: str = run.get("hook", "")
        self.contexts: Sequence[Mapping[str, JSON]] = run["contexts"]
        self.attempt: int = run.get("attempt", 1)
        self.deadline: str = run.get("deadline", "")
        self.module: str = run.get("module", "")
        self.instance: JSON = run.get("instance")
        self.package_directory: str = run.get("packageDirectory", "")
        self.cluster, self.metrics, self.conditions, self.log = Cluster(), Metrics(), Conditions(), Log(report)
        self.values = Values(run.get("values") or {})
        self.config_values = Values(run.get("configValues") or {})
        self.recycle = False
        self.cancelled = ""
        self._is_interrupted = False
        self._cancel_coroutine: Callable[[], object] | None = None
        self.admission: JSON = None
        self.conversion: JSON = None
        self._again: list[float] = []
        self._report = report

    def progress(self, message: str) -> None:
        """Show how far the run has come in `hookrunner queue list`, if the process stays. Raises Cancelled if the run
        should end, and nothing has said so yet."""
        self.raise_if_cancelled()
        self._report("progress", {"message": message})

    def raise_if_cancelled(self) -> None:
        """Raise Cancelled, once, if nothing needs the answer any more."""
        if self.cancelled not in ("", "shutdown") and not self._is_interrupted:
            self._is_interrupted = True
            raise Cancelled(f"cancelled: {self.cancelled}")

    def interrupt(self) -> None:
        """Cancel the coroutine that is under way for it in another thread, as asyncio does, if there is one and nothing
        needs the answer any more."""
        if self._cancel_coroutine and self.cancelled != "shutdown":
            self._is_interrupted = True
            with suppress(RuntimeError):  # its loop has just ended
                self._cancel_coroutine()

    def run_coroutine(self, coroutine: Awaitable[JSON]) -> JSON:
        """Run it to its end. Raises Cancelled if the run was cancelled, and RuntimeError if it was cancelled by
        itself, which says nothing about the run."""
        import asyncio  # takes as long as all the rest, and few need it

        async def run() -> JSON:
            loop, task = asyncio.get_running_loop(), asyncio.current_task()
            assert task
            self._cancel_coroutine = lambda: loop.call_soon_threadsafe(task.cancel)
            self.raise_if_cancelled()
            return await coroutine

        try:
            return asyncio.run(run())
        except asyncio.CancelledError as error:
            if self._is_interrupted:
                raise Cancelled(f"cancelled: {self.cancelled}") from None
            raise RuntimeError("the function was cancelled, and not by hookrunner") from error
        finally:
            self._cancel_coroutine = None

    def note(self, result: JSON) -> None:
        """Take in what a function returned: the earliest of several wishes for another run counts. Raises TypeError for
        anything else, which would mean nothing to anyone."""
        if isinstance(result, After):
            self._again.append(result.seconds)
        elif result is not None:
            raise TypeError(f"a function of the hook returned a {type(result).__name__}; {_RESULTS}")

    def answer(self) -> dict[str, JSON]:
        """The Answer, of which empty parts are left out."""
        parts = {
            "operations": self.cluster.operations,
            "metrics": self.metrics.operations,
            "admission": self.admission,
            "conversion": self.conversion,
            "valuesPatch": self.values.patch,
            "configValuesPatch": self.config_values.patch,
            "conditions": self.conditions.reports,
            "runAgainAfterSeconds": min(self._again, default=None),
            "recycle": self.recycle or None,
        }
        return {key: part for key, part in parts.items() if part not in (None, [])}

    def part(self, name: str, context: Mapping[str, JSON], subject: JSON) -> JSON:
        """What a parameter of this name gets."""
        if name == "task":
            return self
        if name == "context":
            return context
        if name == "snapshots":
            return {key: Snapshot(entries) for key, entries in (context.get("snapshots") or {}).items()}
        if name == "event":
            return subject if isinstance(subject, Event) else Event(context, {})
        return getattr(self, name)


GIVEN = frozenset(
    {
        "cluster",
        "snapshots",
        "values",
        "config_values",
        "metrics",
        "log",
        "progress",
        "event",
        "context",
        "instance",
        "conditions",
        "task",
    }
)
"""The names of parameters that mean something by themselves."""


class Handler:
    """A function with what it gets. `subject` is the name of the parameter for what it is about, empty if it has
    none."""

    def __init__(self, function: Callable[..., Any], has_subject: bool) -> None:
        self.function = function
        names = _parameters(function)
        others = [name for name in names if name not in GIVEN]
        self.subject = others[0] if has_subject and others else ""
        self._names = names
        if unknown := [name for name in others if name != self.subject]:
            raise TypeError(f"{function.__name__}: nothing is called '{unknown[0]}'{nearest(unknown[0], GIVEN)}")
        self._convert = _converter(function, self.subject)

    def call(
        self,
        task: Task,
        context: Mapping[str, JSON],
        subject: JSON = None,
        obj: JSON = None,
        event: Event | None = None,
    ) -> JSON:
        """Call it: its subject is `obj` made to the type that it names, or `subject`."""
        given = {name: task.part(name, context, event or subject) for name in self._names if name != self.subject}
        if self.subject:
            given[self.subject] = subject if self._convert is None else obj and self._convert(obj)
        result = self.function(**given)
        if hasattr(result, "__await__"):
            result = task.run_coroutine(result)
        if isinstance(result, (int, float, str)):  # True and False, too
            raise TypeError(f"{self.function.__name__} returned {result!r:.40}; {_RESULTS}")
        return result


def code_of(function: Callable[..., Any]) -> CodeType:
    """What it was written as, also where a decorator stands around it."""
    code: CodeType = getattr(function, "__wrapped__", function).__code__
    return code


def _parameters(function: Callable[..., Any]) -> list[str]:
    """Their names. `inspect` would say more, and takes as long to import as all the rest."""
    code = code_of(function)
    return list(code.co_varnames[: code.co_argcount + code.co_kwonlyargcount])


def _converter(function: Callable[..., Any], parameter: str) -> Callable[[JSON], Any] | None:
    """What makes an object the type that the function names for it, None if it names none that is made of objects."""
    if parameter not in getattr(function, "__annotations__", ()):
        return None
    import typing  # only where a type is named

    hint = typing.get_type_hints(function)[parameter]
    parts = [one for one in typing.get_args(hint) if one is not type(None)]
    if len(parts) == 1 and type(None) in typing.get_args(hint):
        hint = parts[0]  # it may be None
    if hint in _OWN or typing.get_origin(hint) or not callable(hint):
        return None
    made_of: Callable[..., Any] = hint
    if hasattr(made_of, "model_validate"):
        return made_of.model_validate  # type: ignore[no-any-return]
    if fields := getattr(made_of, "__dataclass_fields__", None):
        return lambda obj: made_of(**{name: obj[name] for name in fields if name in obj})
    return made_of
