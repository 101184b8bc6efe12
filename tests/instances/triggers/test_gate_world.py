"""What gates see of the world around an instance. Level: FakeCluster."""

from typing import Any

import pytest

from hookrunner.addons.gates.gate_world import RequiredModule
from hookrunner.errors import Denied, KubeError, UnknownKind
from hookrunner.instances.triggers.gate_world import look_around
from tests.convergence.conftest import MakeSite, limited, make_site
from tests.convergence.site import module
from tests.fakes.objects import config_map
from tests.instances.living import Living, addon

__all__ = ["limited", "make_site"]

pytestmark = pytest.mark.looptime

NEEDED = {"apiVersion": "v1", "kind": "ConfigMap", "namespace": "default", "name": "needed"}
DNS = addon("dns", requires={"objects": [NEEDED], "addons": ["proxy", "absent"], "modules": ["cert", "off"]})


@pytest.mark.parametrize(
    ("error", "problem"),
    [
        (None, "it does not exist"),
        (Denied(403, "Forbidden", "configmaps is forbidden"), "it cannot be read: configmaps is forbidden"),
        (UnknownKind("the server knows no kind 'ConfigMap'"), "the server knows no kind 'ConfigMap'"),
    ],
)
async def test_object_that_cannot_be_used_is_a_problem_in_words(
    make_site: MakeSite, error: KubeError | None, problem: str
) -> None:
    world = Living(make_site(), DNS)
    if error:

        async def refuse(*_: Any, **__: Any) -> Any:
            raise error

        world.server.get = refuse  # type: ignore[method-assign]
    assert [*(await look_around(world.gates, DNS, await world.site.served.get())).objects.values()] == [problem]


async def test_gates_see_what_their_addon_looks_at_and_nothing_else(make_site: MakeSite) -> None:
    world = Living(make_site(module("cert", 10), module("off", 20), off="off"), DNS, addon("proxy"), addon("other"))
    world.cluster.put(config_map("needed"))
    for name, of in (("x", "dns"), ("p", "proxy"), ("o", "other")):
        world.put(name, of)
    await world.start()
    around = await look_around(world.gates, DNS, await world.site.served.get())
    assert [instance.name for instance in around.instances] == ["x"]
    assert (around.ready_addons, around.modules) == ({"proxy"}, {"cert": RequiredModule(True, "")})
    assert ([*around.objects.values()], around.hidden) == ([""], {})
    world.server.requests.clear()
    await look_around(world.gates, addon("other"), await world.site.served.get())
    assert world.server.requests == []


async def test_account_of_an_instance_is_looked_for_in_its_namespace(make_site: MakeSite) -> None:
    world = Living(make_site(), addon("dns"))
    world.put("x", "dns", spec={"serviceAccountName": "deployer"})
    await world.start()
    obstacle = world.obstacle("dns.kube-system.x")
    assert obstacle
    assert obstacle.message == "waiting for ServiceAccount kube-system/deployer: it does not exist"
    metadata = {"name": "deployer", "namespace": "kube-system"}
    world.cluster.put({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": metadata})
    await world.site.reaches("dns.kube-system.x release")


async def test_addon_that_is_being_deleted_is_not_ready(make_site: MakeSite) -> None:
    world = Living(make_site(), addon("dns", requires={"addons": ["proxy"]}), addon("proxy"))
    world.put("p", "proxy")
    await world.start()
    world.site.work.takes = {"proxy.kube-system.p uninstall": 60.0}
    world.delete("p", "proxy")
    await world.site.reaches("proxy.kube-system.p uninstall")
    around = await look_around(world.gates, world.registry.related.addons["dns"], await world.site.served.get())
    assert around.ready_addons == set()
