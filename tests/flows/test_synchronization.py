"""Existing objects come first, as one Synchronization per binding; then each event comes once. Level: control plane."""

from tests.flows.conftest import Start
from tests.flows.objects import ConfigMaps
from tests.flows.scripts import FAIL_ONCE, HOLD, configmaps, hook, watching
from tests.flows.waiting import stays


async def test_the_synchronization_comes_before_events(operator: Start, cms: ConfigMaps) -> None:
    cms.create("old")
    program = await operator({"h.sh": watching(cms.namespace)})
    cms.create("new")
    cms.change("new", x="1")
    cms.delete("new")
    assert await program.hears("h.sh", 3) == [("Added", "new"), ("Modified", "new"), ("Deleted", "new")]
    first = program.contexts("h.sh")[0]
    assert (first["type"], first["binding"]) == ("Synchronization", "cms")
    assert [found["object"]["metadata"]["name"] for found in first["objects"]] == ["old"]


async def test_an_empty_cluster_synchronizes_with_an_empty_list(operator: Start, cms: ConfigMaps) -> None:
    program = await operator({"h.sh": watching(cms.namespace)})
    assert program.contexts("h.sh") == [{"binding": "cms", "type": "Synchronization", "objects": []}]


async def test_events_wait_until_the_synchronization_has_succeeded(operator: Start, cms: ConfigMaps) -> None:
    """Changes during its run are reported after it, also if it fails the first time, and no change twice."""
    program = await operator({"h.sh": watching(cms.namespace, HOLD + FAIL_ONCE)}, ready=False)
    await program.has_run("h.sh")
    cms.create("meanwhile")
    await stays(lambda: len(program.runs("h.sh")) == 1, "one run", 0.3)
    program.tell("go")
    again = (await program.has_run("h.sh", 2))[1]
    assert [found["object"]["metadata"]["name"] for found in again[0]["objects"]] == ["meanwhile"]
    await program.ready()
    cms.create("after")
    assert await program.hears("h.sh", 1) == [("Added", "after")]


async def test_a_binding_that_skips_its_synchronization_misses_no_event(operator: Start, cms: ConfigMaps) -> None:
    cms.create("old")
    program = await operator({"h.sh": watching(cms.namespace, executeHookOnSynchronization=False)})
    cms.create("new")
    await program.hears("h.sh", 1)
    assert [context["type"] for context in program.contexts("h.sh")] == ["Event"]


async def test_each_binding_of_a_hook_synchronizes_in_the_order_of_its_config(operator: Start, cms: ConfigMaps) -> None:
    bindings = [configmaps(cms.namespace, name=name) for name in ("b", "a", "c")]
    program = await operator({"h.sh": hook({"kubernetes": bindings})})
    assert [context["binding"] for context in program.contexts("h.sh")] == ["b", "a", "c"]
