"""Which verbs the rules of `cloud check` ask, and what becomes of answers that cannot be read. Level: pure."""

from typing import Any

from hookrunner.cloud.checks.probe import Probe
from hookrunner.cloud.checks.provider_check import CheckOptions, check_provider
from hookrunner.cloud.provider.verbs import VERBS
from tests.cloud.checks.sample_provider import MACHINES, SampleProvider, nodes_of
from tests.cloud.checks.test_provider_check import checked, wrong


async def test_each_verb_is_asked_by_the_rule_that_its_row_names() -> None:
    probe = Probe(SampleProvider(), "kubernetes", 60.0)
    asked: dict[str, set[str]] = {}
    async for outcome in check_provider(probe, CheckOptions(tuple(nodes_of(list(MACHINES))), writes=True)):
        asked[outcome.rule] = {reply.request.verb for reply in probe.replies}
        probe.replies.clear()
    assert [verb.name for verb in VERBS if verb.name not in asked[verb.check]] == []


async def test_answer_that_cannot_be_read_breaks_each_rule_that_needs_it() -> None:
    class Vague(SampleProvider):
        def lb_get(self, params: Any) -> Any:
            return {"result": {"exists": "perhaps"}}

    assert wrong(await checked(Vague())).keys() == {"lb-nothing", "lb-life", "schema"}
