"""What the provider has said about the Nodes of one pass: which it did not answer, and when to ask again.

Functions of values, for the loops over addresses and over machines.
"""

from collections.abc import Mapping
from typing import TypeAlias

from hookrunner.cloud.answers import ErrorCode, InstanceAnswer, ProviderError
from hookrunner.model.status import some

Answers: TypeAlias = Mapping[str, InstanceAnswer | ProviderError]
"""What is known about each Node, by name."""


def describe_unanswered(answers: Answers) -> str:
    """About which Nodes there is no answer, and why; empty if there is one about each."""
    names: dict[str, list[str]] = {}
    for name, answer in answers.items():
        if isinstance(answer, ProviderError):
            names.setdefault(str(answer), []).append(name)
    return "; ".join(f"no answer about {some(about)}: {error}" for error, about in names.items())


def pause_of(answers: Answers) -> float | None:
    """Exact seconds until a pass is repeated of which no Node was answered; None if it has answers, or if an error does
    not say when to ask again: then the next pass comes when it is due."""
    pauses = [answer.pause for answer in answers.values() if isinstance(answer, ProviderError)]
    known = [pause for pause in pauses if pause is not None]
    return min(known) if known and len(known) == len(answers) else None


def refusals_in(answers: Answers) -> Answers:
    """Those that say that the cloud refuses the credentials."""
    return {
        name: answer
        for name, answer in answers.items()
        if isinstance(answer, ProviderError) and answer.code is ErrorCode.UNAUTHENTICATED
    }
