"""What sources offer: a web server lists no versions, but its channels name some. Level: pure."""

from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from hookrunner.addons.offered_versions import Offer, read_offer
from tests.instances.samples import ADDON
from tests.packages.places import FILES, with_checksums
from tests.packages.web_place import WebPlace, web_place


@pytest.fixture
async def place(tmp_path: Path) -> AsyncIterator[WebPlace]:
    async with web_place(tmp_path) as place:
        place.put_channel("stable", b"manifests: [{version: 1.9.0}, {version: 1.10.0}, {name: web, version: 7.0.0}]\n")
        place.put_channel("next", b"manifests: [{version: 2.0.0}]\n")
        for version in ("1.8.0", "1.9.0", "1.10.0"):
            place.put_package("dns", version, with_checksums(FILES))
        yield place


async def offered(place: WebPlace, *channels: str, installed: tuple[str, ...] = ()) -> Offer:
    addon = replace(ADDON, component="dns")
    return await read_offer(addon, place.source, "1.34.2", channels, installed)


async def test_a_web_server_offers_the_versions_that_channels_name(place: WebPlace) -> None:
    offer = await offered(place)
    assert [(version.version, version.fits) for version in offer.versions] == [("1.10.0", True), ("1.9.0", True)]
    assert (offer.channels, offer.problems) == ({"stable": "1.10.0"}, {})


async def test_installed_versions_and_those_without_a_package_are_shown_too(place: WebPlace) -> None:
    offer = await offered(place, "next", installed=("1.8.0", "1.8.0"))
    assert [version.version for version in offer.versions] == ["2.0.0", "1.10.0", "1.9.0", "1.8.0"]
    assert "neither SHA256SUMS nor manifest.yaml exists" in offer.versions[0].problem
    assert offer.channels == {"stable": "1.10.0", "next": "2.0.0"}


@pytest.mark.slow
async def test_a_channel_that_names_thousands_of_versions_does_not_cause_as_many_reads(place: WebPlace) -> None:
    entries = ", ".join(f"{{version: 1.0.{number}}}" for number in range(5_000))
    place.put_channel("stable", f"manifests: [{entries}]\n".encode())
    offer = await offered(place)
    assert (len(offer.versions), offer.versions[0].version) == (100, "1.0.4999")
