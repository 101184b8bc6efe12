"""Runs hooks one at a time, without a cluster and without an engine around them, by the code that runs them in one.

    async with bench(settings) as tools:
        hook = await tools.load(Path("hooks/copy.sh"))
        result = await tools.run(hook, Given(), Changed(Change.ADDED, secret))

A failed run, and no run at all, are results. Only a request that makes no sense is an error.

A module's hook gets the files of values and patches that it has in a running hookrunner (docs/modules.md).
"""

import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, nullcontext
from dataclasses import field, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import orjson

from hookrunner.engine.reviews import conversion
from hookrunner.engine.reviews.chains import Chains, Step
from hookrunner.errors import BadOutput, HookFailed, ReviewFailed
from hookrunner.hooks import catalog, discovery, verdicts
from hookrunner.hooks.catalog import Catalog
from hookrunner.hooks.discovery import HookFile
from hookrunner.hooks.hook_process import HookProcesses
from hookrunner.jq.program import Jq
from hookrunner.kube.cluster_lookup import with_kubeconfig, without_cluster
from hookrunner.model.bindings import Hook
from hookrunner.model.contexts import ContextType
from hookrunner.model.hook_runs import ExitedBadly, InstanceInput, Run, RunOptions, Values
from hookrunner.model.json_objects import JsonObjects
from hookrunner.model.modules import GLOBAL, camel
from hookrunner.model.operations import Answer
from hookrunner.model.reviews import ConversionRequest, ConversionReview, Converted, Verdict
from hookrunner.process.child import Patience
from hookrunner.process.children import Children
from hookrunner.process.output import OutputStream
from hookrunner.settings import HooksSettings
from hookrunner.testing import display
from hookrunner.testing.happenings import Given, Happening, NotRun
from hookrunner.testing.plan import PlannedRun, plan_run
from hookrunner.testing.results import Effects, Patched, Result
from kubetypes.json_values import JSON
from kubetypes.light_dataclasses import dataclass
from kubetypes.patches import json_patch
from kubetypes.patches.refusals import PatchRefused

MOST_LINES = 10_000
"""Lines of a run that are kept: a hook that prints in an endless loop must not take all memory."""

KILL_AFTER = 2.0
"""Seconds from SIGTERM to SIGKILL for a hook whose time is up."""


@dataclass(slots=True)
class _Lines:
    """Keeps what a hook prints, in order."""

    lines: list[str] = field(default_factory=list)
    lost: int = 0

    def line(self, stream: OutputStream, text: str) -> None:
        if len(self.lines) < MOST_LINES:
            self.lines.append(text)
        else:
            self.lost += 1

    def ended(self, stream: OutputStream) -> None: ...

    def all(self) -> tuple[str, ...]:
        """All kept lines; the last one says how many were dropped."""
        return (*self.lines, *[f"… and {self.lost} lines more"] * bool(self.lost))


@dataclass(frozen=True, slots=True)
class Bench:
    """Loads and runs hooks. `timeout` in seconds is the longest that a run may take; a hook's own may be shorter."""

    settings: HooksSettings
    children: Children
    processes: HookProcesses
    jq: Jq
    timeout: float = 30.0

    async def catalog(self, path: Path) -> Catalog:
        """The hooks in a directory, or the one in a file, and what is wrong with them."""
        path = path.absolute()
        directory = path if path.is_dir() else path.parent
        files: Sequence[HookFile] = discovery.find(path) if path.is_dir() else [HookFile(path.name, path)]
        return await catalog.ask(
            map(discovery.with_location, files), replace(self.settings, directory=directory), self.children, self.jq
        )

    async def load(self, path: Path) -> Hook:
        """The hook in a file. Raises BadHookConfig."""
        loaded = await self.catalog(path)
        if loaded.problems:
            raise loaded.problems[0]
        return loaded.hooks[0]

    async def contexts(self, hook: Hook, given: Given, *happenings: Happening) -> JSON:
        """The binding contexts that the hook would read. Raises NotRun or BadInput."""
        planned = await plan_run(hook, given, happenings, self.jq)
        return _contexts(Run(hook, planned.contexts, planned.snapshots))

    async def run(self, hook: Hook, given: Given, *happenings: Happening) -> Result:
        """Run the hook once for all happenings. Raises BadInput if it is not clear what is meant."""
        try:
            planned = await plan_run(hook, given, happenings, self.jq)
        except NotRun as reason:
            return Result(reason=str(reason), objects=given.objects)
        return await self._run(hook, planned, given)

    async def effects(self, result: Result) -> Effects:
        """What the operations of a run do to the objects. Raises BadInput for a given object that no API server could
        have."""
        # The HTTP client and the sandbox take 0.3 s to import, and many hooks change no objects.
        from hookrunner.testing.effects import compute_effects

        return await compute_effects(result.objects, result.carried_out, self.jq)

    async def _run(self, hook: Hook, planned: PlannedRun, given: Given) -> Result:
        lines, values = _Lines(), _values(hook, given)
        timeout = min(hook.config.settings.timeout or self.timeout, self.timeout)
        run = Run(hook, planned.contexts, planned.snapshots, RunOptions(timeout=timeout), _inputs(values, given))
        contexts = _contexts(run)
        result = Result(contexts=contexts, objects=planned.objects, dry_run=_is_dry(contexts), notes=planned.notes)
        began = time.monotonic()
        try:
            ran = await self.processes.carry(run, lines)
            return replace(await _complete(result, hook, ran.answer, values), exit_code=0, **_took(began, lines))
        except ExitedBadly as failed:
            ended = replace(result, operations=failed.operations, exit_code=failed.code)
            return replace(ended, failure=str(failed), **_took(began, lines))
        except BadOutput as bad:
            return replace(result, failure=str(bad), exit_code=0, **_took(began, lines))
        except HookFailed as failed:
            return replace(result, failure=str(failed))


def _contexts(run: Run) -> JSON:
    """What the hook reads. Raises HookFailed if it cannot be written."""
    return orjson.loads(b"".join(run.rendered_contexts()))


def _took(began: float, lines: _Lines) -> dict[str, Any]:
    """What a run has in every case."""
    return {"seconds": time.monotonic() - began, "logs": lines.all()}


def _inputs(values: tuple[Patched, Patched] | None, given: Given) -> Values | None:
    """What the hook reads beside its contexts; None for a hook that is in no module and is given nothing."""
    instance = InstanceInput(orjson.dumps(given.instance), given.package_directory) if given.instance else None
    if values is None and instance is None:
        return None
    config, all_values = (orjson.dumps(part.before) for part in values or (Patched({}), Patched({})))
    return Values(config, all_values, instance)


def _values(hook: Hook, given: Given) -> tuple[Patched, Patched] | None:
    """The given config values and values, without operations yet. A hook in a module has values even if none are given.
    Without config values each key of the values gets an empty section."""
    if given.values is None and not hook.module:
        return None
    key = camel(hook.module)
    values = {GLOBAL: {}, key: {}} if given.values is None else given.values
    config = {section: {} for section in values} if given.config_values is None else given.config_values
    return Patched(config, key=key), Patched(values, key=key)


def _is_dry(contexts: JSON) -> bool:
    return any(context.get("review", {}).get("request", {}).get("dryRun") is True for context in contexts)


async def _complete(result: Result, hook: Hook, answer: Answer, values: tuple[Patched, Patched] | None) -> Result:
    """Raises BadOutput."""
    config, patched = values or (None, None)
    config = config and replace(config, patches=answer.config)
    patched = patched and replace(patched, patches=answer.values)
    for one in filter(None, (patched, config)):
        _ = one.after  # operations that cannot be applied fail the run
    verdict = await _decide(hook, result.contexts[0], answer)
    return replace(
        result,
        operations=answer.objects,
        metrics=tuple(display.metric_document(operation) for operation in answer.metrics),
        conditions=answer.conditions or (),
        again_after=answer.again_after,
        verdict=verdict,
        mutated=_mutate(result.contexts[0], verdict),
        values=patched,
        config_values=config,
    )


@asynccontextmanager
async def bench(
    settings: HooksSettings, timeout: float = 30.0, kubeconfig: str = "", jq: Jq | None = None
) -> AsyncIterator[Bench]:
    """A bench with a temporary directory and processes of its own. Processes that a hook leaves behind are ended after
    its run, and hooks that still run when the bench is closed. kubectl in a hook finds the cluster of `kubeconfig`, or
    none. `jq` is that of another bench, whose workers are then shared."""
    environ = with_kubeconfig(settings.environ, kubeconfig) if kubeconfig else without_cluster(settings.environ)
    children = Children(Patience(kill=KILL_AFTER, tidy=True))
    with TemporaryDirectory(prefix="hookrunner-bench-") as directory:
        settings = replace(settings, tmp_dir=Path(directory), environ=environ)
        processes = HookProcesses(settings, children)
        async with nullcontext(jq) if jq else Jq() as filters:
            try:
                yield Bench(settings, children, processes, filters, timeout)
            finally:
                await processes.close()
                await children.stop(grace=0.0)


async def _decide(hook: Hook, context: JSON, answer: Answer) -> JSON:
    """The hook's verdict for a review; None for other contexts. Raises BadOutput."""
    match context.get("type"):
        case ContextType.CONVERSION:
            return await _decide_conversion(hook, context, verdicts.conversion_of(answer))
        case ContextType.VALIDATING | ContextType.MUTATING:
            return _shown(verdicts.verdict_of(answer, ContextType(context["type"])))
    return None


def _mutate(context: JSON, verdict: JSON) -> JSON:
    """The reviewed object with the verdict's patch; None without a patch. Raises BadOutput if it does not apply."""
    if not verdict or not verdict.get("allowed") or not verdict.get("patch"):
        return None
    obj = context["review"]["request"]["object"]
    if obj is None:
        raise BadOutput("`patch` of the admission response: there is no object that could be changed")
    for index, step in enumerate(verdict["patch"]):
        try:
            obj = json_patch.apply(obj, [step])
        except PatchRefused:
            step_text = (
                f"patch[{index}] of the admission response, `{step['op']} {step['path']}`, cannot be applied to the "
            )
            raise BadOutput(f"{step_text}object: is all there that its path leads through?") from None
    return obj


def _shown(verdict: Verdict) -> JSON:
    """Without empty keys; with the code only where the API server uses it."""
    shown = {
        "code": None if verdict.allowed else verdict.code,
        "message": verdict.message,
        "warnings": list(verdict.warnings),
        "auditAnnotations": dict(verdict.audit),
        "patch": list(verdict.patch),
    }
    return {"allowed": verdict.allowed} | {key: value for key, value in shown.items() if value}


async def _decide_conversion(hook: Hook, context: JSON, converted: Converted) -> JSON:
    """The objects as the API server gets them, or the reason of a failure."""
    if converted.failure:
        return {"failedMessage": converted.failure}
    rule = (context["fromVersion"], context["toVersion"])
    named = (one for one in hook.config.conversions if one.name == context["binding"] and rule in one.rules)
    binding = replace(next(named), rules=(rule,))
    alone = replace(hook, config=replace(hook.config, conversions=(binding,)))
    request = ConversionRequest.of(context["review"]["request"])
    review = ConversionReview(binding.crd, context["review"]["apiVersion"], request, 0.0)

    async def answer_step(step: Step, objects: JsonObjects, review: ConversionReview) -> Converted:
        return converted

    try:
        texts = await conversion.convert(review, Chains([alone]), answer_step)
        return {"convertedObjects": list(map(orjson.loads, texts))}
    except ReviewFailed as error:
        raise BadOutput(str(error)) from None
