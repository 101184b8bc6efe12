"""Requests that are refused by their head alone, before a byte of the body is read. The others: `test_reviews.py`."""

import pytest
from aiohttp import web
from aiohttp.test_utils import make_mocked_request

from hookrunner.web.review_bodies import check
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
