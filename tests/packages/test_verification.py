"""Which packages may be used. Level: pure."""

from dataclasses import replace

import pytest

from hookrunner.errors import PackageError
from hookrunner.packages.package import parse_package
from hookrunner.packages.package_fetcher import require_trusted, require_unchanged
from hookrunner.settings.addons import Verification
from tests.packages.places import FILES, with_checksums
from tests.tables import each

BARE = parse_package("coredns", "1.0", FILES)
LISTED = parse_package("coredns", "1.0", with_checksums(FILES))
OTHER = "sha256:" + "0" * 64


@each(
    "listed, pin, is_remote, verification, reason",
    [
        (False, "", False, "digest", ""),
        (False, "", False, "signature", ""),
        (True, "", True, "signature", "Unverified"),
        (False, "", True, "off", ""),
        (False, "", True, "digest", "Unverified"),
        (True, "", True, "digest", ""),
        (False, BARE.digest, True, "digest", ""),
        (True, BARE.digest, True, "signature", "Unverified"),
        (True, OTHER, True, "digest", "DigestMismatch"),
        (True, OTHER, True, "off", "DigestMismatch"),
        (True, OTHER, False, "digest", "DigestMismatch"),
    ],
)
def test_what_is_required_of_a_package(
    listed: bool, pin: str, is_remote: bool, verification: Verification, reason: str
) -> None:
    package = LISTED if listed else BARE
    if not reason:
        require_trusted(package, pin, is_remote, verification)
        return
    with pytest.raises(PackageError) as raised:
        require_trusted(package, pin, is_remote, verification)
    assert raised.value.reason == reason


def test_a_package_whose_signature_was_checked_is_trusted() -> None:
    require_trusted(replace(LISTED, is_signed=True), "", True, "signature")


def test_a_version_keeps_its_package_unless_the_other_one_is_accepted() -> None:
    require_unchanged(BARE, "", "")
    require_unchanged(BARE, BARE.digest, "")
    require_unchanged(BARE, OTHER, BARE.digest)
    with pytest.raises(PackageError, match=f"hookrunner.io/accept-digest: {BARE.digest}") as raised:
        require_unchanged(BARE, OTHER, "sha256:" + "1" * 64)
    assert raised.value.reason == "DigestChanged"
