"""A provider checked as a whole: every rule, and how each of all calls was answered.

    async for outcome in check_provider(probe, CheckOptions(nodes, writes=False)):
        ...

What a rule asks is in the files beside this one. Rules about the form of answers hold for all calls together.
"""

from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from dataclasses import replace
from enum import StrEnum

from hookrunner.cloud.answers import CloudCapabilities, ProviderError
from hookrunner.cloud.checks.balancer_checks import BALANCER_RULES
from hookrunner.cloud.checks.capability_checks import CAPABILITY_RULES
from hookrunner.cloud.checks.check_rules import CheckSubject, Need, Rule
from hookrunner.cloud.checks.instance_checks import INSTANCE_RULES
from hookrunner.cloud.checks.probe import Probe, QuestionFailed
from hookrunner.cloud.checks.result_schemas import find_misspelled, find_schema_problems
from hookrunner.cloud.checks.route_checks import ROUTE_RULES
from hookrunner.cloud.checks.serve_checks import SERVE_RULES
from hookrunner.cloud.nodes.cloud_node import CloudNode
from hookrunner.cloud.provider.cloud_verb import AnyVerb
from hookrunner.cloud.provider.verbs import BY_NAME, CAPABILITIES
from hookrunner.cloud.shown_texts import Mask
from kubetypes.json_values import JSON
from kubetypes.light_dataclasses import dataclass

RULES = (*CAPABILITY_RULES, *INSTANCE_RULES, *BALANCER_RULES, *ROUTE_RULES, *SERVE_RULES)
FORM_RULES = {
    "exit-code": "each call ends with exit code 0",
    "deadline": "each call ends in time",
    "one-document": "each call prints one JSON document and nothing else",
    "api-version": "an answer names no other apiVersion",
    "request-id": "an answer names no other requestID",
    "result-or-error": "an answer has either a result or an error",
    "result": "a result is an object",
    "error-code": "an error has a code that means something",
}
"""Of every answer; a reply says which of them it breaks."""
_SHOWN = 3


class RuleStatus(StrEnum):
    """Kept, broken, not checked; `doubtful` is worth a look."""

    OK = "ok"
    BROKEN = "broken"
    DOUBTFUL = "doubtful"
    SKIPPED = "skipped"


@dataclass(frozen=True, slots=True)
class RuleOutcome:
    """What came of one rule. `texts`: what is wrong, or why it was skipped."""

    rule: str
    claim: str
    status: RuleStatus
    texts: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class CheckOptions:
    """Nodes of machines that the provider has, whether it may change the cloud, and what hides the secrets of its
    environment in a text."""

    nodes: tuple[CloudNode, ...] = ()
    writes: bool = False
    mask: Mask = str


async def check_provider(probe: Probe, options: CheckOptions) -> AsyncIterator[RuleOutcome]:
    """All rules in a fixed order, each as soon as it is checked, those of form at the end. No text shows a secret."""
    async for outcome in _check_rules(replace(probe, mask=options.mask), options):
        yield replace(outcome, texts=tuple(map(options.mask, outcome.texts)))


async def _check_rules(probe: Probe, options: CheckOptions) -> AsyncIterator[RuleOutcome]:
    capabilities, outcome = await _ask_capabilities(probe)
    yield outcome
    if capabilities:
        subject = CheckSubject(replace(probe, timeouts=capabilities.timeouts), capabilities, options.nodes)
        for rule in RULES:
            yield await _check_rule(rule, subject, options)
    for outcome in _form_outcomes(probe, options):
        yield outcome


async def _ask_capabilities(probe: Probe) -> tuple[CloudCapabilities | None, RuleOutcome]:
    claim = "it reports what it can do"
    try:
        capabilities = CAPABILITIES.read((await probe.ask(CAPABILITIES, {})).result(), None)
    except QuestionFailed as error:
        return None, RuleOutcome("capabilities", claim, RuleStatus.BROKEN, (str(error),))
    except ProviderError as error:
        return None, RuleOutcome("capabilities", claim, RuleStatus.BROKEN, (error.reason,))
    return capabilities, RuleOutcome("capabilities", claim, RuleStatus.OK)


async def _check_rule(rule: Rule, subject: CheckSubject, options: CheckOptions) -> RuleOutcome:
    if why := _why_skipped(rule, subject.capabilities, options):
        return RuleOutcome(rule.name, rule.claim, RuleStatus.SKIPPED, (why,))
    try:
        problems = await rule.check(subject)
    except QuestionFailed as error:
        return RuleOutcome(rule.name, rule.claim, RuleStatus.SKIPPED, (f"cannot tell: {error}",))
    except ProviderError as error:
        return RuleOutcome(rule.name, rule.claim, RuleStatus.BROKEN, (error.reason,))
    return RuleOutcome(rule.name, rule.claim, RuleStatus.BROKEN if problems else RuleStatus.OK, tuple(problems))


def _why_skipped(rule: Rule, capabilities: CloudCapabilities, options: CheckOptions) -> str:
    offered = ("", *capabilities.interfaces, *(["serve"] if capabilities.serve else []))
    if rule.interface not in offered:
        return f"it does not offer {rule.interface}"
    has = {Need.NODES: bool(options.nodes), Need.WRITES: options.writes}
    return "; ".join(f"needs {need}" for need in rule.needs if not has[need])


def _form_outcomes(probe: Probe, options: CheckOptions) -> Iterator[RuleOutcome]:
    for name, claim in FORM_RULES.items():
        problems = [reply.problem.text for reply in probe.replies if reply.problem and reply.problem.rule == name]
        yield _outcome(name, claim, problems)
    secrets = [
        f"{reply.request.verb} shows a secret of its environment on {where}"
        for reply in probe.replies
        for where, text in (
            ("standard error", reply.printed.stderr),
            ("standard output", reply.printed.stdout.decode(errors="replace")),
        )
        if options.mask(text) != text
    ]
    yield _outcome("secrets", "it shows no secret of its environment", secrets)
    left = [
        f"{reply.request.verb} left {', '.join(reply.printed.left_behind)} running, which would be killed"
        for reply in probe.replies
        if reply.printed.left_behind
    ]
    yield _outcome("left-behind", "a call leaves no process behind", left)
    yield _outcome("schema", "each result fits its JSON Schema", _in_results(probe, find_schema_problems))
    yield _outcome("spelling", "no key looks like a slip", _in_results(probe, find_misspelled), RuleStatus.DOUBTFUL)


def _in_results(probe: Probe, find: Callable[[AnyVerb, JSON], list[str]]) -> list[str]:
    answered = [reply for reply in probe.replies if not reply.problem and not reply.error]
    return [
        f"{reply.request.verb}: {text}" for reply in answered for text in find(BY_NAME[reply.request.verb], reply.value)
    ]


def _outcome(rule: str, claim: str, problems: Sequence[str], worst: RuleStatus = RuleStatus.BROKEN) -> RuleOutcome:
    """Equal problems of several calls are shown once, and only some of many."""
    different = list(dict.fromkeys(problems))
    more = [f"and {len(different) - _SHOWN} more"] if len(different) > _SHOWN else []
    return RuleOutcome(rule, claim, worst if different else RuleStatus.OK, (*different[:_SHOWN], *more))
