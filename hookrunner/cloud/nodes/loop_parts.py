"""What the three loops of Nodes work with, what they ask the cloud, and what those have that make passes."""

import asyncio
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Protocol

from hookrunner.cloud.answers import CloudCapabilities, InstanceAnswer, ProviderError, Want
from hookrunner.cloud.nodes.cloud_node import CloudNode
from hookrunner.cloud.nodes.node_informer import NodeInformer
from hookrunner.cloud.nodes.node_reports import NodeReports, PassLog
from hookrunner.cloud.nodes.node_writer import NodeWriter
from hookrunner.cloud.nodes.pass_answers import Answers, describe_unanswered, pause_of
from hookrunner.controllers.pass_clock import PassClock
from hookrunner.log import Logger
from kubetypes.light_dataclasses import dataclass

_WRITTEN_AT_ONCE = 16
"""Nodes that a pass writes at a time."""


class InstanceProvider(Protocol):
    """The interface `instances`; how it is asked is the matter of `cloud/provider/`."""

    @property
    def capabilities(self) -> CloudCapabilities:
        """What the provider can do, by its last answer."""
        ...

    async def ask_instances(
        self, nodes: Sequence[CloudNode], want: AbstractSet[Want]
    ) -> Mapping[str, InstanceAnswer | ProviderError]:
        """An answer for each Node, by name. It may wait: for a pause that the cloud has asked for, for its turn, for
        the answer. Questions of several callers share calls; a Node about which no call succeeds gets the error."""
        ...


@dataclass(frozen=True, slots=True)
class NodeLoopParts:
    """The Nodes as the watch shows them, the cloud, and where a loop writes and reports to."""

    nodes: NodeInformer
    provider: InstanceProvider
    writer: NodeWriter
    reports: NodeReports


class PassLoop:
    """A loop that makes passes over all Nodes. `problem`: why the last pass could not do all that it had to, empty if
    it could."""

    def __init__(self, parts: NodeLoopParts, period: float, log: Logger) -> None:
        self.problem = ""
        self._nodes, self._provider = parts.nodes, parts.provider
        self._writer, self._reports = parts.writer, parts.reports
        self._pass_log = PassLog(log)
        self._clock = PassClock(period)
        self._slots = asyncio.Semaphore(_WRITTEN_AT_ONCE)

    def stop(self) -> None:
        """Begin nothing more."""
        self._clock.stop()

    def _note_answers(self, answers: Answers) -> None:
        """Keep what is missing as the problem. A pass without any answer is repeated after the pause that the errors
        have."""
        self.problem = describe_unanswered(answers)
        self._pass_log.warn("nodes without an answer", self.problem)
        self._clock.repeat_after(pause_of(answers))
