"""The framing of programs that stay, without a process: lines, ids, what ends a session. Level: pure."""

import asyncio
import os
from collections.abc import AsyncIterator

import pytest

from hookrunner.errors import HookFailed
from hookrunner.process.child import Exit
from hookrunner.process.line_session import BadLine, LineRules, LineSession

Session = LineSession[str]


def read(line: bytes) -> tuple[str, str] | None:
    """`id value`; a note begins with `#`."""
    if line.startswith(b"#"):
        return None
    name, space, value = line.decode().partition(" ")
    if not space:
        raise BadLine("no space")
    return name, value


RULES = LineRules(100, read, HookFailed)


@pytest.fixture
async def session() -> AsyncIterator[Session]:
    session = await LineSession.open(RULES)
    yield session
    await session.run(ended())


async def ended() -> Exit:
    return Exit(0, None, False, 0.0, 0.0, 0.0, 0, b"", b"")


async def endless() -> Exit:
    await asyncio.Event().wait()
    return await ended()


async def test_answers_come_in_any_order_and_in_any_pieces(session: Session) -> None:
    first, second = session.send("1", b"a"), session.send("2", b"b")
    assert os.read(session.requests, 100) == b"a\nb\n"
    assert [session.take(piece) for piece in (b"2 b", b"b\n\n# note\n1 ", b"a\n")] == [True] * 3
    assert (await first, await second, session.has_answered) == ("a", "bb", True)


@pytest.mark.parametrize(
    ("written", "reason"),
    [
        (b"3 x\n", "it printed an answer to a request that is not open"),
        (b"nothing\n", "no space"),
        (b"1 a\n1 a\n", "it printed an answer to a request that is not open"),
    ],
)
async def test_a_bad_line_ends_the_session_with_its_reason(session: Session, written: bytes, reason: str) -> None:
    session.send("1", b"a").cancel()
    assert session.take(written) is False
    assert (session.is_alive, session.is_taking, session.reason) == (False, False, reason)


async def test_a_line_without_an_end_is_bounded(session: Session) -> None:
    assert session.take(b"x" * 100)
    assert not session.take(b"x")
    assert session.reason.startswith("it printed a line of more than")


async def test_open_requests_fail_when_the_session_is_given_up(session: Session) -> None:
    answer = session.send("1", b"a")
    session.give_up("it is odd")
    with pytest.raises(HookFailed, match="it is odd"):
        await answer


async def test_with_waits_open_requests_fail_when_the_process_has_ended() -> None:
    session = await LineSession.open(LineRules(100, read, HookFailed, waits=True))
    answer = session.send("1", b"a")
    session.give_up("it is odd")
    assert not answer.done()
    await session.run(endless())
    with pytest.raises(HookFailed, match="it is odd"):
        await answer


async def test_a_late_answer_to_a_dropped_request_is_ignored(session: Session) -> None:
    session.send("1", b"a").cancel()
    session.drop("1", 100.0)
    assert session.take(b"1 late\n")
    assert session.is_alive


async def test_requests_fail_with_how_the_process_ended(session: Session) -> None:
    answer = session.send("1", b"a")
    await session.run(ended())
    with pytest.raises(HookFailed, match="exit status 0"):
        await answer
    session.requests = os.open(os.devnull, os.O_RDONLY)  # the fixture ends it a second time
