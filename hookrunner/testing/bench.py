"""Runs hooks one at a time, without a cluster and without an engine around them, by the code that runs them in one.

    async with bench(settings) as tools:
        hook = await tools.load(Path("hooks/copy.sh"))
        result = await tools.run(hook, Given(), Changed(Change.ADDED, secret))

A bad run, and no run at all, are results; only what cannot be understood is an error.
"""

from collections.abc import AsyncIterator, Sequence
from contextlib import ExitStack, asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from tempfile import TemporaryDirectory

import orjson

from hookrunner.errors import HookFailed
from hookrunner.hooks import catalog, discovery, places
from hookrunner.hooks.catalog import Catalog
from hookrunner.hooks.discovery import HookFile
from hookrunner.hooks.run import ExitedBadly, answered, command, refuse, refuses_patches, rendered, write
from hookrunner.hooks.workspace import read, workspace
from hookrunner.jq.program import Jq
from hookrunner.kube.environment import with_kubeconfig, without_cluster
from hookrunner.model.bindings import Hook
from hookrunner.model.casing import camel
from hookrunner.model.operations import Answer, ObjectOperation
from hookrunner.model.resources import JSON
from hookrunner.model.values import GLOBAL
from hookrunner.process.child import Exit, Patience
from hookrunner.process.children import Children
from hookrunner.process.pipes import Stream
from hookrunner.settings import HooksSettings
from hookrunner.testing import shown, verdicts
from hookrunner.testing.happenings import Given, Happening, NotRun
from hookrunner.testing.plan import Plan, plan
from hookrunner.testing.values import Patched, ValuesFiles, values_files

MOST_LINES = 10_000
"""Lines of a run that are kept: a hook that prints in an endless loop must not take all memory."""

KILL_AFTER = 2.0
"""Seconds from SIGTERM to SIGKILL for a hook whose time is up."""


@dataclass(frozen=True, slots=True)
class Result:
    """What came of a happening.

    `reason` says why the hook would not run; then nothing else is set. `failure` says why the run counts as failed:
    a failed hook's operations are those marked `ignoreHookError`. `logs` are the lines that it printed on either
    stream. `contexts` is what it read. `mutated` is the reviewed object with the verdict's patch. `objects` are those
    there were when it began. `dry_run` says that it was about a dry-run review, which carries no operation out. `notes`
    say what could not be found out about whether it would come to the run.
    """

    reason: str = ""
    failure: str = ""
    exit_code: int | None = None
    seconds: float = 0.0
    contexts: JSON = None
    logs: tuple[str, ...] = ()
    operations: tuple[ObjectOperation, ...] = ()
    metrics: tuple[JSON, ...] = ()
    verdict: JSON = None
    mutated: JSON = None
    values: Patched | None = None
    config_values: Patched | None = None
    objects: tuple[JSON, ...] = ()
    dry_run: bool = False
    notes: tuple[str, ...] = ()

    @property
    def ran(self) -> bool:
        """Whether the hook ran at all."""
        return not self.reason

    @property
    def ok(self) -> bool:
        """Whether it ran or rightly did not, and nothing failed."""
        return not self.failure

    @property
    def carried_out(self) -> tuple[ObjectOperation, ...]:
        """The operations that are done."""
        return () if self.dry_run else self.operations

    @property
    def patches(self) -> list[JSON]:
        """The operations as documents of the patch file."""
        return [shown.patch(operation) for operation in self.operations]


@dataclass(frozen=True, slots=True)
class Effects:
    """What a hook's operations do to the objects: those in the end, in the order of their names; (before, after) of
    those that changed, None for one that is not there; and what the API refuses, in words. Found by `effects.py`."""

    objects: Sequence[JSON] = ()
    changes: Sequence[tuple[JSON, JSON]] = ()
    refusal: str = ""


NO_EFFECTS = Effects()


@dataclass(slots=True)
class _Lines:
    """Keeps what a hook prints, in the order in which it came."""

    lines: list[str] = field(default_factory=list)
    lost: int = 0

    def line(self, stream: Stream, text: str) -> None:
        if len(self.lines) < MOST_LINES:
            self.lines.append(text)
        else:
            self.lost += 1

    def ended(self, stream: Stream) -> None: ...

    def all(self) -> tuple[str, ...]:
        """Said at the end if not all are there."""
        return (*self.lines, *[f"… and {self.lost} lines more"] * bool(self.lost))


@dataclass(frozen=True, slots=True)
class Bench:
    """Loads and runs hooks. `timeout` in seconds is the longest that a run may take; a hook's own may be shorter."""

    settings: HooksSettings
    children: Children
    jq: Jq
    timeout: float = 30.0

    async def catalog(self, path: Path) -> Catalog:
        """The hooks in a directory, or the one in a file, and what is wrong with them."""
        path = path.absolute()
        directory = path if path.is_dir() else path.parent
        files: Sequence[HookFile] = discovery.find(path) if path.is_dir() else [HookFile(path.name, path)]
        return await catalog.ask(
            map(places.placed, files), replace(self.settings, directory=directory), self.children, self.jq
        )

    async def load(self, path: Path) -> Hook:
        """The hook in a file. Raises BadHookConfig."""
        found = await self.catalog(path)
        if found.problems:
            raise found.problems[0]
        return found.hooks[0]

    async def contexts(self, hook: Hook, given: Given, *happenings: Happening) -> JSON:
        """What the hook would read. Raises NotRun or BadInput."""
        planned = await plan(hook, given, happenings, self.jq)
        return orjson.loads(b"".join(rendered(hook, planned.contexts, planned.snapshots)))

    async def run(self, hook: Hook, given: Given, *happenings: Happening) -> Result:
        """Let it happen, all in one run. Raises BadInput if it is not clear what is meant."""
        try:
            planned = await plan(hook, given, happenings, self.jq)
        except NotRun as reason:
            return Result(reason=str(reason), objects=given.objects)
        with ExitStack() as stack:
            values = None
            if (said := _values(hook, given)) is not None:
                values = stack.enter_context(values_files(said, given.config_values, camel(hook.module)))
            return await self._run(hook, planned, values)

    async def _run(self, hook: Hook, planned: Plan, values: ValuesFiles | None) -> Result:
        lines = _Lines()
        with workspace(self.settings.tmp_dir, hook.name) as files:
            await write(files, hook, planned.contexts, planned.snapshots)
            contexts = orjson.loads(read(files.context))
            result = Result(contexts=contexts, objects=planned.objects, dry_run=_is_dry(contexts), notes=planned.notes)
            process = command(self.settings, hook, files)
            own = min(process.timeout or self.timeout, self.timeout)
            env = {**process.env, **(values.environment if values else {})}
            try:
                end = await self.children.run(replace(process, timeout=own, env=env), lines)
                result = _ended(result, end, lines)
                refusing = refuses_patches(hook, planned.contexts)
                answer = await answered(hook, files, end, refusing)
                if refusing and values:
                    refuse(one for patched in values.read() if patched for one in patched.patches)
                return await _complete(result, hook, answer, values)
            except ExitedBadly as failure:
                return replace(result, failure=str(failure), operations=failure.operations)
            except HookFailed as failure:
                return replace(result, failure=str(failure))


def _values(hook: Hook, given: Given) -> JSON:
    """A hook that lies in a module has values, even if nobody gave any."""
    if given.values is not None or not hook.module:
        return given.values
    return {GLOBAL: {}, camel(hook.module): {}}


def _ended(result: Result, end: Exit, lines: _Lines) -> Result:
    return replace(result, exit_code=end.code, seconds=end.seconds, logs=lines.all())


def _is_dry(contexts: JSON) -> bool:
    return any(one.get("review", {}).get("request", {}).get("dryRun") is True for one in contexts)


async def _complete(result: Result, hook: Hook, answer: Answer, values: ValuesFiles | None) -> Result:
    """Raises BadOutput."""
    patched, config_patched = values.read() if values else (None, None)
    for one in filter(None, (patched, config_patched)):
        _ = one.after  # operations that cannot be applied fail the run
    verdict = await verdicts.verdict(hook, result.contexts[0], answer)
    return replace(
        result,
        operations=answer.objects,
        metrics=tuple(shown.metric(operation) for operation in answer.metrics),
        verdict=verdict,
        mutated=verdicts.mutated(result.contexts[0], verdict),
        values=patched,
        config_values=config_patched,
    )


@asynccontextmanager
async def bench(settings: HooksSettings, timeout: float = 30.0, kubeconfig: str = "") -> AsyncIterator[Bench]:
    """A bench with a temporary directory and processes of its own. What a hook leaves behind is ended after its run,
    and hooks that still run when the bench is left. kubectl in a hook finds the cluster of `kubeconfig`, or none."""
    environ = with_kubeconfig(settings.environ, kubeconfig) if kubeconfig else without_cluster(settings.environ)
    children = Children(Patience(kill=KILL_AFTER, tidy=True))
    with TemporaryDirectory(prefix="hookrunner-bench-") as directory:
        async with Jq() as jq:
            try:
                yield Bench(replace(settings, tmp_dir=Path(directory), environ=environ), children, jq, timeout)
            finally:
                await children.stop(grace=0.0)
