"""Rules of `serve`: one process, a request a line, an answer a line."""

import asyncio
from collections.abc import Iterator

from hookrunner.cloud.answers import ProviderError
from hookrunner.cloud.checks.check_rules import CheckSubject, Rule
from hookrunner.cloud.checks.made_up_objects import made_up_nodes
from hookrunner.cloud.checks.probe import Ask, Printed, QuestionFailed
from hookrunner.cloud.provider.verbs import CAPABILITIES
from hookrunner.cloud.provider.wire_answers import read_answer, request_id_of, result_of
from hookrunner.cloud.provider.wire_requests import CallRequest

_REQUESTS = 5
_BETWEEN = 0.05
"""Seconds between requests that are made while another is open."""
_ADVICE = (
    "A program that it starts, or a library, may print or read there: lead descriptor 1 to the log, 0 to /dev/null"
)
_LEAVING = 5.0
"""Seconds in which the process has to leave after the end of its input."""


async def _check_answers(subject: CheckSubject) -> list[str]:
    ids, printed = await _serve(subject)
    if problem := _ending(printed):
        return [problem]
    lines = [line for line in printed.stdout.split(b"\n") if line.strip()]
    answered: list[str] = []
    for line in lines:
        try:
            answered.append(request_id_of(read_answer(line)))
        except ProviderError as error:
            return [f"a line of its output is no answer: {error.reason}"]
    if missing := len(set(ids) - set(answered)):
        return [f"of {len(ids)} requests, {missing} were not answered before it left"]
    strangers, doubled = set(answered) - set(ids), len(answered) - len(set(answered))
    return [
        *(["it answered a request that was not made"] if strangers else []),
        *(["it answered a request twice"] if doubled else []),
    ]


def _ending(printed: Printed) -> str:
    if printed.timed_out:
        return f"it has not left {_LEAVING:g} s after the end of its input"
    return f"after the end of its input it left with {printed.ending}" if printed.ending else ""


async def _check_same(subject: CheckSubject) -> list[str]:
    called = (await subject.probe.ask(CAPABILITIES, {})).result()
    ids, printed = await _serve(subject)
    for line in filter(bytes.strip, printed.stdout.split(b"\n")):
        try:
            answer = read_answer(line)
            request_id = request_id_of(answer)
            served = result_of(answer, CAPABILITIES, request_id)
        except ProviderError as error:
            return [error.reason]
        if request_id in ids and served != called:
            return ["as `serve` it has other capabilities than as a call"]
    return []


async def _serve(subject: CheckSubject) -> tuple[list[str], Printed]:
    """Several requests at once, and the end of the input: their ids, and what was printed."""
    requests = [subject.probe.request(CAPABILITIES, {}) for _ in range(_REQUESTS)]
    given = b"".join(request.text + b"\n" for request in requests)
    printed = await subject.probe.runner.run("serve", given, subject.probe.timeout + _LEAVING)
    return [request.request_id for request in requests], printed


async def _check_children(subject: CheckSubject) -> list[str]:
    """Ask what it may start programs for, and something else while those run. All of it only reads."""
    if subject.capabilities.max_parallel == 1:
        raise QuestionFailed("it takes one request at a time")
    async with subject.probe.runner.serving() as ask:
        for request in _harmless_requests(subject):
            if problem := await _find_loss(ask, request, subject):
                return [f"{problem}. {_ADVICE}"]
    return []


async def _find_loss(ask: Ask, request: CallRequest, subject: CheckSubject) -> str:
    """What went wrong while it answered this request, or ""."""
    try:
        async with asyncio.timeout(request.deadline):
            await ask(_short_request(subject))  # it has started, and reads
        lost = await _ask_beside(ask, request, subject)
    except ProviderError as error:
        return f"{error.reason}; that was while it answered {request.verb}"
    except TimeoutError:
        return f"{request.verb} was not answered within {request.deadline:g} s as `serve`"
    return f"{lost} of the requests while it answered {request.verb} were lost" if lost else ""


def _harmless_requests(subject: CheckSubject) -> Iterator[CallRequest]:
    nodes = subject.nodes or made_up_nodes(1)
    for verb, params in subject.harmless_questions(nodes[: subject.capabilities.max_batch]):
        yield subject.probe.request(verb, params)


def _short_request(subject: CheckSubject) -> CallRequest:
    return subject.probe.request(CAPABILITIES, {})


async def _ask_beside(ask: Ask, request: CallRequest, subject: CheckSubject) -> int:
    """Make other requests while this one is open, at most as many at once as the provider takes; how many of them were
    not answered. Raises ProviderError if the process ends, TimeoutError if this one was not answered either."""
    asked = [asyncio.ensure_future(ask(request))]
    first, *_ = asked
    try:
        async with asyncio.timeout(request.deadline):
            while not (await asyncio.wait({first}, timeout=_BETWEEN))[0]:
                if sum(not other.done() for other in asked) < subject.capabilities.max_parallel:
                    asked.append(asyncio.ensure_future(ask(_short_request(subject))))
        answered, lost = await asyncio.wait(asked, timeout=_LEAVING)
        for answer in answered:
            answer.result()
        return len(lost)
    finally:
        for answer in asked:
            answer.cancel()
        await asyncio.wait(asked)


_CHILDREN = "as `serve` no program that it starts reads requests or prints answers"
SERVE_RULES = (
    Rule(
        "serve-answers", "as `serve` it answers each request, prints nothing else, and leaves", _check_answers, "serve"
    ),
    Rule("serve-same", "as `serve` it answers as a call does", _check_same, "serve"),
    Rule("serve-children", _CHILDREN, _check_children, "serve"),
)
