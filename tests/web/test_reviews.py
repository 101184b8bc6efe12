"""Reviews over real TLS: paths, what is refused and how, verdicts and failures as they are sent, deadlines.

Level: pure."""

import asyncio
import io
from typing import Any

import orjson
import pytest

from hookrunner.model.reviews import AdmissionReview, ConversionReview, Verdict
from hookrunner.web import reviews
from hookrunner.web.review_limits import ReviewLimits
from tests.tables import each
from tests.web.connecting import WHOLE, connected
from tests.web.reviewing import ScriptedReviewer, Setup, admission, conversion, count, failed, served

JSON_TYPE = {"Content-Type": "application/json"}
DEEP = b"[" * 100_000


# ── what comes in ─────────────────────────────────────────────────────────────────────────────────────────────────────


@each(
    ("path", "webhook"),
    [
        ("/hooks/policy", "policy"),
        ("/hooks/next/hook", "next/hook"),
        ("/hooks//policy/", "policy"),
        ("/hooks/policy?timeout=5s&x=1", "policy"),
    ],
)
async def test_admission_path_ends_with_the_webhook_id(path: str, webhook: str) -> None:
    reviewer = ScriptedReviewer(Verdict(True))
    async with served(reviewer) as server:
        status, answer = await server.post(path, admission(object={"a": 1}))
    (review,) = reviewer.reviews
    assert isinstance(review, AdmissionReview)
    assert (review.webhook, review.api_version, review.request.uid) == (webhook, "admission.k8s.io/v1", "u-1")
    assert orjson.loads(review.request.text) == {"uid": "u-1", "object": {"a": 1}, "oldObject": None, "options": None}
    assert (status, answer["response"]) == (200, {"uid": "u-1", "allowed": True})


async def test_conversion_path_is_the_name_of_a_crd() -> None:
    reviewer = ScriptedReviewer(objects=[{"apiVersion": "example.com/v2"}])
    async with served(reviewer) as server:
        status, answer = await server.post("/crontabs.example.com", conversion({"apiVersion": "example.com/v1"}))
    (review,) = reviewer.reviews
    assert isinstance(review, ConversionReview)
    assert (review.definition, review.api_version) == ("crontabs.example.com", "apiextensions.k8s.io/v1")
    assert (status, answer["response"]["convertedObjects"]) == (200, reviewer.objects)


@pytest.mark.slow
@each("path", ["/", "/hooks", "/hooks/", "/a/b", "/a.b/c", "/metrics", "/healthz/x"])
@each("method", ["GET", "POST", "PUT"])
async def test_other_paths_are_answered_404(path: str, method: str) -> None:
    async with served(ScriptedReviewer()) as server, server.session.request(method, path) as answer:
        assert answer.status == 404


@each("path", ["/hooks/a", "/a.example.com"])
@each("method", ["GET", "HEAD", "PUT", "DELETE", "OPTIONS"])
async def test_webhooks_accept_post_only(path: str, method: str) -> None:
    async with served(ScriptedReviewer()) as server, server.session.request(method, path) as answer:
        assert (answer.status, answer.headers["Allow"]) == (405, "POST")


@each(
    ("kinds", "path", "body"),
    [(("conversion",), "/hooks/a", admission()), (("admission",), "/a.example.com", conversion())],
)
async def test_port_for_one_kind_of_review_refuses_the_other(kinds: Any, path: str, body: Any) -> None:
    async with served(ScriptedReviewer(), Setup(kinds=kinds)) as server:
        assert (await server.post(path, body))[0] == 404


@each(("path", "body"), [("/hooks/a", admission()), ("/a.example.com", conversion())])
async def test_review_that_no_hook_answers_is_refused_with_its_reason(path: str, body: Any) -> None:
    reviewer = ScriptedReviewer()
    name = path.rpartition("/")[2]
    reviewer.undeclared.add(name)
    async with served(reviewer) as server:
        assert await server.post(path, body) == (404, f"no hook answers '{name}'\n")
        assert count(server.metrics.exposition(), 'result="unknown"') == 1
    assert reviewer.reviews == []


async def test_readiness_probe_reports_whether_reviews_can_be_answered() -> None:
    reviewer = ScriptedReviewer()
    async with served(reviewer) as server:
        async with server.session.get("/readyz") as ready, server.session.get("/healthz") as alive:
            assert (ready.status, alive.status) == (200, 200)
        reviewer.lacks = "snapshot 'pods' of hook a.sh"
        async with server.session.get("/readyz") as ready, server.session.get("/healthz") as alive:
            assert (ready.status, await ready.text(), alive.status) == (503, f"{reviewer.lacks}\n", 200)
        async with server.session.post("/healthz") as answer:
            assert answer.status == 405


@each(
    ("content_type", "status"),
    [
        ("application/json", 200),
        ("application/json; charset=utf-8", 200),
        ("Application/JSON", 200),
        ("text/plain", 415),
        ("application/x-www-form-urlencoded", 415),
        ("application/jsonx", 415),
        ("", 415),
    ],
)
async def test_body_that_is_not_json_is_refused(content_type: str, status: int) -> None:
    async with served(ScriptedReviewer()) as server:
        got, _ = await server.post("/hooks/a", data=orjson.dumps(admission()), headers={"Content-Type": content_type})
        assert got == status


async def test_compressed_body_is_refused() -> None:
    async with served(ScriptedReviewer()) as server:
        status, text = await server.post("/hooks/a", data=b"x", headers=JSON_TYPE | {"Content-Encoding": "gzip"})
        assert (status, text) == (415, "compressed bodies are not taken: send it without Content-Encoding\n")


@pytest.mark.slow
@each(
    ("body", "text"),
    [
        (b"", "Invalid JSON payload"),
        (b"{", "Invalid JSON payload"),
        (b"\xff\xfe", "Invalid JSON payload"),
        (b'{"request": NaN}', "Invalid JSON payload"),
        (DEEP, "Invalid JSON payload"),
        (b'{"request": ' + DEEP, "Invalid JSON payload"),
        (b'"\\ud800"', "Invalid JSON payload"),
        (b"[]", "Invalid JSON payload: it has to be an object"),
        (b"null", "Invalid JSON payload: it has to be an object"),
        (b"{}", "this path takes a AdmissionReview of admission.k8s.io/v1 or admission.k8s.io/v1beta1"),
        (orjson.dumps(admission() | {"kind": "ConversionReview"}), "not a 'admission.k8s.io/v1 ConversionReview'"),
        (orjson.dumps(conversion()), "not a 'apiextensions.k8s.io/v1 ConversionReview'"),
        (orjson.dumps(admission() | {"apiVersion": "admission.k8s.io/v2"}), "not a 'admission.k8s.io/v2"),
        (orjson.dumps(admission() | {"apiVersion": 1}), "not a '1 AdmissionReview'"),
        (orjson.dumps(admission() | {"request": None}), "Missing parameters: request\n"),
        (orjson.dumps(admission() | {"request": []}), "Missing parameters: request\n"),
        (orjson.dumps(admission(uid=7)), "Missing parameters: request.uid\n"),
        (
            b'{"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": {"uid": "", "object": %b}}'
            % (b"[" * 300 + b"]" * 300),
            "Invalid JSON payload: nested too deep: more than 230 maps and lists",
        ),
    ],
)
async def test_body_that_is_no_admission_review_is_refused_with_a_reason(body: bytes, text: str) -> None:
    reviewer = ScriptedReviewer()
    async with served(reviewer) as server:
        status, answer = await server.post("/hooks/a", data=body, headers=JSON_TYPE)
        assert (status, text in answer, reviewer.reviews) == (400, True, [])
        assert (await server.post("/hooks/a", admission()))[0] == 200


@each(
    ("change", "missing"),
    [
        ({"desiredAPIVersion": None}, "request.desiredAPIVersion"),
        ({"objects": None}, "request.objects"),
        ({"objects": [1]}, "request.objects"),
        ({"uid": None}, "request.uid"),
    ],
)
async def test_body_that_is_no_conversion_review_is_refused_with_a_reason(change: dict[str, Any], missing: str) -> None:
    body = conversion()
    body["request"] |= change
    async with served(ScriptedReviewer()) as server:
        assert await server.post("/a.example.com", body) == (400, f"Missing parameters: {missing}\n")


@each("chunked", [True, False])
@each(("path", "most"), [("/hooks/a", 1000), ("/a.example.com", 2000)])
async def test_oversized_body_is_refused_early(path: str, most: int, chunked: bool) -> None:
    async def endless() -> Any:
        for _ in range(most // 100 + 1):
            yield b" " * 100

    body = endless() if chunked else b" " * (most + 1)
    async with served(
        ScriptedReviewer(), Setup(limits=ReviewLimits(admission_body=1000, conversion_body=2000))
    ) as server:
        status, text = await server.post(path, data=body, headers=JSON_TYPE)
        assert (status, text) == (413, f"the body is larger than {most} bytes\n")


async def test_expect_100_continue_is_answered() -> None:
    async with served(ScriptedReviewer()) as server:
        assert (await server.post("/hooks/a", admission(), expect100=True))[0] == 200


# ── what goes out ─────────────────────────────────────────────────────────────────────────────────────────────────────


async def test_denied_review_is_answered_with_200() -> None:
    async with served(ScriptedReviewer(Verdict(False, "no", 418))) as server:
        status, answer = await server.post("/hooks/a", admission())
    assert (status, answer) == (
        200,
        {
            "apiVersion": "admission.k8s.io/v1",
            "kind": "AdmissionReview",
            "response": {"uid": "u-1", "allowed": False, "status": {"code": 418, "message": "no"}},
        },
    )


async def test_failure_becomes_a_refusal_under_policy_fail() -> None:
    async with served(ScriptedReviewer(failed("no answer", 500))) as server:
        status, answer = await server.post("/hooks/a", admission())
    assert (status, answer["response"]["allowed"]) == (200, False)
    assert answer["response"]["status"] == {"code": 500, "message": "no answer"}


async def test_failure_becomes_a_failed_call_under_policy_ignore() -> None:
    async with served(ScriptedReviewer(failed("Hook failed", ignorable=True))) as server:
        answer = await server.session.post("/hooks/a", json=admission())
        assert (answer.status, await answer.text(), "Retry-After" in answer.headers) == (500, "Hook failed\n", False)


@each("ignorable", [False, True])
async def test_failed_conversion_is_always_reported_in_the_envelope(ignorable: bool) -> None:
    async with served(ScriptedReviewer(objects=failed("no way to v2", ignorable=ignorable))) as server:
        status, answer = await server.post("/a.example.com", conversion({}))
    assert (status, answer["response"]) == (
        200,
        {"uid": "u-2", "result": {"status": "Failure", "message": "no way to v2"}},
    )


@pytest.mark.slow
async def test_five_thousand_objects_come_back_unchanged() -> None:
    metadata = {"name": "a"}
    objects = [{"apiVersion": "example.com/v2", "metadata": metadata, "n": n, "data": "x" * 500} for n in range(5000)]
    reviewer = ScriptedReviewer(objects=objects)
    async with served(reviewer) as server:
        body = io.BytesIO(orjson.dumps(conversion(*objects)))
        status, answer = await server.post("/a.example.com", data=body, headers=JSON_TYPE)
    assert (status, answer["response"]["convertedObjects"] == objects) == (200, True)
    (review,) = reviewer.reviews
    assert isinstance(review, ConversionReview)
    (group,) = review.request.groups.values()
    assert group.objects.values() == objects


@pytest.mark.parametrize(
    "reviewer", [ScriptedReviewer(RuntimeError("boom")), ScriptedReviewer(Verdict(True, patch=({"op": object()},)))]
)
async def test_bug_becomes_a_failed_call_and_the_connection_stays(
    reviewer: ScriptedReviewer, caplog: pytest.LogCaptureFixture
) -> None:
    async with served(reviewer) as server:
        status, text = await server.post("/hooks/a", admission())
        assert (status, "see the log of hookrunner" in text) == (500, True)
        reviewer.verdict = Verdict(True)
        assert (await server.post("/hooks/a", admission()))[0] == 200


async def test_log_bounds_texts_from_outside(
    capfd: pytest.CaptureFixture[str],
) -> None:
    long = "x" * 100_000
    asked = admission(name=long, namespace=[long], kind=long, userInfo={"username": {"a": long}}, operation="CREATE")
    async with served(reviewer := ScriptedReviewer(Verdict(False, long))) as server:
        await server.post("/hooks/a", asked)
        for reviewer.verdict in (failed(long), failed(long, ignorable=True)):
            await server.post("/hooks/a", asked)
        reviewer.objects = failed(long)
        await server.post("/a.example.com", conversion({}))
    lines = [line for line in capfd.readouterr().err.splitlines() if "review " in line]
    assert (len(lines), max(map(len, lines)) < 4000) == (4, True)


# ── time ──────────────────────────────────────────────────────────────────────────────────────────────────────────────


@each(
    ("timeout", "expected"),
    [
        ("10s", 9.8),
        ("1m30s", 29.8),
        ("300ms", 0.15),
        ("1s", 0.8),
        ("", 9.8),
        ("0", 9.8),
        ("-5s", 9.8),
        ("ten", 9.8),
        ("9" * 400 + "h", 9.8),
    ],
)
def test_query_sets_the_time_of_a_review(timeout: str, expected: float) -> None:
    assert reviews.allowance(timeout, 10.0) == pytest.approx(expected)


async def test_review_carries_its_deadline() -> None:
    reviewer = ScriptedReviewer()
    clock = asyncio.get_running_loop().time
    calls = [("/hooks/a?timeout=5s", admission(), 4.8), ("/hooks/a", admission(), 9.8)]
    async with served(reviewer) as server:
        for path, body, seconds in [*calls, ("/a.example.com", conversion(), 29.8)]:
            earliest = clock() + seconds
            await server.post(path, body)
            assert earliest <= reviewer.reviews[-1].deadline <= clock() + seconds


@pytest.fixture
def hour(monkeypatch: pytest.MonkeyPatch) -> None:
    """A server whose reviews may take an hour unless their query says less, so that a deadline ends none of them."""
    monkeypatch.setattr(reviews, "LONGEST_TIMEOUT", 3600.0)
    monkeypatch.setattr(reviews, "DEFAULT_TIMEOUT", dict.fromkeys(reviews.DEFAULT_TIMEOUT, 3600.0))


@pytest.mark.usefixtures("hour")
async def test_reviewer_that_exceeds_the_deadline_is_stopped() -> None:
    reviewer = ScriptedReviewer(paused=True)
    async with served(reviewer) as server, asyncio.timeout(60):
        status, text = await server.post("/hooks/a?timeout=20ms", admission())
        assert (status, text, reviewer.cancelled) == (500, "hookrunner had no answer by the deadline\n", 1)
        status, answer = await server.post("/a.example.com?timeout=20ms", conversion())
        assert (status, answer["response"]["result"]["status"], reviewer.cancelled) == (200, "Failure", 2)


# ── how many ──────────────────────────────────────────────────────────────────────────────────────────────────────────


async def test_review_over_the_limit_is_answered_429_at_once() -> None:
    reviewer = ScriptedReviewer(paused=True)
    async with served(reviewer, Setup(most=2)) as server, asyncio.timeout(60):
        waiting = [asyncio.create_task(server.post("/hooks/a", admission())) for _ in range(2)]
        await reviewer.wait_for_reviews(2)
        async with server.session.post("/a.example.com", json=conversion({})) as answer:
            assert (answer.status, answer.headers["Retry-After"]) == (429, "1")
            assert await answer.text() == "2 reviews are being answered or wait: no more are taken now, ask again\n"
        assert b"hookrunner_webhook_running 2\n" in server.metrics.exposition()
        reviewer.unpaused.set()
        assert [status for status, _ in await asyncio.gather(*waiting)] == [200, 200]
        assert (await server.post("/hooks/a", admission()))[0] == 200
        shown = server.metrics.exposition()
        assert b"hookrunner_webhook_running 0\n" in shown
        assert count(shown, 'type="conversion"', 'result="limit"') == count(shown, 'result="limit"') == 1


@pytest.mark.usefixtures("hour")
async def test_review_ends_when_its_client_leaves_and_makes_room() -> None:
    reviewer = ScriptedReviewer(paused=True)
    async with served(reviewer, Setup(most=1)) as server, asyncio.timeout(60):
        asking = asyncio.create_task(server.post("/hooks/a", admission()))
        await reviewer.wait_for_reviews(1)
        asking.cancel()
        await reviewer.wait_for_cancellations()
        reviewer.unpaused.set()
        assert (await server.post("/hooks/a", admission()))[0] == 200


async def test_incomplete_request_occupies_no_review_slot() -> None:
    async with (
        served(ScriptedReviewer(), Setup(most=1)) as server,
        asyncio.timeout(60),
        connected(server) as (_, writer),
    ):
        writer.write(WHOLE[:-1])
        assert (await server.post("/hooks/a", admission()))[0] == 200


@each("expect", [True, False])
async def test_bodies_over_the_memory_budget_are_answered_429(expect: bool) -> None:
    reviewer, large = ScriptedReviewer(paused=True), admission(object={"data": "x" * 60_000})
    async with served(reviewer, Setup(memory=200_000)) as server, asyncio.timeout(60):
        waiting = asyncio.create_task(server.post("/hooks/a", large))
        await reviewer.wait_for_reviews(1)
        async with server.session.post("/hooks/a", json=large, expect100=expect) as answer:
            assert (answer.status, answer.headers["Retry-After"]) == (429, "1")
            assert "bytes: no more are taken now, ask again" in await answer.text()
        reviewer.unpaused.set()
        assert [(await waiting)[0], (await server.post("/hooks/a", large))[0]] == [200, 200]
        assert count(server.metrics.exposition(), 'result="limit"') == 1
