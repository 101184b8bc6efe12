"""Groups, snapshots, filters and v0: the contexts that a hook reads, with the whole program in between.

Level: control plane."""

from typing import Any

from tests.flows.conftest import Start
from tests.flows.objects import ConfigMaps
from tests.flows.scripts import configmaps, hook, watching
from tests.flows.waiting import stays, until

EACH_SECOND = {"name": "tick", "crontab": "* * * * * *"}


async def test_changes_that_leave_the_filter_result_are_no_events(operator: Start, cms: ConfigMaps) -> None:
    cms.create("a", x="1")
    program = await operator({"h.sh": watching(cms.namespace, jqFilter=".data.x")})
    assert [found["filterResult"] for found in program.contexts("h.sh")[0]["objects"]] == ["1"]
    cms.change("a", y="unseen")
    cms.change("a", x="2")
    await program.hears("h.sh", 1)
    event = program.contexts("h.sh")[1]
    assert (event["watchEvent"], event["filterResult"], event["object"]["data"]["y"]) == ("Modified", "2", "unseen")


async def test_without_full_objects_contexts_have_only_the_filter_result(operator: Start, cms: ConfigMaps) -> None:
    cms.create("a", x="1")
    program = await operator({"h.sh": watching(cms.namespace, jqFilter=".data.x", keepFullObjectsInMemory=False)})
    cms.change("a", x="2")
    await program.has_run("h.sh", 2)
    assert program.contexts("h.sh") == [
        {"binding": "cms", "type": "Synchronization", "objects": [{"filterResult": "1"}]},
        {"binding": "cms", "type": "Event", "watchEvent": "Modified", "filterResult": "2"},
    ]


async def test_a_failing_filter_is_reported_and_retried_while_others_pass(operator: Start, cms: ConfigMaps) -> None:
    """One object of a hundred."""
    program = await operator({"h.sh": watching(cms.namespace, jqFilter=".data.n | tonumber")})
    await cms.create_many([f"good-{number}" for number in range(99)], n="7")
    cms.create("bad", n="many")
    await program.hears("h.sh", 99)
    shown = await until(lambda: [t for t in program.queue_list()["main"] if t.startswith("FilterRetry")], "its task")
    assert f"cms {cms.namespace}/ConfigMap/bad" in shown[0]
    record = await program.wait_log("filter failed on an object")
    assert "parsed as a number" in record["reason"]
    cms.change("bad", n="8")
    told = await program.hears("h.sh", 100)
    assert told[-1][1] == "bad"
    await until(lambda: not any(program.queue_list().values()), "the end of its task")


async def test_a_group_gets_snapshots_and_no_events(operator: Start, cms: ConfigMaps) -> None:
    cms.create("a")
    bindings = [configmaps(cms.namespace, name=name, group="g") for name in ("one", "two")]
    program = await operator({"h.sh": hook({"kubernetes": bindings})})
    cms.create("b")
    both = {"one": ["a", "b"], "two": ["a", "b"]}
    await until(
        lambda: {name: names(program.contexts("h.sh")[-1], name) for name in both} == both, "both objects twice"
    )
    for context in program.contexts("h.sh"):
        assert (context["type"], context["groupName"]) == ("Group", "g")
        assert "object" not in context
        assert "watchEvent" not in context


async def test_a_binding_may_serve_its_snapshot_only(operator: Start, cms: ConfigMaps) -> None:
    silent = configmaps(cms.namespace, executeHookOnEvent=[], executeHookOnSynchronization=False)
    tick = {**EACH_SECOND, "includeSnapshotsFrom": ["cms"]}
    program = await operator({"h.sh": hook({"kubernetes": [silent], "schedule": [tick]})})
    cms.create("a")
    await until(lambda: program.runs("h.sh") and names(program.contexts("h.sh")[-1]) == ["a"], "the snapshot")
    assert {context["type"] for context in program.contexts("h.sh")} == {"Schedule"}


async def test_all_contexts_of_a_run_share_one_snapshot(operator: Start, cms: ConfigMaps) -> None:
    """They are read once per run, also for the binding that is synchronized."""
    cms.create("a")
    program = await operator({"h.sh": watching(cms.namespace, includeSnapshotsFrom=["cms"])})
    (first,) = program.contexts("h.sh")
    assert first["objects"] == first["snapshots"]["cms"]
    cms.create("b")
    cms.delete("a")
    await program.hears("h.sh", 2)
    for run in program.runs("h.sh"):
        assert all(context["snapshots"] == run[0]["snapshots"] for context in run)
    assert names(program.contexts("h.sh")[-1]) == ["b"]


async def test_only_selected_event_types_run_the_hook(operator: Start, cms: ConfigMaps) -> None:
    program = await operator({"h.sh": watching(cms.namespace, executeHookOnEvent=["Deleted"])})
    cms.create("a")
    cms.change("a", x="1")
    cms.delete("a")
    assert await program.hears("h.sh", 1) == [("Deleted", "a")]
    assert program.contexts("h.sh")[1]["object"]["data"] == {"x": "1"}


async def test_selectors_are_sent_to_the_api_server(operator: Start, cms: ConfigMaps) -> None:
    by_name = configmaps(cms.namespace, name="named", nameSelector={"matchNames": ["a", "b"]})
    fields = {"matchExpressions": [{"field": "metadata.name", "operator": "NotEquals", "value": "a"}]}
    by_field = configmaps(cms.namespace, name="field", fieldSelector=fields)
    program = await operator({"n.sh": hook({"kubernetes": [by_name]}), "f.sh": hook({"kubernetes": [by_field]})})
    for name in ("a", "b", "c"):
        cms.create(name)
    await program.hears("f.sh", 2)
    await program.hears("n.sh", 2)
    assert [name for _, name in program.events("f.sh")] == ["b", "c"]
    assert sorted(name for _, name in program.events("n.sh")) == ["a", "b"]


async def test_a_v0_hook_gets_v0_contexts(operator: Start, cms: ConfigMaps) -> None:
    binding = {"name": "old", "kind": "ConfigMap", "event": ["add", "delete"], "namespaceSelector": in_(cms)}
    program = await operator({"h.sh": hook({"onKubernetesEvent": [binding]})})
    assert program.runs("h.sh") == []
    cms.create("a")
    cms.change("a", x="1")
    cms.delete("a")
    await until(lambda: len(program.contexts("h.sh")) == 2, "two events")
    await stays(lambda: len(program.contexts("h.sh")) == 2, "two events", 0.2)
    assert [context["resourceEvent"] for context in program.contexts("h.sh")] == ["add", "delete"]
    assert program.contexts("h.sh")[0]["resourceName"] == "a"


async def test_bindings_with_the_same_crontab_run_together(operator: Start) -> None:
    scripts = {f"{name}.sh": hook({"schedule": [EACH_SECOND]}) for name in "ab"}
    program = await operator(scripts)
    await program.has_run("a.sh", 3)
    await program.has_run("b.sh", 3)
    assert program.contexts("a.sh")[0] == {"binding": "tick", "type": "Schedule"}
    await program.stop()  # while it runs, there may be a tick between one count and the other
    assert abs(len(program.contexts("a.sh")) - len(program.contexts("b.sh"))) <= 1


def names(context: dict[str, Any], binding: str = "cms") -> list[str]:
    """Names of the objects in a snapshot."""
    return [found["object"]["metadata"]["name"] for found in context.get("snapshots", {}).get(binding, [])]


def in_(cms: ConfigMaps) -> dict[str, Any]:
    """A v0 namespace selector."""
    return {"matchNames": [cms.namespace]}
