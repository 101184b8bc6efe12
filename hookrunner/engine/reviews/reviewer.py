"""Answers admission and conversion reviews by running the hooks that declare them.

What the API server does when a hook fails is the webhook's failure policy, which goes along with the error.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from http import HTTPStatus

import orjson

from hookrunner.engine import dispatch
from hookrunner.engine.engine import Engine
from hookrunner.engine.reviews import conversion
from hookrunner.engine.reviews.chains import Chains, Step
from hookrunner.engine.reviews.conversion import find_cycle
from hookrunner.engine.reviews.review_runs import ReviewRun, ReviewRuns
from hookrunner.errors import HookFailed, NoAnswer, PatchFailed, ReviewFailed
from hookrunner.model import contexts
from hookrunner.model.bindings import Admission, BindingType, Hook, ReviewKind
from hookrunner.model.hook_runs import ExitedBadly
from hookrunner.model.json_objects import JsonObjects
from hookrunner.model.reviews import AdmissionReview, ConversionReview, Converted, Reviewer, Verdict, webhook_id
from hookrunner.model.tasks import HookRun
from kubetypes.light_dataclasses import dataclass

_CYCLE_PATIENCE = 2.0
"""Seconds to wait for a snapshot that may come without the conversion that reads it."""


@dataclass(frozen=True, slots=True)
class Webhook:
    """An admission binding, where it is declared."""

    hook: Hook
    type: BindingType
    index: int
    binding: Admission


@dataclass(frozen=True, slots=True)
class KnownHooks:
    """What the hooks answer at a moment: webhooks by id, conversions by definition."""

    hooks: Mapping[str, Hook]
    webhooks: Mapping[str, Webhook]
    chains: Chains


@dataclass(frozen=True, slots=True)
class ModuleDeclarations:
    """What modules declare about reviews at a moment: `answering`: hooks that can serve reviews; `asked`: hooks
    whose webhooks should be registered now. `incomplete`: the declarations of some modules are
    unknown; those of `sure` are known."""

    answering: tuple[Hook, ...] = ()
    asked: tuple[Hook, ...] = ()
    sure: frozenset[str] = frozenset()
    incomplete: bool = False


class ReviewDeclarations:
    """What hooks declare, and the reviewer that asks them. `own` are the hooks of no module, which never change;
    `lacking`: some of them could not be asked what they declare."""

    def __init__(self, own: Sequence[Hook], reviewer: Reviewer, lacking: bool) -> None:
        self.own = own
        self.reviewer = reviewer
        self.lacking = lacking
        self._modules = ModuleDeclarations()

    @property
    def modules(self) -> ModuleDeclarations:
        """What the hooks of modules declare at this moment."""
        return self._modules

    def declare_modules(self, modules: ModuleDeclarations) -> None:
        """Replace what the hooks of modules declare."""
        self._modules = modules

    @property
    def kinds(self) -> frozenset[ReviewKind]:
        """The kinds of reviews that the present hooks answer."""
        return frozenset(kind for hook in (*self.own, *self.modules.answering) for kind in hook.config.reviews)

    @property
    def asked(self) -> Sequence[Hook]:
        """The hooks whose webhooks should be registered."""
        return (*self.own, *self.modules.asked)

    @property
    def incomplete(self) -> bool:
        """Could some hooks not be asked?"""
        return self.lacking or self.modules.incomplete

    @property
    def sure(self) -> frozenset[str]:
        """The modules whose declarations are known, and "" for the hooks of no module."""
        return self.modules.sure | (frozenset() if self.lacking else {""})


class HookReviewer:
    """The `Reviewer` whose verdicts are those of an engine's hooks."""

    def __init__(self, engine: Engine, runs: ReviewRuns) -> None:
        self._engine = engine
        self._runs = runs
        self._known = KnownHooks({}, {}, Chains(()))

    def unknown(self, kind: ReviewKind, name: str) -> str:
        """Why no hook answers reviews of this webhook or definition; empty if one does."""
        known = self._current()
        if kind == "conversion":
            return "" if known.chains.has(name) else f"no hook converts objects of '{name}'"
        return "" if name in known.webhooks else _unknown(name)

    async def admit(self, review: AdmissionReview) -> Verdict:
        """Raises ReviewFailed."""
        webhook = self._current().webhooks.get(review.webhook)
        if webhook is None:  # it was there when the review began to come in
            raise ReviewFailed(_unknown(review.webhook), ignorable=True)  # only the registration knows the policy
        dry_run = review.request.dry_run
        if dry_run and webhook.hook.config.settings.on_dry_run == "skip":
            return Verdict(allowed=True)
        try:
            return await self._verdict(webhook, review, dry_run)
        except ReviewFailed as failure:
            raise ReviewFailed(str(failure), failure.code, webhook.binding.failure_policy == "Ignore") from failure

    async def convert(self, review: ConversionReview) -> JsonObjects:
        """Raises ReviewFailed."""
        return await conversion.convert(review, self._current().chains, self._step)

    def missing(self) -> str:
        """The snapshots that webhooks wait for; not those of modules, which must not hold up the webhooks of others."""
        waits = {f"{order.hook}: {reason}" for order in self._orders() if (reason := self._runs.obstacle(order))}
        return "; ".join(sorted(waits))

    async def _verdict(self, webhook: Webhook, review: AdmissionReview, dry_run: bool) -> Verdict:
        extra = contexts.admission_review(review.api_version, orjson.Fragment(review.request.text))
        order = dispatch.for_admission(webhook.hook, webhook.type, webhook.index, extra)
        labels = ("admission", review.webhook)
        with self._report_failure(webhook.hook, order):
            from hookrunner.hooks import verdicts  # with what it imports 1 MB

            answer = await self._runs.run(ReviewRun(webhook.hook, order, review.deadline, labels, dry_run))
            return verdicts.verdict_of(answer, order.contexts[0].type)

    async def _step(self, step: Step, objects: JsonObjects, review: ConversionReview) -> Converted:
        extra = contexts.conversion_review(review.api_version, review.request.head, (step.source, step.target))
        order = dispatch.for_conversion(step.hook, step.index, extra, objects)
        labels = ("conversion", review.definition)
        with self._report_failure(step.hook, order):
            if (cycle := find_cycle(step.hook, order, review)) and not await self._runs.can_run(order, _CYCLE_PATIENCE):
                raise HookFailed(cycle)
            from hookrunner.hooks import verdicts

            return verdicts.conversion_of(await self._runs.run(ReviewRun(step.hook, order, review.deadline, labels)))

    @contextmanager
    def _report_failure(self, hook: Hook, order: HookRun) -> Iterator[None]:
        """Report a failure to the client and to the log. What a hook has printed stands in the log only: it may be more
        than every client should see."""
        try:
            yield
        except (HookFailed, PatchFailed) as error:
            self._runs.count_failure(order, error)
            message = f"{error.how}, see the log of hookrunner" if isinstance(error, ExitedBadly) else str(error)
            code = HTTPStatus.INTERNAL_SERVER_ERROR if isinstance(error, NoAnswer) else HTTPStatus.FORBIDDEN
            raise ReviewFailed(f"Hook failed: {hook.name}: {message}", code) from error

    def _current(self) -> KnownHooks:
        """What the present hooks declare, read once for each set of hooks."""
        hooks = self._engine.hooks
        if self._known.hooks is not hooks:
            declared = _webhooks(hooks.values())
            webhooks = {webhook_id(webhook.binding.name, webhook.hook.unit): webhook for webhook in declared}
            self._known = KnownHooks(hooks, webhooks, Chains(hooks.values()))
        return self._known

    def _orders(self) -> Iterator[HookRun]:
        for webhook in self._current().webhooks.values():
            if not webhook.hook.unit:
                yield dispatch.for_admission(webhook.hook, webhook.type, webhook.index, None)
        for hook in self._engine.hooks.values():
            for index in range(len(hook.config.conversions) * (not hook.unit)):
                yield dispatch.for_conversion(hook, index, None)


def _unknown(webhook: str) -> str:
    reason = "its module is not on or has not come so far" if "/" in webhook else "it is out of date"
    return f"no hook answers the webhook '{webhook}': {reason}"


def _webhooks(hooks: Iterable[Hook]) -> Iterator[Webhook]:
    """Later ones replace earlier ones of the same id: so a validating one wins over a mutating one."""
    hooks = tuple(hooks)
    for hook in hooks:
        for index, binding in enumerate(hook.config.mutating):
            yield Webhook(hook, BindingType.MUTATING, index, binding)
    for hook in hooks:
        for index, binding in enumerate(hook.config.validating):
            yield Webhook(hook, BindingType.VALIDATING, index, binding)
