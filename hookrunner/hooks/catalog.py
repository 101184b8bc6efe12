"""All hooks and their configurations: runs each with `--config`, several at a time, and reads the answers."""

import asyncio
import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path

from hookrunner import log, safe_files
from hookrunner.errors import BadFilter, BadHookConfig, HookFailed, StartRefused
from hookrunner.hooks import discovery, python_path, writable
from hookrunner.hooks.discovery import HookFile
from hookrunner.jq.program import Jq
from hookrunner.model.bindings import Hook, fields_of, label_of
from hookrunner.model.modules import GLOBAL
from hookrunner.model.status import shortened
from hookrunner.model.units import Unit
from hookrunner.process.child import Command, Exit
from hookrunner.process.children import Children
from hookrunner.process.output import OutputStream
from hookrunner.process.python_script import is_python
from hookrunner.settings import HooksSettings
from kubetypes.light_dataclasses import dataclass

_KEPT = 16 << 20
"""Bytes of an answer that are kept; a longer one is an error."""
_AT_ONCE = 2 * (os.cpu_count() or 1) + 2

_log = log.get(__name__)


@dataclass(frozen=True, slots=True)
class Catalog:
    """The usable hooks in their order, and the problems of the others."""

    hooks: tuple[Hook, ...]
    problems: tuple[BadHookConfig, ...] = ()


class Silence:
    """Takes what is not to be logged: what a hook prints on `--config` is its answer."""

    def line(self, stream: OutputStream, text: str) -> None: ...

    def ended(self, stream: OutputStream) -> None: ...


async def load(settings: HooksSettings, children: Children, jq: Jq) -> Catalog:
    """Find the hooks, ask each for its configuration, and compile its filters.

    The default directory may be missing, and then has no hooks. Without any directory there are no hooks. Raises
    StartRefused if the hooks directory cannot be read, if every user may change what is in it (`writable.py`), or if a
    hook is bad and bad hooks are not skipped; then it names every problem of every hook.
    """
    directory = settings.directory
    if directory is None or (settings.optional and not safe_files.may_be_directory(directory)):
        return Catalog(())
    await asyncio.to_thread(writable.check, directory, settings)
    catalog = _usable(await ask(discovery.find(directory), settings, children, jq), settings)
    if settings.default and catalog.hooks:
        names = [hook.name for hook in catalog.hooks]
        _log.info("hooks of the default directory; --hooks-dir names another, or none", path=directory, hooks=names)
    return catalog


async def load_global(directory: Path, settings: HooksSettings, children: Children, jq: Jq) -> Catalog:
    """The same for the global hooks in a directory, which must exist."""
    await asyncio.to_thread(writable.check, directory, settings)
    return _usable(await ask(discovery.find_global(directory), settings, children, jq), settings, GLOBAL)


async def load_unit(unit: Unit, settings: HooksSettings, children: Children, jq: Jq) -> Catalog:
    """The hooks of a unit. Every problem is in the catalog."""
    try:
        files = discovery.find_in_module(unit.name, unit.directory)
    except BadHookConfig as error:
        return Catalog((), (error,))
    return await ask((replace(file, of_addon=bool(unit.hooks_of)) for file in files), settings, children, jq)


def _usable(catalog: Catalog, settings: HooksSettings, module: str = "") -> Catalog:
    if catalog.problems and settings.on_bad == "stop":
        raise StartRefused(
            "\n".join(map(str, catalog.problems)) + "\nFix them, or leave them out with --on-bad-hook skip."
        )
    for problem in catalog.problems:
        _log.error("hook is left out", **fields_of(label_of(problem.hook, module), module), error=problem)
    return catalog


async def ask(files: Iterable[HookFile], settings: HooksSettings, children: Children, jq: Jq) -> Catalog:
    """The same for files that have been found. Every problem is in the catalog."""
    turns = asyncio.Semaphore(_AT_ONCE)

    async def try_load(file: HookFile) -> Hook | BadHookConfig:
        async with turns:
            try:
                return await _hook(file, settings, children)
            except BadHookConfig as error:
                return error

    checked = await _compile(await asyncio.gather(*map(try_load, files)), jq)
    problems = tuple(result for result in checked if isinstance(result, BadHookConfig))
    return Catalog(tuple(result for result in checked if isinstance(result, Hook)), problems)


async def _hook(file: HookFile, settings: HooksSettings, children: Children) -> Hook:
    """Ask one hook. Raises BadHookConfig."""
    file = python_path.with_sdk(file, settings.environ)
    command = Command(
        argv=(*file.prefix, str(file.path), "--config"),
        # Those of modules where the program is, as in addon-operator.
        cwd=Path() if file.module else settings.directory or Path(),
        env={**settings.environ, **file.environ},
        timeout=settings.config_timeout or None,
        keep_stdout=2 * _KEPT,
        fork=python_path.fork_terms(settings),
    )
    try:
        end = await children.run(command, Silence())
    except HookFailed as error:
        raise BadHookConfig(file.name, [f"cannot get config for hook '{file.path}': {error}"]) from error
    printed, answer = [*_quote_output(end)], _excerpt(end.stdout)
    if problem := _failure(end):
        raise BadHookConfig(file.name, [f"cannot get config for hook '{file.path}': {problem}"], printed, answer)
    # 2 MB, YAML among them, which a start without hooks need not pay.
    from hookrunner.hooks.config import hook_config, rules
    from hookrunner.hooks.config.schema import HookKind

    try:
        config = hook_config.parse(file.name, end.stdout, HookKind.of(file.module, file.of_addon))
    except BadHookConfig as error:
        raise BadHookConfig(file.name, error.problems, printed, answer, error.values) from None
    hook = Hook(file.name, file.path, config, file.module, file.prefix, file.environ, is_python(command), file.of_addon)
    if problems := [*rules.misnamed_webhooks(config, hook.unit)]:
        raise BadHookConfig(file.name, problems)
    return hook


def _failure(end: Exit) -> str:
    if end.timed_out:
        return f"{end}; on --config a hook must print its configuration and end (see --config-timeout)"
    if not end.ok:
        return str(end)
    return f"it printed more than {_KEPT >> 20} MiB" if len(end.stdout) > _KEPT else ""


def _quote_output(end: Exit) -> Iterator[str]:
    """What the hook printed, for its author. Its answer is not quoted: it may be anything, if it is wrong."""
    shown = "; `hookrunner hook lint` shows it" if end.stdout.strip() else ""
    yield f"hook --config output: {f'{len(end.stdout):,} bytes{shown}' if shown else 'nothing'}"
    if end.stderr:
        yield f"hook --config error output: {_excerpt(end.stderr)}"


def _excerpt(text: bytes) -> str:
    shown = text.decode(errors="replace").strip()
    return shown if len(shown) <= 2000 else f"{shortened(shown, 2000)} ({len(text)} bytes)"


async def _compile(results: Sequence[Hook | BadHookConfig], jq: Jq) -> list[Hook | BadHookConfig]:
    """Compile each distinct filter once, all together; a hook with a bad one becomes a problem."""
    hooks = [result for result in results if isinstance(result, Hook)]
    programs = {binding.jq_filter for binding in chain.from_iterable(hook.config.kubernetes for hook in hooks)} - {""}
    reasons = dict(zip(programs, await asyncio.gather(*(_reason(program, jq) for program in programs)), strict=True))
    return [_with_checked_filters(result, reasons) if isinstance(result, Hook) else result for result in results]


async def _reason(program: str, jq: Jq) -> str:
    try:
        await jq.compile(program)
    except BadFilter as error:
        return str(error)
    return ""


def _with_checked_filters(hook: Hook, reasons: dict[str, str]) -> Hook | BadHookConfig:
    problems = [
        f"invalid kubernetes config [{index}] jqFilter: compile jqFilter: {reasons[binding.jq_filter]}"
        for index, binding in enumerate(hook.config.kubernetes)
        if reasons.get(binding.jq_filter)
    ]
    return BadHookConfig(hook.name, problems) if problems else hook
