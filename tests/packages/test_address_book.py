"""Which hosts are private as sources of redirects, and which are public as their targets. Level: pure."""

import pytest

from hookrunner.packages.address_book import AddressBook, is_private_address, is_public_address
from tests.packages.name_server import Names
from tests.tables import each

PUBLIC = (True, False)
PRIVATE = (False, True)
NEITHER = (False, False)


@each(
    "address, kind",
    [
        ("93.184.216.34", PUBLIC),
        ("2606:2800:220:1::1", PUBLIC),
        ("::ffff:93.184.216.34", PUBLIC),
        ("64:ff9b::93.184.216.34", PUBLIC),
        ("example.com", PUBLIC),
        ("127.0.0.1", PRIVATE),
        ("127.0.0.1.", PRIVATE),
        ("10.96.0.1", PRIVATE),
        ("192.168.1.1", PRIVATE),
        ("172.16.0.1", PRIVATE),
        ("169.254.169.254", PRIVATE),
        ("100.64.0.1", PRIVATE),
        ("198.18.0.1", PRIVATE),
        ("::1", PRIVATE),
        ("fd00::1", PRIVATE),
        ("fe80::1%eth0", PRIVATE),
        ("::ffff:10.0.0.1", PRIVATE),
        ("::ffff:0:10.0.0.1", PRIVATE),
        ("64:ff9b::a9fe:a9fe", PRIVATE),
        ("0.0.0.0", NEITHER),
        ("::", NEITHER),
        ("::10.0.0.1", NEITHER),
        ("64:ff9b:1::a9fe:a9fe", NEITHER),
        ("2002:a00:1::", NEITHER),
        ("2001:0:a00:1::", NEITHER),
        ("2001:db8::1", NEITHER),
        ("192.0.2.1", NEITHER),
        ("192.88.99.1", NEITHER),
        ("224.0.0.1", NEITHER),
        ("255.255.255.255", NEITHER),
        ("ff0e::1", NEITHER),
        ("fec0::1", NEITHER),
        ("100::1", NEITHER),
    ],
)
def test_which_addresses_are_public_and_which_private(address: str, kind: tuple[bool, bool]) -> None:
    assert (is_public_address(address), is_private_address(address)) == kind


NAMES = {"inside": ["10.0.0.1", "fd00::1"], "outside": ["93.184.216.34"], "both": ["93.184.216.34", "10.0.0.1"]}


@each(("host", "private"), [("inside", True), ("outside", False), ("both", False)])
async def test_a_source_is_private_only_if_all_its_addresses_are(host: str, private: bool) -> None:
    book = AddressBook(inner=Names(**NAMES))
    assert not book.is_private(host)
    assert [result["host"] for result in await book.resolve(host)] == NAMES[host]
    assert book.is_private(host) is private


@pytest.mark.parametrize("host", ["inside", "both"])
async def test_a_target_must_be_public_in_all_its_addresses(host: str) -> None:
    book = AddressBook(public_only=True, inner=Names(**NAMES))
    assert len(await book.resolve("outside")) == 1
    with pytest.raises(OSError, match=f"{host} has a private address"):
        await book.resolve(host)


async def test_a_host_that_was_public_does_not_become_private() -> None:
    names = Names(host=["93.184.216.34"])
    book = AddressBook(inner=names)
    await book.resolve("host")
    names.addresses["host"] = ["10.0.0.1"]
    await book.resolve("host")
    assert not book.is_private("host")


async def test_hosts_beyond_the_bound_are_not_private() -> None:
    names = {f"h{number}": ["10.0.0.1"] for number in range(300)}
    book = AddressBook(inner=Names(**names))
    for host in names:
        await book.resolve(host)
    assert (book.is_private("h0"), book.is_private("h299"), book.is_private("10.0.0.1")) == (True, False, True)
