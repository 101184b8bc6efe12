"""Watches that stall, break off or come back too late, on the real API server behind the fault proxy.

Level: control plane."""

import asyncio
import random

from tests.controlplane.cluster import Cluster
from tests.faults.proxy import Proxy
from tests.flows.conftest import Start
from tests.flows.objects import ConfigMaps
from tests.flows.scripts import watching
from tests.flows.waiting import stays, until

WATCH = "configmaps watch="


async def test_a_silent_watch_is_resumed_and_loses_nothing(operator: Start, proxy: Proxy, cms: ConfigMaps) -> None:
    """The connection stays open, but carries nothing more after some events."""
    program = await operator({"h.sh": watching(cms.namespace)}, "--watch-idle-timeout=5s", kubeconfig=proxy.kubeconfig)
    cms.create("before")
    await program.hears("h.sh", 1)
    stalls = program.metric("kubernetes_watch_stalls_total")
    proxy.stall((await proxy.seen(WATCH))[-1].line)
    for number in range(5):
        cms.create(f"during-{number}")
    await program.hears("h.sh", 6)
    await until(lambda: program.metric("kubernetes_watch_stalls_total", namespace=cms.namespace) > stalls, "its count")
    assert program.events("h.sh")[1:] == [("Added", f"during-{number}") for number in range(5)]
    await program.ready()


async def test_a_silent_watch_that_cannot_be_resumed_is_named_and_keeps_nothing_unready(
    operator: Start, proxy: Proxy, cms: ConfigMaps
) -> None:
    """Nothing comes through, then everything does; each object is reported once."""
    program = await operator({"h.sh": watching(cms.namespace)}, "--watch-idle-timeout=1s", kubeconfig=proxy.kubeconfig)
    proxy.stall(WATCH)
    for number in range(5):
        cms.create(f"during-{number}")
    await program.names("watches", "h.sh: cms")
    assert program.get("/healthz")[0] == 200
    proxy.resume()
    await program.hears("h.sh", 5)
    await program.ready()
    assert sorted(program.events("h.sh")) == [("Added", f"during-{number}") for number in range(5)]


async def test_a_410_reports_only_the_difference(
    operator: Start, proxy: Proxy, cluster: Cluster, namespace: str
) -> None:
    """One created, one changed, one deleted and many unchanged while the history went away."""
    path = f"/api/v1/namespaces/{namespace}/podtemplates"
    for name in ("gone", "changed", *(f"same-{number}" for number in range(50))):
        cluster.create(path, podtemplate(name))
    program = await operator({"h.sh": watching(namespace, kind="PodTemplate")}, kubeconfig=proxy.kubeconfig)
    await disconnect(proxy, "podtemplates")
    cluster.create(path, podtemplate("new"))
    cluster.request("PATCH", f"{path}/changed", {"metadata": {"labels": {"now": "so"}}})
    cluster.request("DELETE", f"{path}/gone")
    cluster.compact()
    await proxy.accept()
    await program.hears("h.sh", 3)
    await stays(lambda: len(program.events("h.sh")) == 3, "three events", 0.5)
    assert sorted(program.events("h.sh")) == [("Added", "new"), ("Deleted", "gone"), ("Modified", "changed")]
    assert len(lists(proxy, "podtemplates")) == 2
    assert program.metric("kubernetes_client_watch_errors_total", error_type="expired") == 1


async def test_an_expired_event_in_a_watch_leads_to_one_new_list(
    operator: Start, proxy: Proxy, cms: ConfigMaps
) -> None:
    """The other form of 410."""
    cms.create("old")
    program = await operator({"h.sh": watching(cms.namespace)}, kubeconfig=proxy.kubeconfig)
    await proxy.streaming(WATCH)
    await proxy.expire(WATCH)
    await until(lambda: len(lists(proxy, "configmaps")) == 2, "a second list")
    cms.create("new")
    assert await program.hears("h.sh", 1) == [("Added", "new")]
    assert len(lists(proxy, "configmaps")) == 2


async def test_a_watch_resumes_from_the_version_of_the_list(operator: Start, proxy: Proxy, cms: ConfigMaps) -> None:
    """Objects are listed by name, whatever their age; a watch from one of them would replay the others."""
    names = [f"n-{number:02}" for number in range(20)]
    random.Random(3).shuffle(names)
    names.remove("n-19")
    versions = [int(cms.create(name)["metadata"]["resourceVersion"]) for name in ["n-19", *names]]
    program = await operator({"h.sh": watching(cms.namespace)}, kubeconfig=proxy.kubeconfig)
    await proxy.streaming(WATCH)
    proxy.requests.clear()
    proxy.cut(WATCH)
    (resumed,) = await proxy.seen(f"{WATCH} resourceVersion=")
    assert int(resumed.query["resourceVersion"]) >= max(versions)
    await proxy.streaming(WATCH)
    cms.create("last")
    assert await program.hears("h.sh", 1) == [("Added", "last")]


async def test_broken_connections_lose_and_repeat_no_event(operator: Start, proxy: Proxy, cms: ConfigMaps) -> None:
    program = await operator({"h.sh": watching(cms.namespace)}, kubeconfig=proxy.kubeconfig)
    for number in range(30):
        cms.create(f"n-{number:02}")
        if number % 5 == 0:
            proxy.cut(WATCH)
            await asyncio.sleep(0)
    await program.hears("h.sh", 30)
    await stays(lambda: len(program.events("h.sh")) == 30, "thirty events", 0.3)
    assert program.events("h.sh") == [("Added", f"n-{number:02}") for number in range(30)]


async def test_answers_with_429_and_5xx_are_retried(operator: Start, proxy: Proxy, cms: ConfigMaps) -> None:
    cms.create("old")
    for status in (429, 503, 500):
        proxy.answer(status, "configmaps", retry_after=1 if status == 429 else None)
    program = await operator({"h.sh": watching(cms.namespace)}, kubeconfig=proxy.kubeconfig)
    assert [len(context["objects"]) for context in program.contexts("h.sh")] == [1]
    assert program.metric("kubernetes_client_request_result_total", code="429") == 1


async def test_retry_after_of_the_server_is_obeyed(operator: Start, proxy: Proxy, cms: ConfigMaps) -> None:
    """Retry-After: no second request before it is over."""
    proxy.answer(429, WATCH, retry_after=2)
    began = asyncio.get_running_loop().time()
    await operator({"h.sh": watching(cms.namespace)}, kubeconfig=proxy.kubeconfig)
    assert asyncio.get_running_loop().time() - began > 2


async def test_a_shared_watch_serves_two_hooks_with_one_connection(
    operator: Start, proxy: Proxy, cms: ConfigMaps
) -> None:
    scripts = {"a.sh": watching(cms.namespace), "b.sh": watching(cms.namespace)}
    program = await operator(scripts, kubeconfig=proxy.kubeconfig)
    cms.create("new")
    assert await program.hears("a.sh", 1) == await program.hears("b.sh", 1) == [("Added", "new")]
    shared = [request for request in proxy.requests if request.matches(WATCH) and proxy.cut(request.line)]
    assert len(shared) == 1


async def disconnect(proxy: Proxy, kind: str) -> None:
    """Break the watch and refuse every new connection."""
    await proxy.streaming(f"{kind} watch=")
    await proxy.refuse()
    proxy.cut()
    await proxy.ended(f"{kind} watch=")


def lists(proxy: Proxy, kind: str) -> list[str]:
    """The requests that asked for a whole list, streamed or in pages."""
    asked = [request for request in proxy.requests if request.matches(f"GET {kind}")]
    return [r.line for r in asked if "sendInitialEvents" in r.query or "watch" not in r.query]


def podtemplate(name: str) -> dict[str, object]:
    """A PodTemplate that the API server takes."""
    pod = {"spec": {"containers": [{"name": "c", "image": "i"}]}}
    return {"metadata": {"name": name}, "template": pod}
