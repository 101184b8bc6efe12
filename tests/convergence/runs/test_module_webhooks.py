"""When the API server begins to ask hooks of modules, and when it asks no more. Level: pure."""

import asyncio
from collections.abc import Sequence
from pathlib import Path

import pytest

from hookrunner.convergence.runs.module_webhooks import ModuleWebhooks
from hookrunner.convergence.unit_states import UnitStates
from hookrunner.engine.reviews.reviewer import ReviewDeclarations
from hookrunner.errors import BadHookConfig, RegistrationFailed
from hookrunner.model.bindings import Admission, ConversionBinding, Hook, HookConfig
from hookrunner.model.modules import Choice, Decision, Module, Phase
from hookrunner.model.unit_state import UnitState
from hookrunner.registration.registrar import SETTLE
from tests.convergence.runs.webhook_cluster import Cluster, UnaskedReviewer

pytestmark = pytest.mark.looptime

ASKED = HookConfig(
    "v1", validating=(Admission("p.example.com"),), conversions=(ConversionBinding("c", "things.a", ()),)
)


class Hooks:
    """Each module has one hook, with this config; those of `bad` cannot be loaded."""

    def __init__(self, config: HookConfig = ASKED, bad: Sequence[str] = ()) -> None:
        self.config = config
        self.bad = bad
        self.ready: list[str] = []

    async def load(self, state: UnitState) -> None:
        name = state.name
        if name in self.bad:
            raise BadHookConfig(name, ["no"])
        state.load_hooks([Hook(f"{name}/h", Path("/h"), self.config, name)])

    async def listen_for_reviews(self, state: UnitState) -> None:
        self.ready.append(state.name)

    def forget(self, state: UnitState) -> None:
        state.forget_hooks()


def put_together(
    *names: str, hooks: Hooks | None = None, standing: Sequence[str] = ()
) -> tuple[ModuleWebhooks, UnitStates, Cluster]:
    states = UnitStates([Module(name, name, 1, Path("/m"), Path("/m")) for name in names])
    for state in states.modules:
        state.decide(Decision(Choice.ON, "", ""))
    declared = ReviewDeclarations((), UnaskedReviewer(), lacking=False)
    cluster = Cluster(declared, *standing)
    return ModuleWebhooks(states, hooks or Hooks(), declared, cluster, True), states, cluster


@pytest.mark.slow
async def test_kinds_are_registered_and_withdrawn_one_after_the_other_a_hundred_times() -> None:
    hooks = Hooks()
    webhooks, states, cluster = put_together("a", "b", hooks=hooks)
    await webhooks.resume()
    await hooks.load(states["b"])
    await webhooks.register(states["b"], "admission")
    for _ in range(100):
        await hooks.load(states["a"])
        await webhooks.register(states["a"], "conversion")
        assert cluster.there == {"a conversion", "b admission"}
        await webhooks.register(states["a"], "admission")
        assert cluster.there == {"a conversion", "a admission", "b admission"}
        await webhooks.withdraw(states["a"], "admission")
        assert cluster.there == {"a conversion", "b admission"}
        await webhooks.withdraw(states["a"], "conversion")
        hooks.forget(states["a"])
        assert (cluster.there, webhooks.registrations(states["a"])) == ({"b admission"}, {})


async def test_a_withdrawal_waits_until_all_api_servers_know_it() -> None:
    hooks, now = Hooks(), asyncio.get_running_loop().time
    webhooks, states, _ = put_together("a", hooks=hooks)
    await hooks.load(states["a"])
    await webhooks.register(states["a"], "admission")
    began = now()
    await webhooks.withdraw(states["a"], "admission")
    assert now() - began == SETTLE
    await webhooks.withdraw(states["a"], "admission")
    assert now() - began == SETTLE


async def test_a_failed_registration_is_tried_again() -> None:
    hooks = Hooks()
    webhooks, states, cluster = put_together("a", hooks=hooks)
    (state,) = states.modules
    await webhooks.resume()
    await hooks.load(state)
    cluster.refuses = True
    with pytest.raises(RegistrationFailed):
        await webhooks.register(state, "admission")
    cluster.refuses = False
    await webhooks.register(state, "admission")
    cluster.refuses = True
    with pytest.raises(RegistrationFailed):
        await webhooks.withdraw(state, "admission")
    assert cluster.there == {"a admission"}
    cluster.refuses = False
    await webhooks.withdraw(state, "admission")
    assert cluster.there == set()


async def test_a_module_whose_deletion_is_cancelled_is_registered_again() -> None:
    hooks = Hooks()
    webhooks, states, cluster = put_together("a", hooks=hooks)
    (state,) = states.modules
    await webhooks.resume()
    await hooks.load(state)
    await webhooks.register(state, "admission")
    going = asyncio.create_task(webhooks.withdraw(state, "admission"))
    await asyncio.sleep(1)
    assert cluster.there == set()
    await webhooks.register(state, "admission")
    await going
    assert (cluster.there, webhooks.registrations(state)) == ({"a admission"}, {"admission": "registered"})


async def test_without_earlier_registrations_no_hook_is_loaded_ahead() -> None:
    hooks = Hooks()
    webhooks, states, _ = put_together("a", hooks=hooks)
    await webhooks.resume()
    assert (hooks.ready, states["a"].loaded) == ([], False)


async def test_earlier_registrations_are_answered_and_withdrawn_when_their_module_is_off() -> None:
    hooks = Hooks()
    standing = ["a admission", "b admission", "gone admission"]
    webhooks, states, cluster = put_together("a", "b", hooks=hooks, standing=standing)
    states.module("b").decide(Decision(Choice.OFF, "", ""))
    await webhooks.resume()
    assert (hooks.ready, states["a"].live) == (["a"], True)
    assert cluster.there == {"a admission", "gone admission"}, "of b it is certain"
    for kind in ("conversion", "admission"):
        await webhooks.register(states["a"], kind)
    await webhooks.resume()
    assert cluster.there == {"a conversion", "a admission"}, "now of everybody"


@pytest.mark.parametrize("doubt", ["undecided", "bad hook"])
async def test_registrations_in_doubt_stay(doubt: str) -> None:
    hooks = Hooks(bad=["a"] if doubt == "bad hook" else [])
    webhooks, states, cluster = put_together("a", "b", hooks=hooks, standing=["a admission", "b admission"])
    if doubt == "undecided":
        states.module("a").decide(Decision(Choice.UNDECIDED, "", ""))
    states.module("b").decide(Decision(Choice.OFF, "", ""))
    await webhooks.resume()
    assert cluster.there == {"a admission"}


async def test_hooks_without_reviews_are_loaded_when_their_module_runs() -> None:
    webhooks, states, _ = put_together("a", hooks=Hooks(HookConfig("v1")), standing=["gone admission"])
    (state,) = states.modules
    await webhooks.resume()
    assert (state.loaded, state.live, state.phase) == (False, False, Phase.STARTUP)
