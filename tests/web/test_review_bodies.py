"""Requests that are refused by their head alone, before a byte of the body is read. The others: `test_reviews.py`.

Level: pure."""

import asyncio
from contextlib import nullcontext
from unittest.mock import MagicMock

import pytest
from aiohttp import StreamReader, web
from aiohttp.test_utils import make_mocked_request

from hookrunner.web.review_bodies import Most, check, read
from tests.tables import each

HEAD = {"Content-Type": "application/json", "Content-Length": "100"}


@each(
    ("headers", "refusal"),
    [
        ({"Content-Type": "text/plain"}, web.HTTPUnsupportedMediaType),
        ({"Content-Encoding": "gzip"}, web.HTTPUnsupportedMediaType),
        ({"Content-Length": "101"}, web.HTTPRequestEntityTooLarge),
        ({"Expect": "something-else"}, web.HTTPExpectationFailed),
    ],
)
def test_request_is_refused_by_its_head(headers: dict[str, str], refusal: type[web.HTTPException]) -> None:
    with pytest.raises(refusal):
        check(make_mocked_request("POST", "/hooks/a", headers=HEAD | headers), most=100)


@each(
    "headers",
    [
        {},
        {"Content-Type": "application/json; charset=utf-8"},
        {"Content-Encoding": "Identity"},
        {"Expect": "100-Continue"},
    ],
)
def test_other_heads_are_accepted(headers: dict[str, str]) -> None:
    check(make_mocked_request("POST", "/hooks/a", headers=HEAD | headers), most=100)


async def test_body_whose_parsing_would_take_too_much_is_refused() -> None:
    body = b"[" + b"{}," * 999 + b"{}]"
    for cost, refusal in ((1_000_000, None), (20_000, web.HTTPRequestEntityTooLarge)):
        request = make_mocked_request("POST", "/", payload=payload_of(body))
        with pytest.raises(refusal, match="Too Large") if refusal else nullcontext():
            assert (await read(request, Most(10_000, cost, uncounted=0), lambda size: None))[0] == body


def payload_of(body: bytes) -> StreamReader:
    reader = StreamReader(MagicMock(), 2**16, loop=asyncio.get_running_loop())
    reader.feed_data(body)
    reader.feed_eof()
    return reader
