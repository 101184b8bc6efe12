"""Asks a module's `enabled` script whether the module should be on (see docs/modules.md).

The script runs without arguments in our own working directory. It reads two files, `VALUES_PATH` and
`CONFIG_VALUES_PATH`, writes `true` or `false` into `MODULE_ENABLED_RESULT`, and may write a reason into
`MODULE_ENABLED_REASON`. Its output is logged like that of a hook. `enabled.py` decides when it is asked, and what
follows from its answer."""

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from uuid import uuid4

import orjson

from hookrunner import log, redaction
from hookrunner.claimed_directories import reuse
from hookrunner.errors import HookFailed, ScriptFailed
from hookrunner.hooks.python_path import fork_terms
from hookrunner.hooks.workspace import safe_name
from hookrunner.metrics.names import Metrics
from hookrunner.model.bindings import MAIN
from hookrunner.model.modules import GLOBAL, Module
from hookrunner.model.operations import Usage
from hookrunner.modules.enabled import Asks, ScriptAnswer, ScriptValues
from hookrunner.process.child import Command, Exit
from hookrunner.process.children import Children
from hookrunner.process.output import HookLog
from hookrunner.safe_files import create_file, open_existing, open_without_waiting
from hookrunner.settings import HooksSettings
from kubetypes.light_dataclasses import dataclass

_LONGEST = 1024
"""Characters that are read of what a script wrote."""


class MeteredScripts:
    """Scripts whose runs are measured among those of their module's hooks, under the name `enabled`. `activation` says
    what caused the converge that asks. A script that fails counts in `modules_discover_errors_total`, as under
    addon-operator."""

    def __init__(self, scripts: Asks, metrics: Metrics, activation: Callable[[], str]) -> None:
        self._scripts = scripts
        self._metrics = metrics
        self._activation = activation

    async def ask(self, module: Module, documents: ScriptValues, enabled: Sequence[str]) -> ScriptAnswer:
        """The script's answer. Raises ScriptFailed."""
        runs, labels = self._metrics.module_hook_runs, (module.name, "enabled", "enabled", MAIN, self._activation())
        answer = await self._scripts.ask(module, documents, enabled)
        if usage := answer.usage:
            runs.seconds.observe(usage.seconds, *labels)
            runs.user_cpu.observe(usage.user_seconds, *labels)
            runs.system_cpu.observe(usage.system_seconds, *labels)
            runs.max_rss.set(usage.max_rss_bytes, *labels)
        return answer


class Scripts:
    """Runs scripts with the settings that all of them share. `timeout` is seconds, 0 for no limit."""

    def __init__(self, settings: HooksSettings, children: Children, timeout: float) -> None:
        self._settings = settings
        self._children = children
        self._timeout = timeout or None

    async def ask(self, module: Module, documents: ScriptValues, enabled: Sequence[str]) -> ScriptAnswer:
        """Run the script of a module that has one. `enabled` are the names of the modules before it that are on:
        `global.enabledModules` in its values. Raises ScriptFailed if it fails, hangs, or answers neither `true` nor
        `false`."""
        with log.bound(module=module.name, hook="enabled", binding="enabled"):
            try:
                with _workspace(self._settings, module.name) as files:
                    files.write(documents, enabled)
                    own = files.environment()
                    environ, fork = {**self._settings.environ, **own}, fork_terms(self._settings, own)
                    command = Command((str(module.script),), Path(), environ, timeout=self._timeout, fork=fork)
                    end = await self._children.run(command, HookLog(self._settings.proxy_json))
                    return files.answer(module, end)
            except HookFailed as error:
                raise ScriptFailed(f"the enabled script of {module.name} was not run: {error}") from None
            except orjson.JSONEncodeError as error:  # nested deeper than orjson writes (254 levels)
                raise ScriptFailed(f"the values of {module.name} cannot be written for its script: {error}") from None
            except OSError as error:
                raise ScriptFailed(
                    f"the enabled script of {module.name} was not run: {error.strerror}; free space "
                    f"in {self._settings.tmp_dir}, or set --tmp-dir"
                ) from None


@dataclass(frozen=True, slots=True)
class _Files:
    """Paths of the files of one run."""

    config: Path
    values: Path
    result: Path
    reason: Path

    def environment(self) -> dict[str, str]:
        return {
            "CONFIG_VALUES_PATH": str(self.config),
            "VALUES_PATH": str(self.values),
            "MODULE_ENABLED_RESULT": str(self.result),
            "MODULE_ENABLED_REASON": str(self.reason),
        }

    def write(self, documents: ScriptValues, enabled: Sequence[str]) -> None:
        """Only our own user may read the files: values may hold passwords."""
        _write(self.config, orjson.dumps(documents.config))
        shared = {**(documents.values.get(GLOBAL) or {}), "enabledModules": list(enabled)}
        _write(self.values, orjson.dumps({**documents.values, GLOBAL: shared}))

    def answer(self, module: Module, end: Exit) -> ScriptAnswer:
        if not end.ok:
            raise ScriptFailed(f"{module.script}: {end}; what it printed is in the log, under hook=enabled")
        result = _read(self.result).strip()
        if result not in ("true", "false"):
            raise ScriptFailed(
                f"{module.script}: bad enabled result: {redaction.described(result)}; "
                "write true or false into $MODULE_ENABLED_RESULT"
            )
        usage = Usage(end.seconds, end.user_seconds, end.system_seconds, end.max_rss_bytes)
        return ScriptAnswer(result == "true", _read(self.reason).strip(), usage)


@contextmanager
def _workspace(settings: HooksSettings, name: str) -> Iterator[_Files]:
    """Create the files, all empty; they are deleted when the run is over. Raises OSError."""
    run, directory = uuid4(), settings.run_directory or settings.tmp_dir
    prefix = directory / safe_name(name)
    files = _Files(
        config=Path(f"{prefix}.module-config-values-{run}.json"),
        values=Path(f"{prefix}.module-values-{run}.json"),
        result=Path(f"{prefix}.module-enabled-result-{run}"),
        reason=Path(f"{prefix}.module-enabled-reason-{run}"),
    )
    paths = (files.config, files.values, files.result, files.reason)
    reuse(directory)
    try:
        for path in paths:
            os.close(create_file(path))
        yield files
    finally:
        for path in () if settings.keep_tmp_files else paths:
            with suppress(OSError):  # the script may have removed it
                os.unlink(path)


def _write(path: Path, data: bytes) -> None:
    with open(open_existing(path), "wb") as file:
        file.write(data)


def _read(path: Path) -> str:
    """What the script wrote; empty if it removed the file, or replaced it by a FIFO, which is not waited for."""
    try:
        with open(path, encoding="utf-8", errors="replace", opener=open_without_waiting) as file:
            return file.read(_LONGEST)
    except OSError:
        return ""
