"""Reviews from their texts: small ones here, large ones in another process, with the same result. Level: pure."""

import asyncio
from typing import Any

import orjson
import pytest

from hookrunner.model.json_objects import IN_PLACE
from hookrunner.web import reviews
from hookrunner.web.review_documents import VALUE_WORK, UnreadableReview, parse_admission, parse_conversion, read_review
from tests.web.reviewing import ScriptedReviewer, admission, conversion, served

OBJECT = {"apiVersion": "example.com/v1", "kind": "Tab", "metadata": {"name": "a"}, "list": [{"a": 1}] * 30}
DEEP = orjson.loads(b"[" * 240 + b"]" * 240)


def body_of(review: dict[str, Any]) -> bytearray:
    return bytearray(orjson.dumps(review))


@pytest.mark.slow
async def test_a_large_conversion_is_read_as_a_small_one() -> None:
    body = body_of(conversion(*[OBJECT | {"text": "x" * 1_000}] * 1_600, {"apiVersion": "v2", "metadata": {}}))
    assert len(body) > IN_PLACE
    assert await read_review("conversion", body) == parse_conversion(body)


@pytest.mark.slow
async def test_a_large_admission_is_read_as_a_small_one() -> None:
    body = body_of(admission(object={"list": [{}] * 120_000}))
    assert len(body) + 2 * 120_000 * VALUE_WORK > IN_PLACE > len(body)
    assert await read_review("admission", body) == parse_admission(body)


async def test_what_is_wrong_with_a_large_review_is_reported() -> None:
    with pytest.raises(UnreadableReview, match=r"^this path takes a ConversionReview"):
        await read_review("conversion", body_of(admission(object={"list": [{}] * 120_000})))


async def test_a_small_review_does_not_wait_until_large_ones_are_parsed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reviews, "PARSED_APART", 0)  # as if others were parsed all the time
    large = admission(object={"list": [{}] * 120_000})
    async with served(ScriptedReviewer()) as server, asyncio.timeout(60):
        answers = [await server.post("/hooks/a?timeout=1s", review) for review in (admission(), large)]
    assert [status for status, _ in answers] == [200, 429]
    assert answers[1][1].startswith("reviews that are being parsed take all the time")


def test_reviews_that_nest_too_deep_are_refused() -> None:
    with pytest.raises(UnreadableReview, match="nested too deep"):
        parse_conversion(body_of(conversion(OBJECT | {"list": DEEP})))
    with pytest.raises(UnreadableReview, match="nested too deep"):
        parse_admission(body_of(admission(object=DEEP)))
