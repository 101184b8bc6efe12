"""Reviews are answered by hooks, and whatever goes wrong on the way has an end and a name. Level: sandbox."""

import asyncio
import base64
import json
from dataclasses import replace
from typing import Any

import orjson
import pytest

from hookrunner.engine.reviews import review_runs
from hookrunner.engine.reviews.review_runs import ReviewRuns
from hookrunner.engine.reviews.reviewer import HookReviewer
from hookrunner.errors import ReviewFailed
from hookrunner.jq.program import Jq
from hookrunner.kube.client import Client
from hookrunner.model.reviews import AdmissionRequest, AdmissionReview, ConversionRequest, ConversionReview, Verdict
from kubesandbox.faults import Fault
from tests.engine.conftest import Bench
from tests.fakes.cluster import settle, until

REQUEST = {"uid": "u-1", "operation": "CREATE", "object": {"kind": "Pod", "metadata": {"name": "a"}}}
CRD = "crontabs.example.com"
CMS = {"name": "cms", "apiVersion": "v1", "kind": "ConfigMap"}


def validating(**more: Any) -> dict[str, Any]:
    return {"kubernetesValidating": [{"name": "policy.example.com", "rules": [RULE], **more}]}


RULE = {"apiGroups": [""], "apiVersions": ["v1"], "resources": ["pods"], "operations": ["CREATE"]}


def answer(text: str) -> str:
    return f"echo '{text}' > $VALIDATING_RESPONSE_PATH"


STUBBORN = """\
cd $(dirname $0)/..
trap 'echo > ended; exit' TERM
echo > running
while :; do sleep 0.01; done"""
"""Runs until it is asked to end, and tells of both."""


class Reviewed:
    """A running engine that is asked."""

    def __init__(self, bench: Bench, reviewer: HookReviewer) -> None:
        self.bench = bench
        self.reviewer = reviewer

    async def admit(self, seconds: float = 60.0, webhook: str = "policy-example-com", **request: Any) -> Verdict:
        deadline = asyncio.get_running_loop().time() + seconds
        review = AdmissionReview(webhook, "admission.k8s.io/v1", AdmissionRequest.of(REQUEST | request), deadline)
        return await self.reviewer.admit(review)

    async def convert(self, to: str, *objects: Any) -> Any:
        request = {"uid": "u-1", "desiredAPIVersion": f"example.com/{to}", "objects": list(objects)}
        deadline = asyncio.get_running_loop().time() + 60
        review = ConversionReview(CRD, "apiextensions.k8s.io/v1", ConversionRequest.of(request), deadline)
        return list(map(orjson.loads, await self.reviewer.convert(review)))


@pytest.fixture
async def start(bench: Bench, jq: Jq, client: Client, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setattr(review_runs, "KILL_AFTER", 60.0)  # what is asked to end may get no CPU for a second

    async def started(concurrency: int = 4) -> Reviewed:
        await bench.start(jq, client)
        runs = ReviewRuns(bench.executor, bench.gate, bench.metrics, concurrency)
        return Reviewed(bench, HookReviewer(bench.engine, runs))

    return started


async def test_the_hook_decides(bench: Bench, start: Any) -> None:
    bench.hook("a", validating(), answer('{"allowed": false, "message": "no", "code": 418, "warnings": ["w"]}'))
    reviewed = await start()
    assert await reviewed.admit() == Verdict(False, "no", 418, ("w",))


async def test_the_hook_reads_the_whole_review(bench: Bench, start: Any) -> None:
    bench.hook("a", validating(), answer('{"allowed": true}'))
    reviewed = await start()
    await reviewed.admit()
    ((context,),) = bench.runs("a")
    assert (context["binding"], context["type"]) == ("policy.example.com", "Validating")
    assert context["review"]["apiVersion"] == "admission.k8s.io/v1"
    assert context["review"]["kind"] == "AdmissionReview"
    assert context["review"]["request"] == REQUEST | {"oldObject": None, "options": None}


async def test_a_mutating_hook_answers_with_a_patch(bench: Bench, start: Any) -> None:
    steps = [{"op": "add", "path": "/metadata/labels", "value": {}}]
    patch = base64.b64encode(json.dumps(steps).encode()).decode()
    config = {"kubernetesMutating": [{"name": "policy.example.com", "rules": [RULE]}]}
    bench.hook("a", config, answer(f'{{"allowed": true, "patch": "{patch}"}}'))
    reviewed = await start()
    assert list((await reviewed.admit()).patch) == steps


@pytest.mark.parametrize(
    ("script", "message", "code"),
    [
        ("echo secret >&2; exit 1", "Hook failed: a: exit status 1, see the log of hookrunner", 403),
        ("", "Hook failed: a: the hook wrote nothing to VALIDATING_RESPONSE_PATH", 500),
        (answer("nonsense"), "Hook failed: a: got bad validating response", 403),
        (answer('{"allowed": "yes"}'), "Hook failed: a: got bad validating response", 403),
        (
            answer('{"allowed": true}') + "; echo '{operation: Delete, kind: Pod, apiVersion: v1, name: a, namespace: "
            "}' > $KUBERNETES_PATCH_PATH",
            "Hook failed: a:",
            403,
        ),
    ],
)
@pytest.mark.parametrize("policy", ["Fail", "Ignore"])
async def test_a_hook_that_fails_says_so(
    bench: Bench, start: Any, policy: str, script: str, message: str, code: int
) -> None:
    bench.hook("a", validating(failurePolicy=policy), script)
    reviewed = await start()
    with pytest.raises(ReviewFailed) as failed:
        await reviewed.admit()
    assert str(failed.value).startswith(message)
    assert (failed.value.code, failed.value.ignorable) == (code, policy == "Ignore")


async def test_a_hook_is_ended_at_the_deadline(bench: Bench, start: Any) -> None:
    """On a busy machine, it may not have begun by then: the next one gets more time."""
    bench.hook("a", validating(), STUBBORN)
    reviewed = await start()
    for seconds in (0.3, 1, 3, 10, 30):
        with pytest.raises(ReviewFailed) as failed:
            await reviewed.admit(seconds)
        if (bench.directory / "running").exists():
            break
    assert "was waiting for the hook a" in str(failed.value)
    await wait_for_end(bench)


async def wait_for_end(bench: Bench) -> None:
    await until((bench.directory / "ended").exists)
    await until(lambda: not bench.executor.running)


async def test_a_review_of_an_undeclared_webhook_is_refused(bench: Bench, start: Any) -> None:
    """The failure policy is known to the API server only."""
    reviewed = await start()
    with pytest.raises(ReviewFailed, match="no hook answers the webhook 'policy-example-com'") as failure:
        await reviewed.admit()
    assert failure.value.ignorable


async def test_hooks_of_two_modules_answer_to_one_name(bench: Bench, start: Any) -> None:
    """A module that does not come so far as to have its snapshots makes no webhook unready."""
    bench.hook("a", validating(), answer('{"allowed": true}'))
    bench.hook("b", {**validating(includeSnapshotsFrom=["cms"]), "kubernetes": [CMS]}, answer('{"allowed": false}'))
    reviewed = await start()
    for name in "ab":
        hook = bench.engine.hooks[name]
        bench.engine.unregister(hook)
        bench.engine.register(replace(hook, name=f"{name}/h.sh", module=name))
    assert (await reviewed.admit(webhook="a/policy-example-com")).allowed
    assert reviewed.reviewer.missing() == ""
    with pytest.raises(ReviewFailed, match="the snapshot of"):
        await reviewed.admit(0.2, webhook="b/policy-example-com")
    with pytest.raises(ReviewFailed, match="its module is not on or has not come so far"):
        await reviewed.admit(webhook="c/policy-example-com")


async def test_operations_of_a_hook_are_carried_out_and_those_of_a_dry_run_are_not(bench: Bench, start: Any) -> None:
    create = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "made"}}
    patch = json.dumps({"operation": "Create", "object": create})
    bench.hook("a", validating(), f"{answer(json.dumps({'allowed': True}))}; echo '{patch}' > $KUBERNETES_PATCH_PATH")
    reviewed = await start()
    assert (await reviewed.admit(dryRun=True)).allowed
    assert bench.api.get(create) is None
    assert (await reviewed.admit()).allowed
    assert bench.api.get(create) is not None


async def test_dry_runs_may_be_left_out(bench: Bench, start: Any) -> None:
    bench.hook("a", {"settings": {"onDryRun": "skip"}, **validating()}, answer('{"allowed": false}'))
    reviewed = await start()
    assert (await reviewed.admit(dryRun=True)).allowed
    assert bench.runs("a") == []


async def test_a_review_waits_for_the_snapshots_that_its_hook_reads(bench: Bench, start: Any) -> None:
    watched = {"kubernetes": [{"name": "pods", "kind": "Pod"}]}
    bench.hook("a", watched | validating(includeSnapshotsFrom=["pods"]), answer('{"allowed": true}'))
    bench.cluster.listing.clear()
    reviewed = await start()
    waiting = asyncio.create_task(reviewed.admit(seconds=60))
    await settle()
    assert "pods" in reviewed.reviewer.missing()
    assert not waiting.done()
    bench.cluster.listing.set()
    assert (await waiting).allowed
    assert reviewed.reviewer.missing() == ""


async def test_it_gives_up_waiting_for_snapshots_at_the_deadline(bench: Bench, start: Any) -> None:
    watched = {"kubernetes": [{"name": "pods", "kind": "Pod"}]}
    bench.hook("a", watched | validating(includeSnapshotsFrom=["pods"]), answer('{"allowed": true}'))
    bench.cluster.listing.clear()
    reviewed = await start()
    await settle()
    with pytest.raises(ReviewFailed, match="waiting for the snapshot of pods"):
        await reviewed.admit(seconds=0.2)


@pytest.mark.slow
async def test_only_so_many_hooks_run_at_once(bench: Bench, start: Any) -> None:
    bench.hook("a", validating(), "sleep 0.05; " + answer('{"allowed": true}'))
    reviewed = await start(concurrency=2)
    reviews = [asyncio.create_task(reviewed.admit(seconds=60)) for _ in range(10)]
    most = 0

    def done() -> bool:
        nonlocal most
        most = max(most, len(bench.executor.running))
        return all(task.done() for task in reviews)

    await until(done)
    assert [task.result().allowed for task in reviews] == [True] * 10
    assert most == 2


async def test_a_rate_limit_counts_for_reviews_too(bench: Bench, start: Any) -> None:
    config = {"settings": {"executionMinInterval": "10m", "executionBurst": 1}, **validating()}
    bench.hook("a", config, answer('{"allowed": true}'))
    reviewed = await start()
    await reviewed.admit()
    with pytest.raises(ReviewFailed, match="rate limit"):
        await reviewed.admit(seconds=0.2)


async def test_a_client_that_gives_up_ends_the_hook(bench: Bench, start: Any) -> None:
    bench.hook("a", validating(), STUBBORN)
    reviewed = await start()
    task = asyncio.create_task(reviewed.admit(seconds=60))
    await until((bench.directory / "running").exists)
    task.cancel()
    await wait_for_end(bench)


@pytest.mark.slow
async def test_hooks_convert_in_steps(bench: Bench, start: Any) -> None:
    up = '.[0] as $c | {convertedObjects: [$c.review.request.objects[] | .apiVersion = "example.com/" + $c.toVersion]}'
    script = f"jq '{up}' $BINDING_CONTEXT_PATH > $CONVERSION_RESPONSE_PATH"
    for name, source, target in (("a", "v1", "v2"), ("b", "v2", "v3")):
        rule = {"fromVersion": source, "toVersion": target}
        binding = {"name": "up", "crdName": CRD, "conversions": [rule]}
        bench.hook(name, {"kubernetesCustomResourceConversion": [binding]}, script)
    reviewed = await start()
    obj = {"apiVersion": "example.com/v1", "kind": "CronTab", "metadata": {"name": "a", "uid": "1"}}
    (converted,) = await reviewed.convert("v3", obj)
    assert converted == obj | {"apiVersion": "example.com/v3"}
    ((context,),) = bench.runs("b")
    assert (context["fromVersion"], context["toVersion"]) == ("v2", "v3")
    assert context["review"]["kind"] == "ConversionReview"
    assert context["review"]["request"]["desiredAPIVersion"] == "example.com/v3"


async def test_a_conversion_does_not_wait_for_admission_hooks(bench: Bench, start: Any) -> None:
    """They may be waiting for it: every reader of custom objects needs them converted."""
    rule = {"fromVersion": "v1", "toVersion": "v2"}
    up = 'until [ -e "$(dirname $0)/../converted" ]; do sleep 0.01; done; ' + answer('{"allowed": true}')
    bench.hook("a", validating(), up)
    convert = """touch $(dirname $0)/../converted; echo '{"failedMessage": "enough"}' > $CONVERSION_RESPONSE_PATH"""
    binding = {"name": "up", "crdName": CRD, "conversions": [rule]}
    bench.hook("b", {"kubernetesCustomResourceConversion": [binding]}, convert)
    reviewed = await start(concurrency=1)
    admitted = asyncio.create_task(reviewed.admit(seconds=60))
    await bench.wait_for_runs("a", 1)
    with pytest.raises(ReviewFailed, match="enough"):
        await reviewed.convert("v2", {"apiVersion": "example.com/v1", "kind": "CronTab", "metadata": {"name": "a"}})
    assert (await admitted).allowed


def reading_its_own(bench: Bench) -> None:
    """A hook that converts CronTabs to v2, and reads a snapshot of them in v2."""
    rule, script = {"fromVersion": "v1", "toVersion": "v2"}, CONVERT
    binding = {"name": "up", "crdName": CRD, "conversions": [rule], "includeSnapshotsFrom": ["tabs"]}
    watched = {"name": "tabs", "apiVersion": "example.com/v2", "kind": "CronTab"}
    bench.hook("a", {"kubernetes": [watched], "kubernetesCustomResourceConversion": [binding]}, script)


CONVERT = """[ -s "$CONVERSION_RESPONSE_PATH" ] || jq '{convertedObjects: [.[0].review.request.objects // [] | .[]
  | .apiVersion = "example.com/v2"]}' $BINDING_CONTEXT_PATH > $CONVERSION_RESPONSE_PATH"""
TAB = {"apiVersion": "example.com/v1", "kind": "CronTab", "metadata": {"name": "a", "uid": "1"}}


@pytest.mark.slow
async def test_a_conversion_that_waits_for_itself_is_ended_and_says_so(bench: Bench, start: Any) -> None:
    reading_its_own(bench)
    bench.cluster.listing.clear()
    reviewed = await start()
    with pytest.raises(ReviewFailed, match="'tabs', which lists its own objects"):
        await reviewed.convert("v2", TAB)


@pytest.mark.slow
async def test_it_is_not_if_the_snapshot_comes_without_it(bench: Bench, start: Any) -> None:
    reading_its_own(bench)
    bench.cluster.listing.clear()
    reviewed = await start()
    waiting = asyncio.create_task(reviewed.convert("v2", TAB))
    await settle()
    bench.cluster.listing.set()
    assert (await waiting)[0]["apiVersion"] == "example.com/v2"


@pytest.mark.slow
async def test_reviews_wait_for_a_rate_limit_in_their_order(bench: Bench, start: Any) -> None:
    config = {"settings": {"executionMinInterval": "50ms", "executionBurst": 1}, **validating()}
    bench.hook("a", config, answer('{"allowed": true}'))
    reviewed = await start(concurrency=1)  # of two processes, the later one may be the first to tell
    reviews = [asyncio.create_task(reviewed.admit(seconds=60, uid=f"u-{number}")) for number in range(12)]
    await asyncio.gather(*reviews)
    uids = [context["review"]["request"]["uid"] for (context,) in bench.runs("a")]
    assert uids == [f"u-{number}" for number in range(12)]


async def test_a_review_that_comes_too_late_costs_nothing(bench: Bench, start: Any) -> None:
    config = {"settings": {"executionMinInterval": "10m", "executionBurst": 1}, **validating()}
    bench.hook("a", config, answer('{"allowed": true}'))
    reviewed = await start()
    with pytest.raises(ReviewFailed, match="was over before"):
        await reviewed.admit(seconds=-1)
    assert (await reviewed.admit()).allowed
    assert len(bench.runs("a")) == 1


async def test_changes_of_another_hook_take_no_turn_of_reviews(bench: Bench, start: Any) -> None:
    create = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "made"}}
    patch = json.dumps({"operation": "Create", "object": create})
    bench.hook("a", validating(), f"{answer(json.dumps({'allowed': True}))}; echo '{patch}' > $KUBERNETES_PATCH_PATH")
    reviewed = await start(concurrency=1)
    stall = bench.api.faults.add(Fault("stall", "POST "))
    creating = asyncio.create_task(reviewed.admit(seconds=120))
    await until(lambda: any("POST" in line for line in bench.api.faults.requests))
    # The API server may ask about what is being created.
    assert (await reviewed.admit(dryRun=True)).allowed
    bench.api.faults.remove(stall)
    assert (await creating).allowed
