"""One run of a hook: write its files, start its process, read its answer. All files of the answer are read and checked
before anything of it is carried out, which is the engine's job."""

import asyncio
import os
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

import orjson

from hookrunner import log
from hookrunner.errors import BadOutput, HookFailed
from hookrunner.hooks import condition_reports, metric_operations, patches, verdicts
from hookrunner.hooks.workspace import Values, Workspace, keep, make_remover, workspace, write_context, write_values
from hookrunner.hooks.workspace import read as read_file
from hookrunner.model.bindings import Hook
from hookrunner.model.contexts import Context, ContextType, Snapshots, render, render_v0
from hookrunner.model.operations import Answer, ObjectOperation, Usage, ValuesOperation
from hookrunner.model.reviews import Converted
from hookrunner.process.child import Command, Exit
from hookrunner.process.children import Children
from hookrunner.process.output import HookLog
from hookrunner.settings import HooksSettings

_MANY_OBJECTS, _MANY_BYTES = 1000, 64 * 1024
"""From here on writing or reading takes more than a few milliseconds and is done in a thread, so that other hooks go
on."""

_KEPT_STDERR = 8 * 1024
"""Bytes of standard error that stand in a failure's text, which queue dumps show too. The log has every line."""

_REVIEWS = (ContextType.VALIDATING, ContextType.MUTATING, ContextType.CONVERSION)

_log = log.get(__name__)


@dataclass(frozen=True, slots=True)
class RunResult:
    """A run that ended well."""

    answer: Answer
    usage: Usage


@dataclass(frozen=True, slots=True)
class RunOptions:
    """How to run a hook. `kill_after`: seconds from SIGTERM to SIGKILL, None for those of all processes. `dry_run`:
    carry out nothing of the answer."""

    kill_after: float | None = None
    dry_run: bool = False


DEFAULT_OPTIONS = RunOptions()


class ExitedBadly(HookFailed):
    """The process failed. `operations` are those that it marked with `ignoreHookError`; `how` says how it
    ended, without anything that it has printed."""

    def __init__(self, message: str, operations: tuple[ObjectOperation, ...], how: str) -> None:
        self.operations = operations
        self.how = how
        super().__init__(message)


class HookProcesses:
    """Runs hooks with the settings that all of them share."""

    def __init__(self, settings: HooksSettings, children: Children) -> None:
        self._settings = settings
        self._directory = settings.run_directory or settings.tmp_dir
        self._children = children
        self._end = keep if settings.keep_tmp_files else make_remover()

    async def run(
        self,
        hook: Hook,
        contexts: Sequence[Context],
        snapshots: Snapshots,
        options: RunOptions = DEFAULT_OPTIONS,
        values: Values | None = None,
    ) -> RunResult:
        """Run the hook once with these contexts and read what it answered. Its output goes to the log. `values` are
        for a hook that has a module.

        Raises ExitedBadly if the process failed, BadOutput if its answer cannot be read, HookFailed if it could not
        even be started.
        """
        module, name = (hook.module, hook.label) if values else ("", hook.name)
        with workspace(self._directory, name, self._end, module, values.instance if values else None) as files:
            await write_contexts(files, hook, contexts, snapshots)
            if values:
                await _write_values(files, values)
            process = replace(command(self._settings, hook, files), kill_after=options.kill_after)
            end = await self._children.run(process, HookLog(self._settings.proxy_json))
            answer = await collect_answer(hook, files, end, refuses_patches(hook, contexts))
        return RunResult(answer, Usage(end.seconds, end.user_seconds, end.system_seconds, end.max_rss_bytes))


def command(settings: HooksSettings, hook: Hook, files: Workspace) -> Command:
    """The hook without arguments. Its working directory is its own directory; for a global hook and one of a module,
    the directory where the program runs."""
    return Command(
        argv=(*hook.prefix, str(hook.path)),
        cwd=Path() if hook.module else hook.path.parent,
        env=files.environment({**settings.environ, **hook.environ}),
        timeout=hook.config.settings.timeout,
        keep_stderr=_KEPT_STDERR,
    )


def render_contexts(hook: Hook, contexts: Sequence[Context], snapshots: Snapshots) -> Iterable[bytes]:
    """The binding context in the format of the hook's configVersion."""
    return render_v0(contexts) if hook.config.version == "v0" else render(contexts, snapshots)


async def write_contexts(files: Workspace, hook: Hook, contexts: Sequence[Context], snapshots: Snapshots) -> None:
    """Write the binding context in the format of the hook's configVersion. Raises HookFailed."""
    pieces = render_contexts(hook, contexts, snapshots)
    try:
        converted = sum(len(context.objects.text) for context in contexts)
        if sum(map(len, snapshots.values())) > _MANY_OBJECTS or converted > _MANY_BYTES:
            await asyncio.to_thread(write_context, files, pieces)
        else:
            write_context(files, pieces)
    except orjson.JSONEncodeError as error:  # a review whose objects nest deeper than orjson writes (254 levels)
        raise HookFailed(f"the binding context cannot be written: {error}") from error


async def _write_values(files: Workspace, values: Values) -> None:
    if len(values.config) + len(values.values) > _MANY_BYTES:
        await asyncio.to_thread(write_values, files, values)
    else:
        write_values(files, values)


def refuses_patches(hook: Hook, contexts: Sequence[Context]) -> bool:
    """Whether the hook may change nothing in a run with these contexts: a review may be forged by any client that
    reaches the webhook port, and changes are made with our own rights."""
    reviewed = any(context.type in _REVIEWS for context in contexts)
    return reviewed and hook.config.settings.on_review_patches == "refuse"


def refuse(patches: Iterable[object]) -> None:
    """Raise BadOutput if there are any, of objects or of values, in a run that may change nothing."""
    if count := len(list(patches)):
        raise BadOutput(
            f"the hook asked for {count} changes in a review, which its settings.onReviewPatches refuses: nothing was "
            "changed; make changes in another binding, or take that setting away"
        )


async def collect_answer(hook: Hook, files: Workspace, end: Exit, refusing: bool = False) -> Answer:
    """Read what the hook asks for, after its process has ended; `refusing`: it must not ask for changes.

    Raises ExitedBadly or BadOutput.
    """
    if not end.ok:
        raise ExitedBadly(files.with_variables(_reason(hook, end)), () if refusing else _despite(files), str(end))
    many = output_size(files) > _MANY_BYTES
    try:
        converted = await _read_large_conversion(files)
        answer = await asyncio.to_thread(read_answer, files, converted) if many else read_answer(files)
    except BadOutput as error:
        raise BadOutput(files.with_variables(str(error))) from None
    if refusing:
        refuse((*answer.objects, *answer.config, *answer.values))
    return answer


async def _read_large_conversion(files: Workspace) -> Converted | None:
    """The content of a conversion's file if it is large: a thread would not do, since a parser lets no other one run.
    None if it is not large. Raises BadOutput."""
    if file_size(files.conversion) <= verdicts.CONVERSION_BOUNDS.in_place:
        return None
    return await verdicts.read_conversion(await asyncio.to_thread(read_file, files.conversion))


def _reason(hook: Hook, end: Exit) -> str:
    """Standard error is what the hook has to say; how it ended is added where that says more than a status."""
    stderr = end.stderr.decode(errors="replace").strip()
    words = [str(end)] if end.code is None or end.timed_out or not stderr else []
    return f"{hook.name} FAILED: " + ": ".join([*words, *([stderr] if stderr else [])])


def _despite(files: Workspace) -> tuple[ObjectOperation, ...]:
    """Operations of a failed hook to carry out nevertheless. A half-written file holds none."""
    try:
        return tuple(read_despite_failure(files))
    except BadOutput as error:
        _log.warn("the failed hook's patch file is ignored", error=error)
        return ()


def read_answer(files: Workspace, converted: Converted | None = None) -> Answer:
    """The answer of a run that ended well; `converted` is the content of its conversion's file, if that is known.
    Raises BadOutput naming the file, the document and the fix."""
    values, instance = files.values, files.instance
    return Answer(
        config=_read_value_patch(values.config_patch, "CONFIG_VALUES_JSON_PATCH_PATH") if values else (),
        values=_read_value_patch(values.values_patch, "VALUES_JSON_PATCH_PATH") if values else (),
        metrics=metric_operations.parse(text) if (text := read_file(files.metrics)) else (),
        admission=verdicts.admission(text) if (text := read_file(files.admission)) else None,
        conversion=converted or (verdicts.conversion(text) if (text := read_file(files.conversion)) else None),
        objects=patches.parse(text) if (text := read_file(files.patch)) else (),
        conditions=condition_reports.parse(read_file(instance.conditions)) if instance else None,
    )


def output_size(files: Workspace) -> int:
    """Bytes in the files of the answer; a missing file counts as empty."""
    return sum(map(file_size, files.answers))


def file_size(path: str) -> int:
    """Bytes of a file; 0 for a missing one."""
    with suppress(OSError):
        return os.stat(path).st_size
    return 0


def _read_value_patch(path: str, variable: str) -> tuple[ValuesOperation, ...]:
    """Raises BadOutput."""
    try:
        return patches.parse_values_patch(text) if (text := read_file(path)) else ()
    except BadOutput as error:
        raise BadOutput(f"{variable}: {error}") from None


def read_despite_failure(files: Workspace) -> list[ObjectOperation]:
    """The status patches marked `ignoreHookError`, to carry out although the hook failed. Raises BadOutput."""
    operations = patches.parse(read_file(files.patch))
    return [operation for operation in operations if operation.ignore_hook_error and operation.subresource == "status"]
