"""Functions of hooks, what they get and what comes of what they do. Level: pure."""

import dataclasses
import json
from collections.abc import Mapping
from typing import Any, Optional

import pytest

from hookrunner.hooks.config.hook_config import parse
from hookrunner.sdk import After, Deny, Event, Hook, HookFailed, Review, ref
from hookrunner.sdk.answers import Cluster, Conditions, Metrics, Values
from hookrunner.sdk.subjects import Log, Snapshot
from hookrunner.sdk.tasks import Task
from hookrunner.sdk.testing import run
from tests.tables import each

SHOP = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop", "labels": {"team": "a"}}}


@dataclasses.dataclass
class Namespace:
    metadata: dict[str, Any]
    kind: str = ""


def test_an_object_is_reconciled_as_it_is_and_looked_at_again() -> None:
    hook = Hook()

    @hook.reconcile("v1/Namespace", label_selector="team")
    def label(namespace: dict[str, Any], cluster: Cluster) -> After:
        cluster.merge(namespace, {"metadata": {"labels": {"seen": "yes"}}}, ignore_missing=True)
        return After(minutes=10)

    assert hook.config["kubernetes"] == [
        {
            "name": "label",
            "apiVersion": "v1",
            "kind": "Namespace",
            "labelSelector": {"matchExpressions": [{"key": "team", "operator": "Exists"}]},
            "queue": "test_hook.py/label",
            "waitForSynchronization": False,
        }
    ]
    answer = run(hook, "label", object=SHOP)
    assert answer == {
        "operations": [
            {
                "operation": "MergePatch",
                "apiVersion": "v1",
                "kind": "Namespace",
                "name": "shop",
                "mergePatch": {"metadata": {"labels": {"seen": "yes"}}},
                "ignoreMissingObject": True,
            }
        ],
        "runAgainAfterSeconds": 600,
    }


def test_a_reconciler_has_a_queue_of_its_own_in_the_order_of_objects(monkeypatch: pytest.MonkeyPatch) -> None:
    hook = Hook(queues={"doors": {"concurrency": 9}})
    hook.reconcile("Pod", name="pods")(leave)
    hook.reconcile("Node", name="nodes", concurrency=20)(leave)
    hook.reconcile("Door", name="doors", queue="doors")(leave)
    assert [binding["queue"] for binding in hook.config["kubernetes"]] == [
        "test_hook.py/pods",
        "test_hook.py/nodes",
        "doors",
    ]
    assert hook.config["settings"]["queues"].keys() == {"doors"}, "shell-operator refuses what no one has written"
    monkeypatch.setenv("HOOKRUNNER_VERSION", "1")
    assert hook.config["settings"]["queues"] == {
        "test_hook.py/pods": {"concurrency": 1, "orderBy": "object"},
        "test_hook.py/nodes": {"concurrency": 20, "orderBy": "object"},
        "doors": {"concurrency": 9},
    }
    assert parse("h", json.dumps(hook.config).encode()).settings.queues["doors"].concurrency == 9
    with pytest.raises(ValueError, match="take queue away"):
        hook.reconcile("Pod", queue="doors", concurrency=2)


def test_a_reconciler_has_a_run_for_each_object_at_the_start_where_that_can_be(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    hook = Hook(queues={"q": {"orderBy": "object"}})
    hook.reconcile("Pod", name="own")(leave)
    hook.reconcile("Pod", name="named", queue="q")(leave)
    hook.reconcile("Pod", name="no", queue="q", synchronize_each_object=False)(leave)
    hook.reconcile("Pod", name="main", queue="main")(leave)
    hook.reconcile("Pod", name="none", synchronization=False)(leave)
    hook.reconcile("Pod", name="grouped", group="g")(leave)
    hook.on("Pod", name="events", queue="q")(leave)
    assert not any("synchronizeEachObject" in b for b in hook.config["kubernetes"] if b["name"] != "no")
    monkeypatch.setenv("HOOKRUNNER_VERSION", "1")
    bindings = parse("h", json.dumps(hook.config).encode()).kubernetes
    assert [binding.name for binding in bindings if binding.synchronize_each_object] == ["own", "named"]


def test_what_waits_for_first_runs_waits_for_those_of_a_reconciler_unless_it_is_one_run_for_all(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """One run for all objects would hold up `main` when it fails for one of them."""
    hook = Hook(queues={"q": {"concurrency": 2}})
    hook.reconcile("Pod", name="own")(leave)
    hook.reconcile("Pod", name="unwaited", wait_for_synchronization=False)(leave)
    hook.reconcile("Pod", name="whole", synchronize_each_object=False)(leave)
    hook.reconcile("Pod", name="named", queue="q")(leave)
    assert waits(hook) == {"own": False, "unwaited": False, "whole": False, "named": True}
    monkeypatch.setenv("HOOKRUNNER_VERSION", "1")
    assert waits(hook) == {"own": True, "unwaited": False, "whole": False, "named": True}


def waits(hook: Hook) -> dict[str, bool]:
    bindings = parse("h", json.dumps(hook.config).encode()).kubernetes
    return {binding.name: binding.wait_for_synchronization for binding in bindings}


def leave(obj: Any) -> None: ...


def test_an_object_that_does_not_exist_any_more_is_none() -> None:
    hook, seen = Hook(), list[tuple[Any, str, str]]()

    @hook.reconcile("Namespace")
    def look(namespace: Namespace | None, event: Event) -> None:
        seen.append((namespace, event.type, event.name))

    run(hook, "look", event="Deleted", object=SHOP)
    run(hook, "look", event="Modified", object=SHOP)
    assert seen == [(None, "Deleted", "shop"), (Namespace(SHOP["metadata"], "Namespace"), "Modified", "shop")]  # type: ignore[arg-type]


def test_a_synchronization_is_an_event_for_each_object() -> None:
    hook, seen = Hook(), list[tuple[str, str]]()

    @hook.on("v1/ConfigMap", namespaces=["a"], events=["Added"], jq_filter=".data", queue="x", synchronization=True)
    def note(event: Event) -> None:
        seen.append((event.type, event.name))

    assert hook.config["kubernetes"][0] == {
        "name": "note",
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "namespace": {"nameSelector": {"matchNames": ["a"]}},
        "executeHookOnEvent": ["Added"],
        "jqFilter": ".data",
        "queue": "x",
        "executeHookOnSynchronization": True,
    }
    run(hook, "note", event="Synchronization", objects=[{"metadata": {"name": name}} for name in "ab"])
    assert seen == [("Synchronization", "a"), ("Synchronization", "b")]


def test_a_group_is_called_with_its_snapshots() -> None:
    hook = Hook()
    hook.watch("v1/Secret", "originals", group="all")
    hook.watch("v1/Node", "nodes")

    @hook.group("all")
    def count(snapshots: dict[str, Snapshot], metrics: Metrics) -> None:
        metrics.set("originals", len(snapshots["originals"].objects), {"a": "b"}, group="g")

    assert hook.config["kubernetes"][1]["executeHookOnEvent"] == []
    answer = run(hook, "all", event="Group", snapshots={"originals": [SHOP, SHOP]})
    assert answer["metrics"] == [{"action": "set", "name": "originals", "value": 2, "labels": {"a": "b"}, "group": "g"}]


def test_startup_schedules_and_lifecycle_call_their_functions() -> None:
    hook, called = Hook(timeout="30s"), list[str]()

    @hook.startup(order=3)
    def first() -> None:
        called.append("startup")

    @hook.schedule("*/5 * * * *", timezone="Europe/Berlin")
    def often() -> None:
        called.append("schedule")

    @hook.before_helm(order=2)
    async def prepare(values: Values, config_values: Values, conditions: Conditions, log: Log) -> None:
        values.set("web.image.tag", values.get("web.version"))
        config_values.remove("web.old")
        conditions.set("Prepared", "True", healthy=False)

    assert hook.config == {
        "configVersion": "v1",
        "settings": {"timeout": "30s"},
        "onStartup": 3,
        "schedule": [{"name": "often", "crontab": "*/5 * * * *", "timezone": "Europe/Berlin"}],
        "beforeHelm": 2,
    }
    run(hook, "onStartup", event="Startup")
    run(hook, "often", event="Schedule")
    assert called == ["startup", "schedule"]
    answer = run(
        hook, "beforeHelm", event="Startup", values={"web": {"version": "2"}}, config_values={"web": {"old": 1}}
    )
    assert answer == {
        "valuesPatch": [{"op": "add", "path": "/web/image", "value": {"tag": "2"}}],
        "configValuesPatch": [{"op": "remove", "path": "/web/old"}],
        "conditions": [{"type": "Prepared", "status": "True", "healthy": False}],
    }


def test_a_review_passes_or_is_denied() -> None:
    hook = Hook()

    @hook.validate("teams.example.com", rules=[{"apiGroups": [""]}])
    def judge(review: Review) -> None:
        review.warn("soon refused")
        if "team" not in review.object["metadata"].get("labels", {}):
            raise Deny("no team", 409)

    passed = run(hook, "teams.example.com", event="CREATE", object=SHOP)
    refused = run(hook, "teams.example.com", event="CREATE", object={"metadata": {}})
    assert passed["admission"] == {"allowed": True, "warnings": ["soon refused"]}
    assert refused["admission"] == {"allowed": False, "message": "no team", "code": 409, "warnings": ["soon refused"]}


@pytest.mark.parametrize("way", ["in place", "returned", "steps"])
def test_what_a_function_changes_in_a_review_becomes_a_patch(way: str) -> None:
    hook = Hook()
    steps = [
        {"op": "remove", "path": "/spec/a~1b"},
        {"op": "replace", "path": "/spec/items/0", "value": 2},
        {"op": "replace", "path": "/spec/more", "value": [1, 2]},
        {"op": "add", "path": "/spec/new", "value": 1},
    ]

    @hook.mutate("defaults.example.com")
    def change(review: Review) -> Any:
        spec = {"items": [2], "more": [1, 2], "new": 1}
        if way == "in place":
            review.object["spec"] = spec
        return {"in place": None, "returned": {"spec": spec}, "steps": steps}[way]

    answer = run(hook, "defaults.example.com", event="UPDATE", object={"spec": {"a/b": 1, "items": [1], "more": [1]}})
    assert answer["admission"] == {"allowed": True, "patch": steps}


def test_objects_are_converted_one_by_one() -> None:
    hook, crd = Hook(), "crontabs.example.com"

    @hook.convert(crd, "v1alpha1", "v1")
    def up(obj: dict[str, Any]) -> None:
        if not isinstance(obj["spec"], dict):
            raise HookFailed("spec must be an object")
        obj["spec"]["new"] = True

    @hook.convert(crd, "v1", "v1alpha1")
    def down(obj: dict[str, Any]) -> dict[str, Any]:
        return obj | {"spec": {}}

    versions = [{"fromVersion": "v1alpha1", "toVersion": "v1"}, {"fromVersion": "v1", "toVersion": "v1alpha1"}]
    bindings = [{"name": crd, "crdName": crd, "conversions": versions}]
    assert hook.config["kubernetesCustomResourceConversion"] == bindings
    old = {"apiVersion": "example.com/v1alpha1", "kind": "CronTab", "metadata": {"name": "a"}, "spec": {}}
    new = old | {"apiVersion": "example.com/v1", "spec": {"new": True}}
    failed = run(hook, crd, event="Conversion", objects=[old | {"spec": 1}], to="v1")
    assert run(hook, crd, event="Conversion", objects=[old], to="v1")["conversion"] == {"convertedObjects": [new]}
    assert run(hook, crd, event="Conversion", objects=[new], to="v1alpha1")["conversion"] == {"convertedObjects": [old]}
    assert failed["conversion"] == {"failedMessage": "CronTab a: spec must be an object"}


def test_each_operation_is_a_document() -> None:
    cluster, web = Cluster(), ref("apps/v1/Deployment", "web", "shop")
    cluster.create(SHOP)
    cluster.create_if_not_exists(SHOP)
    cluster.create_or_update(SHOP, subresource="status")
    cluster.apply(SHOP)
    cluster.json(web, [{"op": "remove", "path": "/a"}], subresource="status", ignore_hook_error=True)
    cluster.jq(web, ".spec.replicas = 2")
    for cascade in ("foreground", "background", "orphan"):
        cluster.delete(web, cascade, uid="1" if cascade == "orphan" else "")
    assert [one["operation"] for one in cluster.operations] == [
        *("Create", "CreateIfNotExists", "CreateOrUpdate", "Apply", "JSONPatch", "JQPatch"),
        *("Delete", "DeleteInBackground", "DeleteNonCascading"),
    ]
    assert cluster.operations[2] == {"operation": "CreateOrUpdate", "object": SHOP, "subresource": "status"}
    names = {"apiVersion": "apps/v1", "kind": "Deployment", "namespace": "shop", "name": "web"}
    assert cluster.operations[-1] == {"operation": "DeleteNonCascading", **names, "uid": "1"}


def mistakes() -> dict[str, tuple[Any, str]]:
    hook = Hook()
    hook.watch("Secret", "twice")
    return {
        "a setting": (lambda: Hook(time_out="1s"), "'time_out' is no keyword of settings; did you mean 'timeout'?"),
        "a keyword": (lambda: hook.on("Pod", jqfilter=".")(print), "did you mean 'jq_filter'?"),
        "a parameter": (
            lambda: hook.startup()(lambda clustre: None),
            "nothing is called 'clustre'; did you mean 'cluster'?",
        ),
        "an option": (lambda: Cluster().merge(SHOP, {}, ignore_mising=True), "did you mean 'ignore_missing'?"),
        "a name": (lambda: hook.watch("Secret", "twice"), "two bindings called 'twice'"),
        "a selector": (lambda: hook.watch("Pod", "x", field_selector="Running"), "'Running' is no field selector"),
    }


@pytest.mark.parametrize("what", mistakes())
def test_a_mistake_is_named_with_what_was_meant(what: str) -> None:
    make, message = mistakes()[what]
    with pytest.raises((TypeError, ValueError), match=message.replace("?", r"\?")):
        make()


def received(hint: Any, *events: str) -> list[Any]:
    """The objects that a function with this type gets in runs for these events."""
    hook, seen = Hook(), list[Any]()

    def look(namespace: Any) -> None:
        seen.append(namespace)

    look.__annotations__["namespace"] = hint
    hook.reconcile("Namespace")(look)
    for event in events:
        run(hook, "look", event=event, object=SHOP)
    return seen


@each("hint", [Any, dict[str, Any], list[int], Mapping[str, Any], dict[str, Any] | None, Event, object])
def test_a_type_that_says_nothing_of_objects_leaves_them_as_they_are(hint: Any) -> None:
    assert received(hint, "Added") == [SHOP]


@each("hint", [Namespace, Optional[Namespace], Namespace | None])  # noqa: UP045
def test_a_type_that_may_be_missing_is_made_of_the_object(hint: Any) -> None:
    assert received(hint, "Added", "Deleted") == [Namespace(SHOP["metadata"], "Namespace"), None]  # type: ignore[arg-type]


def test_a_function_for_several_reasons_is_called_once_in_a_run() -> None:
    hook, seen = Hook(), list[str]()

    @hook.schedule("*/5 * * * *")
    @hook.group("all")
    def look(context: dict[str, Any]) -> None:
        seen.append(context["type"])

    hook.carry_out(Task({"contexts": [{"binding": "look", "type": "Schedule"}, {"type": "Group", "groupName": "all"}]}))
    assert seen == ["Group"]


def test_objects_that_are_not_kept_cannot_be_reconciled() -> None:
    with pytest.raises(ValueError, match="reconcile needs whole objects"):
        Hook().reconcile("v1/Pod", keep_full_objects_in_memory=False)


def test_what_is_watched_by_a_filter_keeps_its_results_only() -> None:
    hook = Hook()
    hook.watch("v1/Node", "nodes", jq_filter=".metadata.name")
    hook.watch("v1/Node", "whole", jq_filter=".metadata.name", keep_full_objects_in_memory=True)
    assert [one["keepFullObjectsInMemory"] for one in hook.config["kubernetes"]] == [False, True]
