"""Which contexts a happening leads to, and the reason shown where it leads to none. Shapes: docs/hooks.md.

Level: pure."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from hookrunner.errors import BadInput
from hookrunner.model.bindings import Change
from hookrunner.testing.bench import Bench
from hookrunner.testing.happenings import (
    Changed,
    Conversion,
    Given,
    Grouped,
    Happening,
    Lifecycle,
    NotRun,
    Review,
    Startup,
    Synchronization,
    Tick,
)
from tests.fakes.cluster import namespace
from tests.fakes.objects import config_map
from tests.testing.conftest import Author

A, B = config_map("a", x="1"), config_map("b", x="2")
FILTERED = {"name": "cms", "kind": "ConfigMap", "jqFilter": ".data.x", "keepFullObjectsInMemory": False}


def added(obj: Any, binding: str = "") -> Changed:
    return Changed(Change.ADDED, obj, binding=binding)


async def combined(
    tools: Bench, write_hook: Author, config: dict[str, Any], happenings: Sequence[Happening], *given: Any
) -> Any:
    return await tools.contexts(await tools.load(write_hook(config)), Given(given), *happenings)


async def contexts(
    tools: Bench, write_hook: Author, config: dict[str, Any], happening: Happening, *given: Any, **snapshots: Any
) -> Any:
    hook = await tools.load(write_hook(config))
    return await tools.contexts(hook, Given(given, snapshots), happening)


async def reason(tools: Bench, write_hook: Author, config: dict[str, Any], happening: Happening, *given: Any) -> str:
    with pytest.raises(NotRun) as found:
        await contexts(tools, write_hook, config, happening, *given)
    return str(found.value)


async def test_a_run_for_each_object_has_a_context_with_each(tools: Bench, write_hook: Author) -> None:
    config = {"kubernetes": [FILTERED | {"queue": "q", "synchronizeEachObject": True}]}
    shown = await contexts(tools, write_hook, config, Synchronization(), B, A)
    assert [context["objects"] for context in shown] == [[{"filterResult": "1"}], [{"filterResult": "2"}]]
    assert await reason(tools, write_hook, config, Synchronization()) == (
        "synchronizeEachObject: there is no object at the start, so no run"
    )


async def test_startup_context_names_on_startup(tools: Bench, write_hook: Author) -> None:
    assert await contexts(tools, write_hook, {"onStartup": 1}, Startup()) == [{"binding": "onStartup"}]


async def test_a_lifecycle_binding_shows_all_snapshots_of_its_hook(
    tools: Bench, write_hook: Author, tmp_path: Path
) -> None:
    (tmp_path / "hooks/modules/dns/hooks").mkdir(parents=True)
    path = write_hook({"beforeHelm": 1, "afterHelm": 1, "kubernetes": [FILTERED]}, name="modules/dns/hooks/hook.sh")
    hook = await tools.load(path)
    assert await tools.contexts(hook, Given((A,)), Lifecycle("afterHelm")) == [
        {"binding": "afterHelm", "snapshots": {"cms": [{"filterResult": "1"}]}}
    ]
    with pytest.raises(BadInput, match="which of its bindings"):
        await tools.contexts(hook, Given(), Lifecycle())


async def test_an_added_object_comes_with_its_filter_result(tools: Bench, write_hook: Author) -> None:
    config = {"kubernetes": [{"name": "cms", "kind": "ConfigMap", "jqFilter": ".data.x"}]}
    assert await contexts(tools, write_hook, config, added(A)) == [
        {"binding": "cms", "type": "Event", "watchEvent": "Added", "object": A, "filterResult": "1"}
    ]


async def test_tick_carries_snapshots_of_matching_objects(tools: Bench, write_hook: Author) -> None:
    config = {
        "schedule": [{"name": "often", "crontab": "* * * * *", "includeSnapshotsFrom": ["cms"]}],
        "kubernetes": [FILTERED | {"namespace": {"nameSelector": {"matchNames": ["default"]}}}],
    }
    found = await contexts(tools, write_hook, config, Tick(), B, A, config_map("a", "other"), namespace("a"))
    assert found == [
        {"binding": "often", "type": "Schedule", "snapshots": {"cms": [{"filterResult": "1"}, {"filterResult": "2"}]}}
    ]


async def test_crontab_names_a_tick(tools: Bench, write_hook: Author) -> None:
    config = {"schedule": [{"crontab": "1 * * * *"}, {"crontab": "2 * * * *", "name": "two"}]}
    assert await contexts(tools, write_hook, config, Tick("2 * * * *")) == [{"binding": "two", "type": "Schedule"}]


async def test_event_snapshot_holds_the_changed_object(tools: Bench, write_hook: Author) -> None:
    config = {"kubernetes": [FILTERED | {"includeSnapshotsFrom": ["cms"]}]}
    happening = Changed(Change.MODIFIED, config_map("a", x="9"))
    (context,) = await contexts(tools, write_hook, config, happening, A, B)
    assert context["snapshots"] == {"cms": [{"filterResult": "9"}, {"filterResult": "2"}]}
    (context,) = await contexts(tools, write_hook, config, Changed(Change.DELETED, A), A, B)
    assert (context["filterResult"], context["snapshots"]) == ("1", {"cms": [{"filterResult": "2"}]})


async def test_synchronization_lists_the_objects(tools: Bench, write_hook: Author) -> None:
    found = await contexts(tools, write_hook, {"kubernetes": [FILTERED]}, Synchronization(), A)
    assert found == [{"binding": "cms", "type": "Synchronization", "objects": [{"filterResult": "1"}]}]


async def test_a_snapshot_may_be_given_by_the_name_of_its_binding(tools: Bench, write_hook: Author) -> None:
    two = [FILTERED, FILTERED | {"name": "others"}]
    (context,) = await contexts(tools, write_hook, {"kubernetes": two}, Synchronization("cms"), cms=(A,))
    assert context["objects"] == [{"filterResult": "1"}]
    (context,) = await contexts(tools, write_hook, {"kubernetes": two}, Synchronization("others"), cms=(A,))
    assert context["objects"] == []


async def test_group_shows_snapshots_of_all_its_bindings(tools: Bench, write_hook: Author) -> None:
    config = {"kubernetes": [FILTERED | {"group": "g"}, {"name": "ns", "kind": "Namespace", "group": "g"}]}
    for happening in (Grouped("g"), added(A)):
        (context,) = await contexts(tools, write_hook, config, happening, A, namespace("n"))
        assert (context["type"], context["groupName"], set(context["snapshots"])) == ("Group", "g", {"cms", "ns"})


async def test_v0_hook_gets_v0_contexts(tools: Bench, write_hook: Author) -> None:
    config = {"onKubernetesEvent": [{"kind": "ConfigMap"}]}
    assert await contexts(tools, write_hook, config, added(A)) == [
        {
            "binding": "onKubernetesEvent",
            "resourceEvent": "add",
            "resourceNamespace": "default",
            "resourceKind": "ConfigMap",
            "resourceName": "a",
        }
    ]


WATCH: dict[str, Any] = {"name": "cms", "kind": "ConfigMap"}
TEAM_A = {"matchLabels": {"team": "a"}}


@pytest.mark.parametrize(
    ("binding", "message"),
    [
        ({"kind": "Secret"}, "kind: the object is a ConfigMap, the binding watches Secret"),
        ({"apiVersion": "v2"}, "apiVersion: the object is v1, the binding watches v2"),
        (
            {"nameSelector": {"matchNames": ["b", "c"]}},
            "nameSelector: the object is called 'a', the binding watches 'b'",
        ),
        ({"namespace": {"nameSelector": {"matchNames": ["x"]}}}, "namespace: the object is in 'default', the binding"),
        ({"namespace": {"labelSelector": TEAM_A}}, "Namespace 'default' is not among the given objects"),
        ({"labelSelector": TEAM_A}, "labelSelector: 'team=a' does not hold for the labels (none)"),
        (
            {
                "fieldSelector": {
                    "matchExpressions": [{"field": "metadata.namespace", "operator": "!=", "value": "default"}]
                }
            },
            "fieldSelector: 'metadata.namespace!=default' does not hold, its value is 'default'",
        ),
        ({"executeHookOnEvent": ["Deleted"]}, "executeHookOnEvent: it is Added, wanted is Deleted"),
        ({"jqFilter": ".data | tonumber"}, "jqFilter fails on default/ConfigMap/a: "),
    ],
)
async def test_unmatched_event_names_the_condition(
    binding: dict[str, Any], message: str, tools: Bench, write_hook: Author
) -> None:
    assert message in await reason(tools, write_hook, {"kubernetes": [WATCH | binding]}, added(A))


async def test_namespace_label_selectors_apply(tools: Bench, write_hook: Author) -> None:
    selector = {"labelSelector": {"matchExpressions": [{"key": "team", "operator": "NotIn", "values": ["a"]}]}}
    config = {"kubernetes": [WATCH | {"namespace": selector}]}
    assert await contexts(tools, write_hook, config, added(A), namespace("default", team="b"))
    excluded = await reason(tools, write_hook, config, added(A), namespace("default", team="a"))
    assert "of Namespace 'default'" in excluded


async def test_change_hidden_by_the_filter_causes_no_run(tools: Bench, write_hook: Author) -> None:
    config = {"kubernetes": [FILTERED]}
    changed = Changed(Change.MODIFIED, config_map("a", x="1", y="new"), old=A)
    assert await reason(tools, write_hook, config, changed) == "filter result unchanged"
    given = Changed(Change.MODIFIED, config_map("a", x="1", y="new"))
    assert await reason(tools, write_hook, config, given, A) == "filter result unchanged"
    assert await contexts(tools, write_hook, config, Changed(Change.MODIFIED, A), A)


def labelled(team: str) -> Any:
    return {**A, "metadata": {**A["metadata"], "labels": {"team": team}}}


async def test_object_that_begins_or_ceases_to_match_is_added_or_deleted(tools: Bench, write_hook: Author) -> None:
    config = {"kubernetes": [WATCH | {"labelSelector": TEAM_A}]}
    come = Changed(Change.MODIFIED, labelled("a"), old=labelled("b"))
    gone = Changed(Change.MODIFIED, labelled("b"), old=labelled("a"))
    assert (await contexts(tools, write_hook, config, come))[0]["watchEvent"] == "Added"
    assert (await contexts(tools, write_hook, config, gone))[0]["watchEvent"] == "Deleted"
    config = {"kubernetes": [WATCH | {"labelSelector": TEAM_A, "executeHookOnEvent": ["Added"]}]}
    message = "executeHookOnEvent: it is Deleted (the object ceases to match the selectors), wanted is Added"
    assert await reason(tools, write_hook, config, gone) == message


async def test_failing_filter_blocks_the_snapshot(tools: Bench, write_hook: Author) -> None:
    config = {"kubernetes": [FILTERED | {"jqFilter": ".data.x | tonumber"}]}
    message = await reason(tools, write_hook, config, Synchronization(), config_map("bad", x="?"), A)
    assert "its filter fails on default/ConfigMap/bad: " in message
    assert "cannot be parsed as a number" in message


@pytest.mark.parametrize(
    ("config", "happening", "message"),
    [
        ({"kubernetes": [WATCH | {"executeHookOnSynchronization": False}]}, Synchronization(), "executeHookOnSynchron"),
        ({"kubernetes": [WATCH]}, Startup(), "onStartup: the hook's configuration does not have it"),
        ({"kubernetes": [WATCH]}, Lifecycle("afterAll"), "afterAll: the hook's configuration does not have it"),
    ],
)
async def test_undeclared_happening_causes_no_run(
    config: dict[str, Any], happening: Happening, message: str, tools: Bench, write_hook: Author
) -> None:
    assert message in await reason(tools, write_hook, config, happening)


@pytest.mark.parametrize(
    ("happening", "message"),
    [
        (Tick(), "the hook has no schedule binding"),
        (Tick("hourly"), "no schedule binding is named 'hourly'; the hook has none of that kind"),
        (Synchronization("cmss"), "no kubernetes binding is named 'cmss'; did you mean 'cms'?"),
        (Synchronization(), r"several bindings fit: .* \(--binding\): cms, same, same"),
        (Synchronization("same"), "2 bindings are named 'same': say which, kubernetes[1], kubernetes[2]"),
        (added(A), "several bindings fit"),
        (Grouped("g"), "no binding is in group 'g'; groups are not used"),
        (Review("CREATE", A), "the hook has no kubernetesValidating or kubernetesMutating binding"),
        (Conversion((A,)), "the hook has no kubernetesCustomResourceConversion binding"),
    ],
)
async def test_ambiguous_happening_is_refused(
    happening: Happening, message: str, tools: Bench, write_hook: Author
) -> None:
    config = {"kubernetes": [WATCH, {"name": "same", "kind": "Pod"}, {"name": "same", "kind": "ConfigMap"}]}
    with pytest.raises(BadInput, match=message.replace("[", r"\[").replace("?", r"\?")):
        await contexts(tools, write_hook, config, happening)


async def test_snapshot_of_an_unknown_binding_or_kind_is_refused(tools: Bench, write_hook: Author) -> None:
    config = {"kubernetes": [WATCH]}
    with pytest.raises(BadInput, match="snapshot 'cm': the hook has no such kubernetes binding, it has"):
        await contexts(tools, write_hook, config, Synchronization(), cm=(A,))
    with pytest.raises(BadInput, match="Namespace/n cannot be in snapshot 'cms': kind: the object is a Namespace"):
        await contexts(tools, write_hook, config, Synchronization(), cms=(namespace("n"),))


@pytest.mark.parametrize("kind", ["ConfigMap", "configmap", "configmaps", "cm"])
async def test_kind_may_be_given_by_any_of_its_names(kind: str, tools: Bench, write_hook: Author) -> None:
    assert await contexts(tools, write_hook, {"kubernetes": [{"kind": kind}]}, added(A))


async def test_names_of_custom_kinds_come_from_their_definition(tools: Bench, write_hook: Author) -> None:
    names: dict[str, Any] = {"kind": "Mouse", "plural": "mice", "shortNames": ["mm"]}
    definition = {
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "mice.zoo.io"},
        "spec": {"group": "zoo.io", "names": names},
    }
    mouse = {"apiVersion": "zoo.io/v1", "kind": "Mouse", "metadata": {"name": "m"}}
    for kind in ("mice", "mm"):
        assert await contexts(tools, write_hook, {"kubernetes": [{"kind": kind}]}, added(mouse), definition)


async def test_waiting_contexts_of_one_queue_are_combined(tools: Bench, write_hook: Author) -> None:
    config = {"kubernetes": [FILTERED | {"includeSnapshotsFrom": ["cms"]}], "schedule": [{"crontab": "* * * * *"}]}
    newer = config_map("a", x="7")
    happenings: list[Happening] = [
        added(A),
        Changed(Change.MODIFIED, newer),
        Tick(),
        Changed(Change.MODIFIED, newer),
        added(B),
    ]
    found = await combined(tools, write_hook, config, happenings)
    assert [(one.get("watchEvent"), one.get("filterResult")) for one in found] == [
        ("Added", "1"),
        ("Modified", "7"),
        (None, None),
        ("Added", "2"),
    ]
    latest = {"cms": [{"filterResult": "7"}, {"filterResult": "2"}]}
    assert [one["snapshots"] for one in found if "snapshots" in one] == [latest] * 3


async def test_combined_group_keeps_its_last_context(tools: Bench, write_hook: Author) -> None:
    config = {"kubernetes": [FILTERED | {"group": "g"}, {"name": "ns", "kind": "Namespace", "group": "g"}]}
    (context,) = await combined(tools, write_hook, config, [added(A), added(namespace("n")), Synchronization("cms")])
    assert (context["binding"], context["type"]) == ("cms", "Group")


async def test_added_and_deleted_object_is_known_in_between(tools: Bench, write_hook: Author) -> None:
    happenings = [added(A), Changed(Change.DELETED, A), added(A)]
    found = await combined(tools, write_hook, {"kubernetes": [WATCH]}, happenings, A)
    assert [one["watchEvent"] for one in found] == ["Added", "Deleted", "Added"]


@pytest.mark.parametrize(
    ("more", "happenings"),
    [
        ({}, [Synchronization(), added(A)]),
        ({"onStartup": 1}, [added(A), Startup()]),
        ({"settings": {"combine": False}}, [added(A), added(B)]),
    ],
)
async def test_contexts_that_never_combine_are_refused(
    more: dict[str, Any], happenings: list[Happening], tools: Bench, write_hook: Author
) -> None:
    with pytest.raises(BadInput, match="never come in one run of this hook: make two cases"):
        await combined(tools, write_hook, {"kubernetes": [WATCH], **more}, happenings)


async def test_binding_that_listens_is_chosen_among_several(tools: Bench, write_hook: Author) -> None:
    bindings = [{"name": event, "kind": "ConfigMap", "executeHookOnEvent": [event]} for event in ("Added", "Deleted")]
    config = {"kubernetes": bindings}
    (context,) = await contexts(tools, write_hook, config, Changed(Change.DELETED, A))
    assert context["binding"] == "Deleted"
    with pytest.raises(BadInput, match=r"several bindings fit: .*: Added, Deleted"):
        await contexts(tools, write_hook, config, Changed(Change.MODIFIED, A))
