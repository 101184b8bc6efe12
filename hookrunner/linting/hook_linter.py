"""Lints files and directories of hooks.

The hooks are found and asked by the code of the start (`hooks.discovery`, `hooks.catalog`), so an error here is one
there; whether they belong to a module follows from their location (`hooks/discovery.py`). The texts of those
that can be asked, and of those that cannot, are then read by the checks beside this file.
"""

import asyncio
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path

from hookrunner import safe_files
from hookrunner.errors import BadHookConfig
from hookrunner.hooks import catalog, discovery
from hookrunner.hooks.discovery import HookFile, Skip, Skipped, why_no_hook
from hookrunner.jq.program import Jq
from hookrunner.kube.cluster_lookup import without_cluster
from hookrunner.linting.binding_checks import check_bindings, check_filters, check_handlers, check_permissions
from hookrunner.linting.context_checks import check_contexts
from hookrunner.linting.file_checks import check_file, check_keys, check_skipped, check_writers
from hookrunner.linting.findings import Finding, Remark, without_ignored
from hookrunner.linting.hook_source import Source
from hookrunner.linting.served_kinds import check_kinds
from hookrunner.linting.webhook_checks import check_config_patches, check_webhooks
from hookrunner.model.bindings import Hook, HookConfig
from hookrunner.model.status import shortened
from hookrunner.process.children import Children
from hookrunner.settings import HooksSettings
from kubetypes.light_dataclasses import dataclass

_HEAD = 8192
_PLACE = re.compile(r"[\w./-]+(?:\[\d+]\.[\w./-]+)*(?:\[\d+])?")
_ASKING = re.compile(r"^cannot get config for hook '.*?': ")
_FRAMEWORK_IS_ELSEWHERE = 'the framework is at /shell_lib.sh in the image only; write source "$(hookrunner shell-lib)"'
_QUOTED = re.compile(r"'([^']{2,})'")
_SERVES = re.compile(r"--resident|hook::serve")
_LAST_KEY = re.compile(r"([\w/-]+)(?:\[\d+])?$")


@dataclass(frozen=True, slots=True)
class Linted:
    """The number of hooks that were linted, and the findings in the order of paths and lines."""

    hooks: int
    findings: tuple[Finding, ...]


@dataclass(frozen=True, slots=True)
class Linter:
    """Lints files and directories. `now` is where next runs are counted from; `is_strict`: hooks have to state their
    rights."""

    settings: HooksSettings
    children: Children
    jq: Jq
    now: datetime
    is_strict: bool = False

    async def lint_below(self, directories: Sequence[Path], findings: Iterable[Finding]) -> Linted:
        """Check the hooks in `hooks/` of modules or addons, and who may write to these directories; what else was found
        in them is put beside."""
        writable = await asyncio.to_thread(lambda: [finding for path in directories for finding in check_writers(path)])
        linted = await self.lint([path / "hooks" for path in directories if (path / "hooks").is_dir()])
        return Linted(linted.hooks, tuple(sorted({*findings, *writable, *linted.findings})))

    async def lint(self, paths: Sequence[Path]) -> Linted:
        """Look at each path, a hook or a directory of hooks. Raises StartRefused for an unreadable directory."""
        results = await asyncio.gather(*(self._lint_path(path) for path in dict.fromkeys(paths)))
        await self.children.interpreters.stop()
        findings = sorted({finding for linted in results for finding in linted.findings})
        return Linted(sum(linted.hooks for linted in results), tuple(findings))

    async def _lint_path(self, path: Path) -> Linted:
        """A single file is run as if its own directory were the hooks directory."""
        top = path.absolute()
        if top.is_dir():
            found = discovery.survey_by_location(top)
        else:
            found, top = [_single(top)], top.parent
        shown = {
            one.path: str(path if one.path == path.absolute() else path / one.path.relative_to(top)) for one in found
        }
        hooks = [one for one in found if isinstance(one, HookFile)]
        alone = replace(self.settings, directory=top, environ=without_cluster(self.settings.environ))
        asked = await catalog.ask(hooks, alone, self.children, self.jq)
        loaded = {hook.name: hook for hook in asked.hooks}
        problems = {problem.hook: problem for problem in asked.problems}
        by_hook = await asyncio.gather(
            *(self._lint_hook(shown[one.path], one, loaded.get(one.name), problems.get(one.name)) for one in hooks)
        )
        open_to_all = await asyncio.to_thread(lambda: list(check_writers(path)))
        findings = [*(finding for of_hook in by_hook for finding in of_hook), *_skipped(found, shown), *open_to_all]
        return Linted(len(hooks), tuple(findings))

    async def _lint_hook(
        self, shown: str, file: HookFile, hook: Hook | None, problem: BadHookConfig | None
    ) -> list[Finding]:
        source = _read(file.path)
        if source is None:
            return [
                Finding(shown, 1, 1, "refused", str(problem or f"'{file.path}' cannot be read; chmod +r {file.path}"))
            ]
        remarks = [*check_file(source), *check_keys(source), *(_refused(source, problem) if problem else ())]
        if hook:
            remarks += await self._check_declarations(source, hook.config)
            remarks += await self._check_resident(source, hook)
            remarks += self._describe_carrier(hook)
            remarks += check_config_patches(source) if hook.of_addon else ()
        return _placed(shown, source, remarks)

    def _describe_carrier(self, hook: Hook) -> Iterator[Remark]:
        """How a Python hook is run, and why so."""
        report, settings = self.children.interpreters.reports.get(str(hook.path), ""), hook.config.settings
        if report and settings.resident:
            report = "in a process that stays: its `settings` have `resident`"
        elif report and not settings.fork:
            report = "a process of its own: its `settings` have `fork: false`"
        if report:
            yield Remark("carrier", 0, f"each run is {report}")

    async def _check_declarations(self, source: Source, config: HookConfig) -> list[Remark]:
        return [
            *check_contexts(source, config),
            *check_handlers(source, config),
            *check_webhooks(source, config),
            *check_bindings(source, config, self.now),
            *check_kinds(source, config),
            *(check_permissions(source, config) if self.is_strict else ()),
            *await check_filters(source, config, self.jq),
        ]

    async def _check_resident(self, source: Source, hook: Hook) -> list[Remark]:
        """What is wrong with how a resident hook says hello and ends. No run is played: it might change something."""
        if hook.config.settings.resident is None:
            return []
        # Lint of other hooks need not pay for the import.
        from hookrunner.hooks.resident.line_carrier import find_problem

        alone = replace(self.settings, environ=without_cluster(self.settings.environ))
        problem = await find_problem(alone, hook, self.children, catalog.Silence())
        advice = "" if _SERVES.search(source.text) else "; the file does nothing about the argument --resident"
        text = f"{problem}{advice}; see docs/hook-protocol.md"
        return [Remark("resident", max(source.text.find("resident"), 0), text)] if problem else []


def _single(path: Path) -> HookFile | Skipped:
    """A file that was named is meant to be a hook, wherever it lies."""
    if why := why_no_hook(path, path.stat().st_mode):
        return Skipped(path, why)
    return discovery.with_location(HookFile(path.name, path))


def _read(path: Path) -> Source | None:
    """The content of a file; of a compiled program, which may be large, only the beginning."""
    try:
        with safe_files.open_regular(path) as file:
            head = Source(path, file.read(_HEAD))
            return head if head.binary else Source(path, head.raw + file.read())
    except OSError:
        return None


def _skipped(files: Sequence[HookFile | Skipped], shown: Mapping[Path, str]) -> Iterator[Finding]:
    """Remarks on files that the start skips. A file that another one names is its library and needs no execute bit."""
    texts = {file.path: source.code for file in files if (source := _read(file.path))}
    for file in files:
        named = any(file.path.name in text for path, text in texts.items() if path != file.path)
        if named and not (isinstance(file, Skipped) and file.why is Skip.COMPILED):
            continue
        if isinstance(file, Skipped) and file.why is Skip.LINK:
            yield Finding(shown[file.path], 1, 1, "not-found", f"{file.why.value}")
        elif isinstance(file, Skipped) and (source := _read(file.path)):
            yield from _placed(shown[file.path], source, [*check_skipped(source, file)])


def _refused(source: Source, problem: BadHookConfig) -> Iterator[Remark]:
    """Every problem in the place that it names, if the text shows it; what the hook said, if it could not answer."""
    for text, value in zip(problem.problems, problem.values, strict=True):
        what = _ASKING.sub("it cannot be asked: ", text)
        details = [_excerpt(line) for line in _said(problem)] if what != text else []
        found = [f"found '{value}'"] if value not in (None, "") else []
        mend = [_FRAMEWORK_IS_ELSEWHERE] if "shell_lib.sh: No such file" in "".join(details) else []
        yield Remark("refused", _named(source, text, str(value or "")), "; ".join([what, *found, *details, *mend]))


def _said(problem: BadHookConfig) -> list[str]:
    """What the hook printed, its answer too: it is the author's own."""
    answer = [f"hook --config output: {problem.answer}"] if problem.answer else []
    return [*answer, *problem.printed[1:]]


def _excerpt(line: str) -> str:
    return shortened(" ".join(line.split()), 400)


def _named(source: Source, problem: str, value: str) -> int:
    """Where the last key of a problem's path is, if it is in the text just once, or else the value that is wrong or
    what the problem quotes; else where the text begins."""
    path = _PLACE.match(problem)
    for key in reversed([match[1] for match in _LAST_KEY.finditer(path[0])] if path else []):
        places = [match.start(1) for match in re.finditer(rf"[\s{{,\"']({re.escape(key)})[\"']?\s*:", source.text)]
        if len(places) == 1:
            return places[0]
    quoted = [text for text in (value, *_QUOTED.findall(problem)) if text and source.text.count(text) == 1]
    return source.text.find(quoted[0]) if quoted else 0


def _placed(shown: str, source: Source, remarks: Sequence[Remark]) -> list[Finding]:
    findings = [Finding(shown, *source.place(remark.offset), remark.code, remark.text) for remark in remarks]
    return list(without_ignored(shown, source.text, findings))
