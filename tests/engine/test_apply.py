"""Which operations a retry sends again; their meaning is for tests/kube/test_objects.py. Level: sandbox."""

import json

import pytest

from hookrunner.engine.hook_executor import Applier
from hookrunner.errors import PatchFailed
from hookrunner.hooks import patches
from hookrunner.jq.program import Jq
from hookrunner.kube.client import Client
from hookrunner.kube.discovery import Discovery
from hookrunner.kube.objects import Objects
from hookrunner.metrics.hooks import HookMetrics
from hookrunner.model.operations import PreviousAttempt
from kubesandbox.faults import Fault
from tests.engine.conftest import Bench
from tests.fakes.objects import config_map


def create(name: str) -> str:
    return json.dumps({"operation": "Create", "object": config_map(name)})


def merge(name: str, value: str) -> str:
    """Sets `data.x` of a ConfigMap; fails if it is missing."""
    where = {"operation": "MergePatch", "kind": "ConfigMap", "namespace": "default", "name": name}
    return json.dumps({**where, "mergePatch": {"data": {"x": value}}})


BROKEN = merge("none", "1")


@pytest.mark.parametrize(
    ("attempts", "sent"),
    [
        pytest.param([[merge("a", "1")]] * 2, [1, 0], id="unchanged"),
        pytest.param([[merge("a", "1")], [merge("a", "2")], [merge("a", "1")]], [1, 1, 1], id="there-and-back"),
        pytest.param([[merge("a", "1")], [merge("a", "2"), merge("a", "1")]], [1, 2], id="something-before-it"),
        pytest.param([[merge("a", "1"), merge("a", "2")], [merge("a", "1")]], [2, 1], id="less-than-before"),
        pytest.param([[merge("a", "1")], [merge("a", "1"), merge("a", "2")]], [1, 1], id="more-behind-it"),
        pytest.param([[merge("b", "1"), create("b")]] * 2, [2, 1], id="only-what-failed"),
        pytest.param([[create("b")], [merge("a", "1"), create("b")]], [1, 1], id="other-objects-do-not-matter"),
    ],
)
async def test_a_retry_sends_what_an_attempt_has_not_settled(
    bench: Bench, jq: Jq, client: Client, attempts: list[list[str]], sent: list[int]
) -> None:
    bench.api.put(config_map("a"))
    applier, previous = Applier(Objects(client, Discovery(client), jq), HookMetrics()), PreviousAttempt()
    counts = []
    for attempt in attempts:
        before = len(bench.api.asked("POST") + bench.api.asked("PATCH"))
        with pytest.raises(PatchFailed, match="none"):
            await applier.carry_out(patches.parse("\n".join([*attempt, BROKEN]).encode()), previous)
        counts.append(len(bench.api.asked("POST") + bench.api.asked("PATCH")) - before - 1)
    assert counts == sent


async def test_a_right_that_is_missing_is_named_and_the_rest_is_done(bench: Bench, jq: Jq, client: Client) -> None:
    bench.api.put(config_map("a"))
    objects = Objects(client, discovery := Discovery(client), jq)
    await discovery.resolve("", "ConfigMap")
    bench.api.faults.add(Fault("answer", times=1, status=403))
    operations = patches.parse(f"{merge('a', '1')} {create('b')}".encode())
    with pytest.raises(
        PatchFailed, match="Filter object /ConfigMap/default/a: a fault that the sandbox was given: Forbidden"
    ):
        await Applier(objects, HookMetrics()).carry_out(operations, [])
    assert bench.api.get(config_map("b"))
