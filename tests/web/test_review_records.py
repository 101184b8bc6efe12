"""What the metrics and the log tell of reviews. Level: pure."""

import pytest

from hookrunner.model.reviews import Verdict
from tests.web.reviewing import ScriptedReviewer, admission, conversion, count, failed, served


async def test_reviews_are_counted_by_result() -> None:
    reviewer = ScriptedReviewer()
    async with served(reviewer) as server:
        for reviewer.verdict in (Verdict(True), Verdict(False), failed(), failed(ignorable=True), RuntimeError()):
            await server.post("/hooks/a", admission())
        await server.post("/a.example.com", conversion())
        shown = server.metrics.exposition()
    counts = [count(shown, 'type="admission"', f'result="{word}"') for word in ("allowed", "denied", "failed")]
    assert (counts, count(shown, 'result="converted"', 'webhook="a.example.com"')) == ([1, 1, 3], 1)
    assert b'hookrunner_webhook_seconds_count{stage="total",type="admission",webhook="a"} 5\n' in shown


async def test_unknown_paths_create_no_labels() -> None:
    async with served(ScriptedReviewer(failed("no hook answers"))) as server:
        for n in range(5):
            await server.post(f"/hooks/made-up-{n}", admission())
        shown = server.metrics.exposition()
    assert count(shown, 'webhook=""', 'result="failed"') == count(shown) == 5


async def test_denied_review_is_logged_with_user_object_and_reason(capfd: pytest.CaptureFixture[str]) -> None:
    request = {"kind": {"kind": "Pod"}, "namespace": "shop", "name": "a", "operation": "CREATE"}
    reviewer = ScriptedReviewer(Verdict(False, "not today"), failed("h.sh: came back with metadata.name b"))
    async with served(reviewer) as server:
        await server.post("/hooks/a", admission(**request, userInfo={"username": "ann"}))
        await server.post("/a.example.com", conversion())
        reviewer.verdict = failed("Hook failed: h.sh: no answer")
        await server.post("/hooks/a", admission())
    denied, unconverted, undecided = (line for line in capfd.readouterr().err.splitlines() if "review " in line)
    for words in ("review denied", "not today", "CREATE", "Pod", "shop", "username=ann"):
        assert words in denied
    for words in ("review failed", "came back with metadata.name b"):
        assert words in unconverted
    for words in ("review failed", "Hook failed: h.sh: no answer"):
        assert words in undecided
