"""Admission and conversion hooks of modules on the real control plane. Level: control plane."""

import asyncio
import json
from http import HTTPStatus
from signal import SIGKILL

import pytest

from tests.controlplane.processes import free_port
from tests.flows.conversions import LOWER, SPECS, UPPER, Kind
from tests.flows.modules.hooks import configmap, hook, patch
from tests.flows.modules.world import World
from tests.flows.waiting import until
from tests.flows.webhooks import Site, site

__all__ = ["site"]


ASKED = {"matchLabels": {"asked": "y"}}
VALIDATING = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations"


@pytest.fixture
def asking(site: Site, real: World) -> World:
    """An operator that the API server reaches."""
    real.operator.flags += site.flags
    return real


def policy(site: Site, key: str, body: str = "") -> str:
    """A hook that refuses the one ConfigMap that its module's values name."""
    verdict = f"""\
jq --slurpfile values "$VALUES_PATH" '.[0].review.request.object.metadata.name as $name
  | {{allowed: ($name != $values[0].{key}.forbidden), message: "{key} forbids it"}}' \\
  "$BINDING_CONTEXT_PATH" > "$VALIDATING_RESPONSE_PATH"
"""
    binding = site.binding("CREATE", "UPDATE", labelSelector=ASKED, timeoutSeconds=30)
    return hook(verdict + body, kubernetesValidating=[binding])


def own(name: str, data: str = "") -> str:
    """A template of an object that all the policies are asked about."""
    return configmap(name, data, asked="y")


async def verdict(site: Site, name: str) -> str:
    """What is said of a ConfigMap of that name, by whom; empty if nothing."""
    return await asyncio.to_thread(site.refusal, name, asked="y")


async def registered(world: World, site: Site) -> list[str]:
    """The names of the webhooks."""
    found = await world.ask("GET", f"{VALIDATING}/{site.name}", None)
    return [entry["name"] for entry in found["webhooks"]] if found else []


async def refuses(world: World, site: Site, name: str, module: str) -> None:
    """Wait until that module's policy refuses the name."""
    wanted = f'admission webhook "{module}.{site.name}.example.com" denied the request: {module} forbids it'
    await world.until(lambda: _says(site, name, wanted), True, wanted)


async def _says(site: Site, name: str, words: str) -> bool:
    return words in await verdict(site, name)


async def test_webhooks_of_the_same_name_in_two_modules_are_independent(asking: World, site: Site) -> None:
    """Each is asked about the objects of both while they are installed."""
    for number, name in enumerate("ab", 1):
        asking.module(f"0{number}0-{name}", {"hooks/p.sh": policy(site, name), "templates/cm.yaml": own(f"own-{name}")})
    await asking.configure(aEnabled="true", bEnabled="true", a="forbidden: one", b="forbidden: two")
    await asking.start()
    both = [f"{name}.{site.name}.example.com" for name in "ab"]
    assert await registered(asking, site) == both
    await refuses(asking, site, "one", "a")
    await refuses(asking, site, "two", "b")
    assert await verdict(site, "three") == ""
    assert {"own-a", "own-b"} <= (await asking.maps()).keys()
    for _ in range(2):
        await asking.configure(bEnabled="false")
        await asking.until(lambda: registered(asking, site), both[:1], "webhooks of a alone")
        await asking.module_is("b", state="off", phase="")
        await asking.until(lambda: verdict(site, "two"), "", "the verdict when the API server has heard of it")
        await asking.configure(bEnabled="true")
        await refuses(asking, site, "two", "b")
    await refuses(asking, site, "one", "a")
    await asking.configure(aEnabled="false", bEnabled="false")
    await asking.until(lambda: asking.ask("GET", f"{VALIDATING}/{site.name}", None), None, "the registration")
    await asking.until(asking.releases, [], "releases")


async def test_a_webhook_may_patch_the_values_of_its_module(asking: World, site: Site) -> None:
    learn = patch("/a/seen", '"$(jq -r .[0].review.request.name "$BINDING_CONTEXT_PATH")"')
    template = configmap("learnt", "seen: {{ .Values.a.seen }}")
    asking.module("010-a", {"hooks/p.sh": policy(site, "a", learn), "templates/cm.yaml": template})
    await asking.configure(aEnabled="true", a="seen: nothing\nforbidden: probe")
    await asking.start()
    await asking.becomes("learnt", seen="nothing")
    await refuses(asking, site, "probe", "a")
    await asking.create("first", asked="y")
    await asking.becomes("learnt", seen="first")


async def test_after_a_crash_webhooks_answer_before_any_module_is_run(asking: World, site: Site) -> None:
    """Otherwise a gate would never get past the module behind it, whose policy has to let its object through."""
    asking.module("010-gate", {"module.yaml": "gate: true\n", "templates/cm.yaml": own("gate", 'x: "1"')})
    asking.module("020-b", {"hooks/p.sh": policy(site, "b")})
    asking.module("030-c", {"hooks/p.sh": policy(site, "c")})
    await asking.configure(gateEnabled="true", bEnabled="true", cEnabled="true", b="forbidden: two", c="forbidden: no")
    await asking.start()
    await refuses(asking, site, "two", "b")
    await asking.operator.stop(SIGKILL)
    asking.module("010-gate", {"templates/cm.yaml": own("gate", 'x: "2"')})
    assert "failed calling webhook" in await verdict(site, "three")
    await asking.configure(cEnabled="false")
    await asking.start()
    await asking.becomes("gate", x="2")
    assert await registered(asking, site) == [f"b.{site.name}.example.com"]
    await refuses(asking, site, "two", "b")
    await asking.operator.stop(SIGKILL)
    await asking.configure(bEnabled="false")
    await asking.start()
    assert await registered(asking, site) == []
    await asking.until(lambda: verdict(site, "two"), "", "the verdict when the API server has heard of it")


async def test_a_module_converts_the_kind_that_it_brings(asking: World, site: Site) -> None:
    """Its hooks see objects converted from their first look on, in each life; gone, it leaves none to be converted."""
    kind = Kind(site.cluster, site.namespace)
    binding = {"name": "teas", "kind": "Tea", "apiVersion": f"{kind.group}/v1", "jqFilter": ".spec.address.host"}
    look = 'jq -r ".[0] | select(.type == \\"Synchronization\\") | .objects[].filterResult" $BINDING_CONTEXT_PATH'
    script = kind.converting(*LOWER, *UPPER, before=f'{look} >> "$TOLD/hosts"\n', kubernetes=[binding])
    definition = json.dumps(kind.written("v1alpha1"))
    asking.module("010-a", {"crds/tea.yaml": definition, "hooks/h.sh": script})
    await asking.configure(aEnabled="true")
    try:
        await asking.start()
        await until(lambda: kind.create("v1", "green").status == HTTPStatus.CREATED, "the kind is served")
        assert await asyncio.to_thread(kind.specs, "green") == SPECS
        await asking.operator.stop(SIGKILL)
        await asking.start()
        assert (asking.operator.told / "hosts").read_text() == "db\n"
        await asking.configure(aEnabled="false")
        await asking.until(lambda: _strategy(kind), "None", "the definition's conversion")
        await asking.module_is("a", state="off", phase="")
    finally:
        kind.remove()


async def _strategy(kind: Kind) -> str:
    return str(kind.conversion()["strategy"])


async def test_a_webhook_without_its_service_is_not_registered(world: World) -> None:
    """It would refuse everything. When the Service is there, all is well."""
    world.operator.flags += (f"--webhook-port={free_port()}", "--validating-webhook-configuration-name=mine")
    rule = {"apiGroups": [""], "apiVersions": ["v1"], "resources": ["pods"], "operations": ["CREATE"]}
    world.module("010-a", {"hooks/p.sh": hook(kubernetesValidating=[{"name": "p.example.com", "rules": [rule]}])})
    await world.configure(aEnabled="true")
    await world.start()
    await world.module_is("a", ready=False, reason="Service default/hookrunner-validating-svc, which does not exist")
    assert await world.ask("GET", f"{VALIDATING}/mine", None) is None
    service = {"metadata": {"name": "hookrunner-validating-svc"}, "spec": {"ports": [{"port": 443}]}}
    await world.ask("POST", world.path(resource="services"), {"apiVersion": "v1", "kind": "Service", **service})
    await world.module_is("a", ready=True)
    assert [one["name"] for one in (await world.ask("GET", f"{VALIDATING}/mine", None))["webhooks"]] == [
        "a.p.example.com"
    ]
