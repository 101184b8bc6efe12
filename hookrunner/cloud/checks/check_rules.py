"""A rule that a provider keeps or breaks, and what is known of the provider when it is checked.

A check is a coroutine function that returns what is wrong, as sentences; none means that the rule is kept. It raises
`QuestionFailed` where it cannot tell, and `ProviderError` for an answer that cannot be read.
"""

from collections.abc import Awaitable, Callable, Iterator, Sequence
from enum import StrEnum
from typing import NamedTuple

from hookrunner.cloud.answers import CloudCapabilities, InstanceAnswer, ProviderError, Want
from hookrunner.cloud.checks.made_up_objects import made_up_balancer
from hookrunner.cloud.checks.probe import Probe, QuestionFailed
from hookrunner.cloud.nodes.cloud_node import CloudNode
from hookrunner.cloud.provider.cloud_verb import AnyVerb, CloudVerb, Q, R
from hookrunner.cloud.provider.verbs import INSTANCES, NODES, SERVICE, VERBS
from hookrunner.cloud.provider.wire_requests import InstancesQuestion
from kubetypes.json_values import JSON
from kubetypes.light_dataclasses import dataclass

BOTH = frozenset(Want)


class Need(StrEnum):
    """What a rule can be checked with only."""

    NODES = "names or files of Nodes (--node)"
    WRITES = "leave to change the cloud (--write)"


@dataclass(frozen=True, slots=True)
class CheckSubject:
    """The provider under check: what it says that it can do, and Nodes of machines that it has."""

    probe: Probe
    capabilities: CloudCapabilities
    nodes: tuple[CloudNode, ...] = ()

    async def ask_instances(self, nodes: Sequence[CloudNode]) -> dict[str, InstanceAnswer]:
        """Answers about Nodes, by name; never more in one question than the provider takes. Raises QuestionFailed."""
        answers: dict[str, InstanceAnswer] = {}
        for first in range(0, len(nodes), self.capabilities.max_batch):
            batch = nodes[first : first + self.capabilities.max_batch]
            question = InstancesQuestion(batch, BOTH)
            try:
                answered = await self.ask(INSTANCES, question)
            except ProviderError as error:
                raise QuestionFailed(error.reason) from None
            answers |= answered
        return answers

    async def ask(self, verb: CloudVerb[Q, R], question: Q) -> R:
        """The answer to one question, read. Raises QuestionFailed without a result, ProviderError if it is unusable."""
        reply = await self.probe.ask(verb, verb.params.document(question))
        return verb.read(reply.result(), question, self.probe.mask)

    def harmless_questions(self, nodes: Sequence[CloudNode]) -> Iterator[tuple[AnyVerb, JSON]]:
        """The verbs of what it offers that change nothing, each with `params`; those about Nodes with these."""
        about = {NODES: InstancesQuestion(nodes, BOTH), SERVICE: made_up_balancer()}
        for verb in VERBS:
            if verb.interface in self.capabilities.interfaces and not verb.changes_cloud:
                yield verb, verb.params.document(about.get(verb.params))


Check = Callable[[CheckSubject], Awaitable[list[str]]]


class Rule(NamedTuple):
    """A rule by its name, as a claim about the provider. `interface`: without that capability it does not apply."""

    name: str
    claim: str
    check: Check
    interface: str = ""
    needs: tuple[Need, ...] = ()
