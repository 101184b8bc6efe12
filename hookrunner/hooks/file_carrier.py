"""The carrier of every executable: write the files of a run, start a process, read the files of its answer. All of them
are read and checked before anything of the answer is carried out, which is the engine's job."""

import asyncio
import os
from collections.abc import Callable
from contextlib import suppress
from typing import Protocol

import orjson

from hookrunner import log
from hookrunner.errors import BadOutput, HookFailed
from hookrunner.hooks import condition_reports, metric_operations, patches, repetitions, verdicts
from hookrunner.hooks.python_path import fork_terms
from hookrunner.hooks.workspace import Workspace, remove, workspace, write_context, write_values
from hookrunner.hooks.workspace import read as read_file
from hookrunner.model.bindings import Hook
from hookrunner.model.hook_runs import ExitedBadly, Run, RunResult, Values
from hookrunner.model.operations import Answer, ObjectOperation, Usage, ValuesOperation
from hookrunner.model.reviews import Converted
from hookrunner.process.child import Command, Exit
from hookrunner.process.output import LineSink
from hookrunner.settings import HooksSettings

_MANY_BYTES = 64 * 1024
"""From here on writing or reading takes more than a few milliseconds and is done in a thread, so that other hooks go
on."""

_NO_MODULE = "module"
"""Stands in names of files for the module of a hook that is in none and is given values."""

_KEPT_STDERR = 8 * 1024
"""Bytes of standard error that stand in a failure's text, which queue dumps show too. The log has every line."""

_log = log.get(__name__)


class ProcessRunner(Protocol):
    """Runs one command to its end, as `Children` does."""

    async def run(self, command: Command, sink: LineSink) -> Exit: ...


class FileCarrier:
    """Gives a hook its run as files, whose paths are in its environment, and reads its answer from files. `processes`
    start its process, `end` is what becomes of the files."""

    def __init__(
        self, settings: HooksSettings, processes: ProcessRunner, end: Callable[[Workspace], object] = remove
    ) -> None:
        self._settings = settings
        self._directory = settings.run_directory or settings.tmp_dir
        self._processes = processes
        self._end = end

    async def carry(self, run: Run, sink: LineSink) -> RunResult:
        """As `Carrier.carry`."""
        hook, values = run.hook, run.values
        module, name = (hook.module or _NO_MODULE, hook.label) if values else ("", hook.name)
        with workspace(self._directory, name, self._end, module, values.instance if values else None) as files:
            await write_contexts(files, run)
            if values:
                await _write_values(files, values)
            end = await self._processes.run(command(self._settings, run, files), sink)
            answer = await collect_answer(run, files, end)
        return RunResult(answer, Usage(end.seconds, end.user_seconds, end.system_seconds, end.max_rss_bytes))


def command(settings: HooksSettings, run: Run, files: Workspace) -> Command:
    """The hook without arguments."""
    hook = run.hook
    return Command(
        argv=(*hook.prefix, str(hook.path)),
        cwd=hook.directory,
        env=files.environment({**settings.environ, **hook.environ}),
        fork=fork_terms(settings, files.environment({})) if hook.is_python and hook.config.settings.fork else None,
        timeout=run.timeout,
        keep_stderr=_KEPT_STDERR,
        kill_after=run.options.kill_after,
    )


async def write_contexts(files: Workspace, run: Run) -> None:
    """Write the binding context in the format of the hook's configVersion. Raises HookFailed."""
    try:
        if run.is_large:
            await asyncio.to_thread(write_context, files, run.rendered_contexts())
        else:
            write_context(files, run.rendered_contexts())
    except orjson.JSONEncodeError as error:  # a review whose objects nest deeper than orjson writes (254 levels)
        raise HookFailed(f"the binding context cannot be written: {error}") from error


async def _write_values(files: Workspace, values: Values) -> None:
    if len(values.config) + len(values.values) > _MANY_BYTES:
        await asyncio.to_thread(write_values, files, values)
    else:
        write_values(files, values)


async def collect_answer(run: Run, files: Workspace, end: Exit) -> Answer:
    """Read what the hook asks for, after its process has ended. Raises ExitedBadly or BadOutput."""
    if not end.ok:
        operations = () if run.refuses_patches else _despite(files)
        raise ExitedBadly(files.with_variables(_reason(run.hook, end)), operations, str(end), end.code)
    many = output_size(files) > _MANY_BYTES
    try:
        converted = await _read_large_conversion(files)
        answer = await asyncio.to_thread(read_answer, files, converted) if many else read_answer(files)
    except BadOutput as error:
        raise BadOutput(files.with_variables(str(error))) from None
    run.require_permitted(answer)
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
        again_after=repetitions.parse(read_file(files.again)) if os.path.exists(files.again) else None,
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
    return [operation for operation in patches.parse(read_file(files.patch)) if operation.survives_failure]
