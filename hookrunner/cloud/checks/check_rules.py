"""A rule that a provider keeps or breaks, and what is known of the provider when it is checked.

A check is a coroutine function that returns what is wrong, as sentences; none means that the rule is kept. It raises
`QuestionFailed` where it cannot tell.
"""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

from hookrunner.cloud.answers import CloudCapabilities, CloudVerb, InstanceAnswer, ProviderError, Want
from hookrunner.cloud.checks.probe import Probe, QuestionFailed
from hookrunner.cloud.nodes.cloud_node import CloudNode
from hookrunner.cloud.provider.wire_requests import instances_params
from hookrunner.cloud.provider.wire_results import read_instances

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
            reply = await self.probe.ask(CloudVerb.INSTANCES, instances_params(batch, BOTH))
            try:
                answers |= read_instances(reply.result(), [node.name for node in batch], BOTH, self.probe.mask)
            except ProviderError as error:
                raise QuestionFailed(error.reason) from None
        return answers


Check = Callable[[CheckSubject], Awaitable[list[str]]]


class Rule(NamedTuple):
    """A rule by its name, as a claim about the provider. `interface`: without that capability it does not apply."""

    name: str
    claim: str
    check: Check
    interface: str = ""
    needs: tuple[Need, ...] = ()
