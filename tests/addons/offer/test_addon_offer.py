"""What is offered, who feeds it, and what followers are given. Level: pure."""

import asyncio
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from hookrunner.addons.addon_values import AddonValues
from hookrunner.addons.offer.addon_offer import AddonOffer, OfferedAddon, OfferState
from hookrunner.model.addons import RejectedAddon
from tests.addons.conftest import addon

A, B = addon("a", "A"), addon("b", "B")


def offered(of: Any, zone: str = "") -> OfferedAddon:
    return OfferedAddon(of, AddonValues(shared={"zone": zone} if zone else {}), f"of {of.name}")


@pytest.mark.looptime
async def test_follower_is_given_the_whole_state_and_never_one_that_was_overtaken() -> None:
    offer, seen = AddonOffer(), list[list[str]]()

    async def follow() -> None:
        async for state in offer.states():
            seen.append([*state.addons])
            await asyncio.sleep(1)

    following = asyncio.create_task(follow())
    await asyncio.sleep(0.1)
    for addons in ([A], [A, B], [B], [B]):
        offer.set_directories(map(offered, addons), ())
    await asyncio.sleep(9)
    following.cancel()
    assert seen == [[], ["b"]]


def test_changed_files_are_another_addon_and_unchanged_ones_the_same() -> None:
    before, again = offered(A, "x"), offered(A, "x")
    assert before == again
    assert offered(replace(A, stamp="2")) != before


def test_directories_have_priority_and_locations_stay_for_runs_that_are_under_way() -> None:
    offer = AddonOffer()
    offer.set_generics([replace(offered(A), location="of an object"), offered(B)], {})
    assert (offer.locations["a"], offer.of_directories) == ("of an object", ())
    offer.set_directories([offered(A)], ())
    offer.set_generics([], {})
    assert (offer.addons, offer.of_directories, offer.locations) == ((A,), (A,), {"a": "of a", "b": "of b"})


def test_reason_is_that_of_the_directory_or_of_the_object() -> None:
    rejected = RejectedAddon("a", Path("/addons/a"), "addon.yaml is empty")
    assert OfferState().why_left(A) == "/addons/a does not exist any more"
    assert OfferState(rejected=(rejected,)).why_left(A) == "addon.yaml is empty"
    assert OfferState(refused={"a": "Generic x was deleted"}).why_left(A) == "Generic x was deleted"


def test_global_values_are_those_of_all_addons() -> None:
    addons = {each.addon.name: each for each in (offered(A, "x"), offered(B, "y"))}
    assert OfferState(addons).shared == {"zone": "y"}
