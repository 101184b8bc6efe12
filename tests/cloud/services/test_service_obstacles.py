"""Services that are large, and rights that are missing, in virtual time. Level: FakeApi."""

import pytest

from hookrunner.cloud.answers import Ingress
from hookrunner.errors import Denied
from tests.cloud.services.balancer_world import ENSURE, BalancerWorld
from tests.cloud.services.service_samples import PORT, service

pytestmark = pytest.mark.looptime

STATUS = "services/web/status"


async def test_service_with_a_hundred_ports_is_kept_like_any_other(world: BalancerWorld) -> None:
    ports = [PORT | {"name": f"p{number}", "port": 8000 + number, "nodePort": 30000 + number} for number in range(100)]
    answered = tuple({"port": port["port"], "protocol": "TCP"} for port in ports)
    world.api.put(service(ports=ports))
    async with world.run_loop():
        assert (world.asked(ENSURE), world.backends()) == (1, ("a", "b"))
        (uid,) = world.cloud.load_balancers
        world.cloud.load_balancers[uid].ingress = (Ingress(ip="192.0.2.1", ports=answered),)
        world.change({"spec": {"ports": [*ports[:99], ports[99] | {"port": 9999}]}})
        await world.rest()
        assert world.asked(ENSURE) == 2
        assert world.live()["status"]["loadBalancer"]["ingress"][0]["ports"] == [*answered]
        writes = len(world.api.written())
        world.annotate()
        await world.rest()
        assert (world.asked(ENSURE), len(world.api.written())) == (3, writes)


async def test_missing_right_is_named_and_heals_by_itself(world: BalancerWorld) -> None:
    text = 'services "web" is forbidden: User "me" cannot patch resource "services/status" in API group ""'
    world.api.refuse("PATCH", STATUS, Denied(403, "Forbidden", text, raw=text), times=2)
    world.api.put(service())
    world.api.put(service("other"))
    async with world.run_loop():
        (named,) = {text for text in world.messages if "forbidden" in text}
        assert "resources: [services/status], verbs: [patch]" in named
        assert (world.finalizers(), world.addresses("other")) == ([], ["192.0.2.1"])
        await world.rest(15)
        assert world.addresses() == ["192.0.2.2"]
