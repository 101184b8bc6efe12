"""What hooks answer: each operation on objects, metrics, and what mistakes in them lead to. Level: control plane."""

import json
from typing import Any

import pytest

from tests.controlplane.cluster import Cluster
from tests.faults.proxy import Proxy
from tests.flows.conftest import Start
from tests.flows.objects import ConfigMaps
from tests.flows.scripts import FAIL_ONCE, HOLD, hook, patching
from tests.flows.waiting import stays, until


def a(cms: ConfigMaps, name: str, **data: str) -> dict[str, Any]:
    """A whole ConfigMap."""
    metadata = {"name": name, "namespace": cms.namespace}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data}


def to(cms: ConfigMaps, operation: str, name: str = "x", **more: Any) -> dict[str, Any]:
    """An operation on a ConfigMap."""
    return {"operation": operation, "kind": "ConfigMap", "namespace": cms.namespace, "name": name, **more}


def metrics(*operations: dict[str, Any]) -> str:
    """Lines that write metrics."""
    lines = "\n".join(json.dumps(operation) for operation in operations)
    return f"cat > \"$METRICS_PATH\" <<'EOF'\n{lines}\nEOF\n"


CHANGES: dict[str, dict[str, Any]] = {
    "MergePatch": {"mergePatch": {"data": {"y": "2"}}},
    "MergePatch as text": {"mergePatch": "data: {y: '2'}"},
    "JSONPatch": {"jsonPatch": [{"op": "add", "path": "/data/y", "value": "2"}]},
    "JSONPatch as text": {"jsonPatch": '[{"op": "add", "path": "/data/y", "value": "2"}]'},
    "JQPatch": {"jqFilter": '.data.y = "2"'},
}


@pytest.mark.parametrize("how", CHANGES)
async def test_each_patch_operation_changes_the_object(operator: Start, cms: ConfigMaps, how: str) -> None:
    cms.create("x", x="1")
    operation = to(cms, how.split()[0], **CHANGES[how])
    await operator({"h.sh": hook({"onStartup": 1}, patching([operation]))})
    assert cms.data("x") == {"x": "1", "y": "2"}


async def test_each_create_operation_creates_or_replaces_as_named(operator: Start, cms: ConfigMaps) -> None:
    for name in ("kept", "replaced"):
        cms.create(name, old="1")
    operations = [
        {"operation": "Create", "object": a(cms, "created", new="2")},
        {"operation": "CreateIfNotExists", "object": a(cms, "kept", new="2")},
        {"operation": "CreateIfNotExists", "object": a(cms, "made", new="2")},
        {"operation": "CreateOrUpdate", "object": a(cms, "replaced", new="2")},
        {"operation": "CreateOrUpdate", "object": a(cms, "also-made", new="2")},
        {"operation": "Apply", "object": a(cms, "applied", new="2")},
    ]
    await operator({"h.sh": hook({"onStartup": 1}, patching(operations))})
    assert cms.data("kept") == {"old": "1"}
    for name in ("created", "made", "replaced", "also-made", "applied"):
        assert cms.data(name) == {"new": "2"}, name


@pytest.mark.parametrize("operation", ["Delete", "DeleteInBackground", "DeleteNonCascading"])
async def test_each_delete_operation_deletes_and_accepts_a_missing_object(
    operator: Start, cms: ConfigMaps, operation: str
) -> None:
    """An object that is deleted without its dependents is there until the garbage collector has let these go."""
    cms.create("x")
    operations = [to(cms, operation), to(cms, operation, "never-was")]
    program = await operator({"h.sh": hook({"onStartup": 1}, patching(operations))})
    await until(lambda: cms.get("x") == {}, "the deletion")
    assert len(program.runs("h.sh")) == 1


STATUS = {"status": {"loadBalancer": {"ingress": [{"ip": "192.0.2.1"}]}}}


def balancer(cluster: Cluster, cms: ConfigMaps) -> str:
    """A Service named `s` whose status may be written; its path."""
    path = f"/api/v1/namespaces/{cms.namespace}/services"
    cluster.create(path, {"metadata": {"name": "s"}, "spec": {"type": "LoadBalancer", "ports": [{"port": 80}]}})
    return f"{path}/s"


def to_status(cms: ConfigMaps, **more: Any) -> dict[str, Any]:
    """The operation that writes the status of that Service."""
    return {**to(cms, "MergePatch", "s", mergePatch=STATUS, **more), "kind": "Service"}


@pytest.mark.parametrize("subresource", ["status", "/status"])
async def test_a_status_is_patched_through_its_subresource(
    operator: Start, cluster: Cluster, cms: ConfigMaps, subresource: str
) -> None:
    path = balancer(cluster, cms)
    await operator({"h.sh": hook({"onStartup": 1}, patching([to_status(cms, subresource=subresource)]))})
    assert cluster.request("GET", path).body["status"]["loadBalancer"]["ingress"][0]["ip"] == "192.0.2.1"


async def test_a_missing_object_fails_the_run_unless_it_is_ignored(operator: Start, cms: ConfigMaps) -> None:
    patch = {"mergePatch": {"data": {"y": "2"}}}
    body = patching([to(cms, "MergePatch", "ignored", **patch, ignoreMissingObject=True)])
    bad = patching([to(cms, "MergePatch", "missed", **patch), to(cms, "MergePatch", "there", **patch)])
    cms.create("there")
    program = await operator({"a.sh": hook({"onStartup": 1}, body), "b.sh": hook({"onStartup": 2}, bad)}, ready=False)
    record = await program.wait_log("Will retry")
    assert (record["hook"], "missed" in record["error"], "ignored" in record["error"]) == ("b.sh", True, False)
    assert cms.data("there") == {"y": "2"}
    cms.create("missed")
    await program.ready()
    assert cms.data("missed") == {"y": "2"}


async def test_one_invalid_operation_prevents_all_operations(operator: Start, cms: ConfigMaps) -> None:
    good: dict[str, Any] = {"operation": "Create", "object": a(cms, "good")}
    operations: list[dict[str, Any]] = [good, {"operation": "MergePatch", "kind": "ConfigMap", "name": "x"}]
    program = await operator({"h.sh": hook({"onStartup": 1}, patching(operations))}, ready=False)
    record = await program.wait_log("Will retry")
    assert "mergePatch" in record["error"]
    assert cms.get("good") == {}


async def test_an_unknown_kind_is_named(operator: Start, cms: ConfigMaps) -> None:
    operation = {**to(cms, "Delete"), "kind": "NoSuchKind"}
    program = await operator({"h.sh": hook({"onStartup": 1}, patching([operation]))}, ready=False)
    assert "NoSuchKind" in (await program.wait_log("Will retry"))["error"]


async def test_a_failed_hook_may_still_patch_a_status(operator: Start, cluster: Cluster, cms: ConfigMaps) -> None:
    """`ignoreHookError`: these operations alone are carried out, and the run is repeated."""
    path = balancer(cluster, cms)
    operations: list[dict[str, Any]] = [
        to_status(cms, subresource="status", ignoreHookError=True),
        {"operation": "Create", "object": a(cms, "other")},
    ]
    body = f'if [ -e "$TOLD/failed-$name" ]; then exit 0; fi\n{patching(operations)}{FAIL_ONCE}'
    program = await operator({"h.sh": hook({"onStartup": 1}, body)}, ready=False)
    await until(lambda: cluster.request("GET", path).body["status"]["loadBalancer"], "the status")
    await program.ready()
    assert cms.get("other") == {}


async def test_operations_of_a_failed_attempt_are_not_sent_again(operator: Start, cms: ConfigMaps) -> None:
    """A Create that worked does not fail the second attempt."""
    operations: list[dict[str, Any]] = [
        {"operation": "Create", "object": a(cms, "made")},
        to(cms, "MergePatch", "missed", mergePatch={"data": {"y": "2"}}),
    ]
    body = f'mkdir "$TOLD/first" || {HOLD}{patching(operations)}'
    program = await operator({"h.sh": hook({"onStartup": 1}, body)}, ready=False)
    await program.wait_log("Will retry")
    cms.create("missed")
    program.tell("go")
    await program.ready()
    assert len(program.runs("h.sh")) == 2


async def test_a_hooks_own_patch_is_one_event_for_it(operator: Start, cms: ConfigMaps) -> None:
    """A hook's own patch comes back as an event; when nothing is left to change, there is an end."""
    binding = {"name": "cms", "kind": "ConfigMap", "namespace": {"nameSelector": {"matchNames": [cms.namespace]}}}
    config = {"kubernetes": [{**binding, "jqFilter": ".data"}]}
    patch = patching([to(cms, "MergePatch", mergePatch={"data": {"seen": "yes"}})], "Event")
    program = await operator({"h.sh": hook(config, patch)})
    cms.create("x")
    assert await program.hears("h.sh", 2) == [("Added", "x"), ("Modified", "x")]
    await stays(lambda: len(program.events("h.sh")) == 2, "two events", 0.5)


async def test_metrics_of_hooks_are_exported_and_a_group_is_replaced(operator: Start) -> None:
    first = metrics({"name": "m_total", "add": 1.5}, {"name": "g", "set": 1, "group": "g", "labels": {"x": "old"}})
    second = metrics({"name": "g", "set": 2, "group": "g", "labels": {"x": "new"}})
    body = f'if mkdir "$TOLD/first"; then\n{first}else\n{second}fi\n'
    program = await operator({"h.sh": hook({"schedule": [{"crontab": "* * * * * *"}]}, body)})
    await until(lambda: program.hook_metric("g", x="new", hook="h.sh") == 2, "the second run's metric")
    assert program.hook_metric("g", x="old") == 0
    assert program.hook_metric("m_total", hook="h.sh") == 1.5


async def test_a_conflicting_metric_is_refused_and_the_scrape_still_works(operator: Start) -> None:
    body = metrics({"name": "m", "set": 1}, {"name": "m", "add": 1}, {"name": "other", "set": 3})
    program = await operator({"h.sh": hook({"onStartup": 1}, body)})
    await program.wait_log("metric refused")
    assert (program.hook_metric("m"), program.hook_metric("other")) == (1, 3)
    assert program.get("/metrics/hooks")[0] == 200


async def test_bad_metrics_fail_the_run(operator: Start) -> None:
    program = await operator({"h.sh": hook({"onStartup": 1}, 'echo "{\\"name\\":" > "$METRICS_PATH"\n')}, ready=False)
    assert "metrics" in (await program.wait_log("Will retry"))["error"]


async def test_conflicts_and_retry_after_are_handled_within_one_run(
    operator: Start, proxy: Proxy, cms: ConfigMaps
) -> None:
    """409 to an update is tried again, 429 waited out; the hook runs once."""
    cms.create("x", x="1")
    operations = [
        {"operation": "CreateOrUpdate", "object": a(cms, "x", new="2")},
        to(cms, "JQPatch", **CHANGES["JQPatch"]),
    ]
    proxy.answer(409, "PUT", times=2)
    proxy.answer(429, "POST", retry_after=1)
    program = await operator({"h.sh": hook({"onStartup": 1}, patching(operations))}, kubeconfig=proxy.kubeconfig)
    assert cms.data("x") == {"new": "2", "y": "2"}
    assert len(program.runs("h.sh")) == 1


async def test_an_unreachable_api_server_fails_the_run_and_nothing_is_lost(
    operator: Start, proxy: Proxy, cms: ConfigMaps
) -> None:
    cms.create("x", x="1")
    proxy.answer(503, "PATCH")
    operation = to(cms, "MergePatch", **CHANGES["MergePatch"])
    program = await operator({"h.sh": hook({"onStartup": 1}, patching([operation]))}, kubeconfig=proxy.kubeconfig)
    assert cms.data("x") == {"x": "1", "y": "2"}
    assert len(program.runs("h.sh")) == 2
