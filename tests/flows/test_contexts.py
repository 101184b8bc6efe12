"""Snapshots, selectors and v0: the contexts that a hook reads, with the whole program in between; others: tests/engine.

Level: control plane."""

from tests.flows.conftest import Start
from tests.flows.objects import ConfigMaps
from tests.flows.scripts import configmaps, hook, watching
from tests.flows.waiting import stays, until


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
    (left,) = program.contexts("h.sh")[-1]["snapshots"]["cms"]
    assert left["object"]["metadata"]["name"] == "b"


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
    where = {"matchNames": [cms.namespace]}
    binding = {"name": "old", "kind": "ConfigMap", "event": ["add", "delete"], "namespaceSelector": where}
    program = await operator({"h.sh": hook({"onKubernetesEvent": [binding]})})
    assert program.runs("h.sh") == []
    cms.create("a")
    cms.change("a", x="1")
    cms.delete("a")
    await until(lambda: len(program.contexts("h.sh")) == 2, "two events")
    await stays(lambda: len(program.contexts("h.sh")) == 2, "two events", 0.2)
    assert [context["resourceEvent"] for context in program.contexts("h.sh")] == ["add", "delete"]
    assert program.contexts("h.sh")[0]["resourceName"] == "a"
