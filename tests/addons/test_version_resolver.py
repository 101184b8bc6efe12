"""Versions: who decides, what is refused, and what a channel that cannot be read means. Level: pure."""

from dataclasses import replace
from typing import Any

from hookrunner.addons import version_resolver
from hookrunner.addons.version_resolver import (
    ResolvedVersion,
    VersionRequest,
    check_operator,
    check_package,
    resolve_version,
    untested_reason,
)
from hookrunner.errors import PackageError
from hookrunner.model.addon_status import AddonObstacle, AddonPhase
from hookrunner.model.addons import CommonFields
from hookrunner.packages.channels import Channel, ChannelEntry
from hookrunner.packages.package import PackageTraits
from tests.tables import each

OLD, NEW = "1.14.2", "1.14.6"
PIN = f"sha256:{'a' * 64}"
CHANNEL = Channel("stable", (ChannelEntry(OLD, digest=PIN), ChannelEntry(NEW, kubernetes=">=1.28", digest=PIN)))
GONE = PackageError("NoChannel", "there is no channel 'stable'")
DOWN = PackageError("Unreachable", "no answer")


def request(
    installed: str = "", kubernetes: str = "v1.34.2", downgrade: Any = "allow", **fields: Any
) -> VersionRequest:
    common = CommonFields(**{"channel": "stable", **fields})
    return VersionRequest("coredns", kubernetes, "0.3.0", common, installed, downgrade)


def resolved(wanted: VersionRequest, channel: Channel | PackageError = CHANNEL) -> ResolvedVersion:
    answer = resolve_version(wanted, channel)
    assert isinstance(answer, ResolvedVersion)
    return answer


def refused(wanted: VersionRequest, channel: Channel | PackageError = CHANNEL) -> AddonObstacle:
    answer = resolve_version(wanted, channel)
    assert isinstance(answer, AddonObstacle)
    return answer


@each(
    ("wanted", "answer"),
    [
        (request(), ResolvedVersion(NEW, "stable", PIN)),
        (request(kubernetes="v1.27.0"), ResolvedVersion(OLD, "stable", PIN)),
        (request(kubernetes="v1.28.0-rc.1"), ResolvedVersion(NEW, "stable", PIN)),
        (request(OLD), ResolvedVersion(NEW, "stable", PIN)),
        (request(NEW, version=OLD), ResolvedVersion(OLD, "", PIN)),
        (request(version="9.9"), ResolvedVersion("9.9")),
        (request(update_policy="notify"), ResolvedVersion(NEW, "stable", PIN)),
        (request(update_policy="manual"), ResolvedVersion(NEW, "stable", PIN)),
        (request(OLD, update_policy="notify"), ResolvedVersion(OLD, "stable", PIN, NEW)),
        (request(NEW, update_policy="notify"), ResolvedVersion(NEW, "stable", PIN)),
        (request(OLD, update_policy="manual"), ResolvedVersion(OLD, "stable", PIN)),
        (request("1.0.0", update_policy="manual"), ResolvedVersion("1.0.0", "stable")),
        (request(OLD, update_policy="notify", version=NEW), ResolvedVersion(NEW, "", PIN)),
        (request(OLD, update_policy="notify", kubernetes="unknown"), ResolvedVersion(OLD, "stable", PIN)),
    ],
)
def test_spec_policy_and_channel_decide(wanted: VersionRequest, answer: ResolvedVersion) -> None:
    assert resolved(wanted) == answer


def test_a_channel_that_cannot_be_read_refuses_only_what_needs_it() -> None:
    for channel in (GONE, DOWN):
        assert resolved(request(OLD, version=NEW), channel) == ResolvedVersion(NEW)
        kept = ResolvedVersion(OLD, "stable")
        assert resolved(request(OLD, update_policy="manual"), channel) == kept
        assert resolved(request(OLD, update_policy="notify"), channel) == replace(kept, unread=str(channel))
    assert (refused(request(OLD), GONE).phase, refused(request(OLD), GONE).reason) == (
        AddonPhase.VERSION_MISMATCH,
        "NoChannel",
    )
    unreachable = refused(request(update_policy="manual"), DOWN)
    assert (unreachable.phase, unreachable.progress) == (AddonPhase.PACKAGE_ERROR, "reconciling")


def test_a_channel_that_cannot_be_read_any_more_changes_nothing() -> None:
    followed = replace(request(OLD), followed="stable")
    assert resolved(followed, DOWN) == ResolvedVersion(OLD, "stable", unread="no answer")
    assert resolved(followed) == ResolvedVersion(NEW, "stable", PIN)
    assert refused(replace(followed, followed="next"), DOWN).reason == "Unreachable"
    assert refused(replace(followed, installed=""), DOWN).reason == "Unreachable"


@each(
    ("wanted", "channel", "reason"),
    [
        (request(), Channel("stable"), "NoVersion"),
        (request(), Channel("stable", (ChannelEntry("1.0", "other"),)), "NoVersion"),
        (request(), Channel("stable", (ChannelEntry("1.0", kubernetes=">=1.40"),)), "NoVersion"),
        (request(kubernetes="unknown"), CHANNEL, "Kubernetes"),
        (request(NEW, version=OLD, downgrade="refuse"), CHANNEL, "DowngradeRefused"),
        (request("2.0.0", downgrade="refuse"), CHANNEL, "DowngradeRefused"),
    ],
)
def test_no_version_can_be_resolved(wanted: VersionRequest, channel: Channel, reason: str) -> None:
    obstacle = refused(wanted, channel)
    assert (obstacle.phase, obstacle.reason, obstacle.progress) == (AddonPhase.VERSION_MISMATCH, reason, "stalled")


def test_upgrades_are_no_downgrades() -> None:
    assert resolved(request(OLD, version=NEW, downgrade="refuse")).version == NEW
    assert resolved(request(OLD, version=OLD, downgrade="refuse")).version == OLD


@each(
    ("traits", "installed", "reason"),
    [
        ({}, OLD, ""),
        ({"kubernetes": ">=1.28", "hookrunner": ">=0.2", "upgrades_from": "1.14.x"}, OLD, ""),
        ({"hookrunner": ">=9"}, "", "Operator"),
        ({"kubernetes": "<1.30"}, "", "Kubernetes"),
        ({"upgrades_from": ">=1.14.4"}, OLD, "UpgradePath"),
        ({"upgrades_from": ">=1.14.4"}, "", ""),
        ({"upgrades_from": ">=9"}, NEW, ""),
        ({"upgrades_from": ">=1"}, "main", "UpgradePath"),
    ],
)
def test_a_package_says_where_it_fits(traits: dict[str, str], installed: str, reason: str) -> None:
    obstacle = check_package(PackageTraits(**traits), request(installed), NEW)  # type: ignore[arg-type]
    assert (obstacle.reason if obstacle else "") == reason


@each(
    ("minimum", "message"),
    [
        ("", ""),
        ("0.2.0", ""),
        ("v0.3.0", ""),
        ("0.4.0", "coredns 1.14.6 needs hookrunner 0.4.0 or newer, this is 0.3.0; upgrade it"),
        ("new", "coredns 1.14.6 needs hookrunner new or newer, this is 0.3.0; upgrade it"),
    ],
)
def test_an_annotation_asks_for_a_version_of_hookrunner(minimum: str, message: str) -> None:
    obstacle = check_operator(minimum, request(), NEW)
    assert (obstacle.message if obstacle else "") == message


def test_a_version_outside_of_the_tested_range_is_untested() -> None:
    assert untested_reason(PackageTraits(tested_kubernetes=">=1.28"), request(), NEW) == ""
    assert untested_reason(PackageTraits(tested_kubernetes="<1.30"), request(), NEW) == (
        "coredns 1.14.6 is tested with Kubernetes <1.30, the cluster has v1.34.2"
    )


@each("reason", PackageError.__init__.__annotations__["reason"].__args__)
def test_every_reason_of_a_package_error_has_its_phase(reason: Any) -> None:
    assert version_resolver.package_obstacle(PackageError(reason, "text")).progress


def test_older_channel_counts_as_one_that_cannot_be_read() -> None:
    numbered, followed = replace(CHANNEL, serial=7), replace(request(OLD), followed="stable", serial=7)
    assert resolved(followed, numbered) == ResolvedVersion(NEW, "stable", PIN, serial=7)
    kept = resolved(followed, replace(numbered, serial=6))
    assert (kept.version, kept.digest, kept.serial, "the serial 6" in kept.unread) == (OLD, "", 7, True)
    restored = refused(replace(followed, followed=""), replace(numbered, serial=6))
    assert (restored.phase, restored.reason) == (AddonPhase.PACKAGE_ERROR, "Unverified")
    assert resolved(replace(followed, fields=replace(followed.fields, version=OLD)), CHANNEL).version == OLD
