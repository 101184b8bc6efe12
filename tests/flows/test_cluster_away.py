"""The API server is down at the start, goes down later, refuses the token, or grants rights and serves kinds late.

Level: control plane."""

import asyncio

from tests.controlplane.cluster import Cluster, OwnCluster
from tests.controlplane.kubeconfig import Access, write_kubeconfig
from tests.fakes.objects import definition
from tests.faults.proxy import Proxy
from tests.flows.conftest import Start
from tests.flows.objects import ConfigMaps
from tests.flows.scripts import configmaps, hook, watching
from tests.flows.waiting import stays, until

SEE = {"apiGroups": [""], "resources": ["configmaps"], "verbs": ["get", "list", "watch"]}


async def test_a_cluster_that_is_down_at_the_start_is_waited_for(
    operator: Start, proxy: Proxy, cms: ConfigMaps
) -> None:
    await proxy.refuse()
    scripts = {"h.sh": watching(cms.namespace), "start.sh": hook({"onStartup": 1})}
    program = await operator(scripts, kubeconfig=proxy.kubeconfig, ready=False)
    await program.has_run("start.sh")
    await program.not_ready("h.sh: cms")
    assert program.get("/healthz")[0] == 200
    await proxy.accept()
    await program.ready()
    cms.create("new")
    assert await program.hears("h.sh", 1) == [("Added", "new")]


async def test_nothing_is_lost_while_the_api_server_is_down(own_cluster: OwnCluster, operator: Start) -> None:
    """Killed, its history compacted, started again: events before, between and after are reported once."""
    cms = ConfigMaps(own_cluster, "default")
    cms.create("gone")
    program = await operator({"h.sh": watching("default")}, kubeconfig=own_cluster.kubeconfig)
    cms.create("before")
    await program.hears("h.sh", 1)
    own_cluster.stop_apiserver()
    await program.names("watches", "h.sh: cms")
    own_cluster.compact()
    await asyncio.to_thread(own_cluster.start_apiserver)
    cms.delete("gone")
    cms.change("before", x="1")
    cms.create("after")
    await program.ready()
    await program.hears("h.sh", 4)
    await stays(lambda: len(program.events("h.sh")) == 4, "four events", 0.5)
    told = [("Added", "before"), ("Added", "after"), ("Deleted", "gone"), ("Modified", "before")]
    assert sorted(program.events("h.sh")) == sorted(told)


async def test_an_expired_token_is_reported_and_a_new_one_is_loaded(
    operator: Start, cluster: Cluster, cms: ConfigMaps
) -> None:
    """The kubeconfig is read again after a 401."""
    old = cluster.user("old", cms.namespace, [SEE], lifetime=-60)
    program = await operator({"h.sh": watching(cms.namespace)}, kubeconfig=old.kubeconfig, ready=False)
    await program.not_ready("Unauthorized")
    new = cluster.user("new", cms.namespace, [SEE])
    write_kubeconfig(old.kubeconfig, Access(cluster.url, cluster.ca, new.token))
    await program.ready()
    cms.create("new")
    assert await program.hears("h.sh", 1) == [("Added", "new")]


async def test_a_forbidden_binding_waits_alone_and_starts_when_the_right_is_granted(
    operator: Start, cluster: Cluster, cms: ConfigMaps
) -> None:
    user = cluster.user("few", cms.namespace, [SEE])
    secrets = configmaps(cms.namespace, name="secrets", kind="Secret")
    scripts = {"a.sh": hook({"kubernetes": [secrets]}), "b.sh": watching(cms.namespace)}
    program = await operator(scripts, kubeconfig=user.kubeconfig, ready=False)
    await program.not_ready("a.sh: secrets")
    await program.has_run("b.sh")
    cms.create("new")
    assert await program.hears("b.sh", 1) == [("Added", "new")]
    assert program.runs("a.sh") == []
    assert "waiting for snapshot of secrets" in str(program.queue_list()["main"])
    assert program.metric("binding_waiting", hook="a.sh", binding="secrets") == 1
    grant(cluster, cms.namespace, "few", "secrets")
    await program.ready()
    assert [context["binding"] for context in program.contexts("a.sh")] == ["secrets"]


async def test_a_forbidden_binding_does_not_delay_other_bindings_of_its_hook(
    operator: Start, cluster: Cluster, cms: ConfigMaps
) -> None:
    """…unless they want its snapshot: those wait for it, never run without it."""
    user = cluster.user("few", cms.namespace, [SEE])
    secrets = configmaps(cms.namespace, name="secrets", kind="Secret")
    every = {"crontab": "* * * * * *"}
    wants = {**every, "name": "wants", "includeSnapshotsFrom": ["secrets"]}
    schedules = [{**every, "name": "free"}, wants]
    config = {"kubernetes": [secrets, configmaps(cms.namespace)], "schedule": schedules}
    program = await operator({"h.sh": hook(config)}, kubeconfig=user.kubeconfig, ready=False)

    def seen() -> set[str]:
        return {context["binding"] for context in program.contexts("h.sh")}

    await until(lambda: seen() == {"cms", "free"}, "what needs no Secrets")
    await stays(lambda: seen() == {"cms", "free"}, "only that", 1.5)
    grant(cluster, cms.namespace, "few", "secrets")
    await until(lambda: seen() == {"cms", "free", "secrets", "wants"}, "all four")
    assert all(c["snapshots"] == {"secrets": []} for c in program.contexts("h.sh") if c["binding"] == "wants")


async def test_a_binding_starts_when_its_kind_is_defined_later(
    operator: Start, cluster: Cluster, cms: ConfigMaps
) -> None:
    group = f"{cms.namespace}.example.com"
    late = configmaps(cms.namespace, name="late", apiVersion=f"{group}/v1", kind="Thing")
    scripts = {"a.sh": hook({"kubernetes": [late]}), "b.sh": watching(cms.namespace)}
    program = await operator(scripts, ready=False)
    await program.not_ready("a.sh: late")
    await program.has_run("b.sh")
    cluster.create("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", definition(group, "Thing", "v1"))
    await program.ready()
    things = f"/apis/{group}/v1/namespaces/{cms.namespace}/things"
    thing = {"apiVersion": f"{group}/v1", "kind": "Thing", "metadata": {"name": "first"}}
    cluster.create(things, thing)
    assert await program.hears("a.sh", 1) == [("Added", "first")]
    cluster.request("DELETE", f"/apis/apiextensions.k8s.io/v1/customresourcedefinitions/things.{group}")


def grant(cluster: Cluster, namespace: str, account: str, resource: str) -> None:
    """Let a service account see one more resource."""
    api, name = f"/apis/rbac.authorization.k8s.io/v1/namespaces/{namespace}", f"more-{resource}"
    cluster.create(f"{api}/roles", {"metadata": {"name": name}, "rules": [{**SEE, "resources": [resource]}]})
    role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": name}
    subjects = [{"kind": "ServiceAccount", "name": account, "namespace": namespace}]
    cluster.create(f"{api}/rolebindings", {"metadata": {"name": name}, "roleRef": role, "subjects": subjects})
