"""Which verbs are called: those of interfaces that the program has, and none before it has answered. Level: pure."""

from pathlib import Path

import pytest

from hookrunner.cloud.answers import CloudCapabilities, ErrorCode, Interface, ProviderError
from hookrunner.cloud.provider.cloud_verb import AnyVerb
from hookrunner.cloud.provider.provider_calls import ProviderCalls
from hookrunner.cloud.provider.provider_program import ProviderProgram
from hookrunner.cloud.provider.verb_calls import VerbCalls
from hookrunner.cloud.provider.verbs import LB_LIST, ROUTES_LIST
from hookrunner.metrics.names import Metrics
from hookrunner.process.child import Patience
from hookrunner.process.children import Children


@pytest.fixture
def calls() -> ProviderCalls:
    return ProviderCalls(ProviderProgram(Path("/missing"), {}), Children(Patience()), Metrics())


async def test_no_verb_is_called_before_capabilities_are_known(calls: ProviderCalls) -> None:
    asked: tuple[AnyVerb, ...] = (LB_LIST, ROUTES_LIST)
    for verb in asked:
        with pytest.raises(ProviderError, match="has not answered `capabilities` yet"):
            await VerbCalls(calls).ask(verb, None)
    assert not calls.recent


async def test_verb_without_its_interface_is_not_called(calls: ProviderCalls) -> None:
    verbs = VerbCalls(calls)
    verbs.adopt(CloudCapabilities("sim", ("sim://",), (Interface.INSTANCES,)), is_replaced=False)
    with pytest.raises(ProviderError) as caught:
        await verbs.ask(ROUTES_LIST, None)
    assert (caught.value.code, [*calls.recent]) == (ErrorCode.NOT_IMPLEMENTED, [])
