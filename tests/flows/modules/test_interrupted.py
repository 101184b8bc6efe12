"""A converge that is interrupted: by Ctrl-C, kill -9, an unreachable API server, or a right that is revoked.

Level: control plane."""

import asyncio
import json
from signal import SIGINT, SIGKILL
from typing import Any

import pytest

from hookrunner.cli.debug import ask
from kubesandbox.faults import Fault
from kubesandbox.sandbox import Sandbox
from tests.controlplane.cluster import Cluster
from tests.faults.proxy import Proxy
from tests.flows.modules.hooks import configmap, hook
from tests.flows.modules.test_leftovers import LOOKUP, RESTLESS
from tests.flows.modules.world import World
from tests.flows.waiting import until

CONFIGMAPS = "/api/v1/namespaces/default/configmaps"
ACCOUNT = "apiVersion: v1\nkind: ServiceAccount\nmetadata: {name: b}\n"
RULES = [
    {"apiGroups": [""], "resources": ["configmaps", "secrets"], "verbs": ["*"]},
    {"apiGroups": ["", "events.k8s.io"], "resources": ["events"], "verbs": ["create", "patch"]},
]


def three(world: World) -> dict[str, str]:
    """Modules with an object each; what turns them on."""
    for name in ("010-a", "020-b", "030-c"):
        world.module(name, {"templates/cm.yaml": configmap(name[4:], "x: z"), "hooks/h.sh": hook(beforeHelm=1)})
    return {f"{name}Enabled": "true" for name in "abc"}


@pytest.mark.parametrize("what", ["hook", "API"])
async def test_ctrl_c_during_a_converge_ends_it_within_its_grace(world: World, sandbox: Sandbox, what: str) -> None:
    """While a hook runs, and while an object is written that the API server keeps waiting."""
    await world.configure(**three(world))
    if what == "hook":
        world.module("020-b", {"hooks/h.sh": hook("sleep 60", beforeHelm=1)})
    else:
        sandbox.faults.requests.clear()
        sandbox.faults.add(Fault("stall", f"POST {CONFIGMAPS}"))
    world.operator.flags = (*world.operator.flags, "--shutdown-grace=1s")
    await world.start(ready=False)
    if what == "hook":
        await world.ran("b/h.sh beforeHelm")
    else:
        await until(lambda: f"POST {CONFIGMAPS}" in " ".join(sandbox.faults.requests), "the object")
    assert await world.operator.stop(SIGINT) == (1 if what == "hook" else 0)
    await world.operator.wait_log("waiting up to 1s for running hooks")
    sandbox.faults.clear()


async def test_a_killed_converge_is_continued_by_the_next_start(world: World, sandbox: Sandbox) -> None:
    await world.configure(**three(world))
    stall = sandbox.faults.add(Fault("stall", f"POST {CONFIGMAPS}"))
    await world.start(ready=False)
    await world.until(world.releases, ["a.v1 pending-install"], "releases")
    assert await world.operator.stop(SIGKILL) != 0
    sandbox.faults.remove(stall)
    await world.again()
    assert await world.maps() == {name: {"x": "z"} for name in "abc"}
    assert [one for one in await world.releases() if "pending" in one] == []
    world.writes()
    await world.again()
    assert world.writes() == []


async def test_an_unreachable_api_during_a_converge_is_reported_and_affects_no_other_module(
    world: World, sandbox: Sandbox
) -> None:
    """First for the objects of one module, then for everybody."""
    await world.configure(**three(world))
    world.module("020-b", {"templates/cm.yaml": ACCOUNT})
    fault = sandbox.faults.add(Fault("refuse", "POST /api/v1/namespaces/default/serviceaccounts"))
    await world.start()
    await world.module_is("b", ready=False, reason="ServiceAccount/b")
    assert set(await world.maps()) == {"a", "c"}
    sandbox.faults.remove(fault)
    await world.configure(b="x: 1")
    await world.module_is("b", ready=True)
    away = sandbox.faults.add(Fault("refuse", "?"))
    sandbox.faults.cut()
    await world.operator.wait_log("watch lost")
    sandbox.faults.remove(away)
    await world.configure(cEnabled="false")
    await until(lambda: not world.modules()["c"]["phase"], "the end of c")
    assert set(await world.maps()) == {"a"}


async def needs_of(world: World) -> Any:
    """What `hookrunner status` shows as needing its user."""
    text = await asyncio.to_thread(ask, (world.directory / "debug.socket",), "/status.json")
    return json.loads(text)["needs"]


async def test_a_right_revoked_during_a_converge_is_reported_until_it_is_granted_again(
    real: World, cluster: Cluster, proxy: Proxy
) -> None:
    """On the real control plane; definitions and API services may not be seen either. Then a restart writes nothing."""
    user = await asyncio.to_thread(cluster.user, "operator", real.namespace, RULES)
    real.operator.kubeconfig = proxy.kubeconfig_with(user.token)
    await real.configure(**three(real), restlessEnabled="true", lookerEnabled="true")
    real.module("040-restless", {"templates/s.yaml": RESTLESS})
    real.module("050-looker", {"templates/cm.yaml": LOOKUP})
    real.module("020-b", {"templates/account.yaml": ACCOUNT})
    await real.start()
    await real.module_is("b", ready=False, reason="serviceaccounts")
    needs = {need["name"]: need for need in await needs_of(real)}
    assert needs["b"]["urgency"] == "failing"
    assert 'add {apiGroups: [""], resources: [serviceaccounts]' in needs["b"]["message"]
    assert {"a", "c"} <= set(await real.maps())
    role = {"metadata": {"name": "more"}, "rules": [{**RULES[0], "resources": ["serviceaccounts"]}]}
    path = f"/apis/rbac.authorization.k8s.io/v1/namespaces/{real.namespace}"
    await real.ask("POST", f"{path}/roles", role)
    subject = {"kind": "ServiceAccount", "name": "operator", "namespace": real.namespace}
    to = {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "more"}
    await real.ask("POST", f"{path}/rolebindings", {"metadata": {"name": "more"}, "roleRef": to, "subjects": [subject]})
    await real.module_is("b", ready=True)
    left = await needs_of(real)  # it may not list what it installs in all namespaces, and is not to
    assert [need["kind"] for need in left if "serviceaccounts" in need["message"] or need["kind"] != "rights"] == []
    real.writes()
    await real.again()
    await real.stop()
    assert real.writes() == []
