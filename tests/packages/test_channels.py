"""Channels: which entry a component follows, and what is wrong with a channel's file. Level: pure."""

import pytest

from hookrunner.errors import PackageError
from hookrunner.packages.channels import (
    Channel,
    ChannelEntry,
    choose_entry,
    decode_channel,
    fitting_entries,
    parse_channel,
    pinned_digest,
    require_serial,
    version_order,
)
from tests.tables import each

DIGEST = "sha256:" + "ab" * 32


def channel(*lines: str) -> Channel:
    return parse_channel("stable", "manifests:\n" + "".join(f"- {line}\n" for line in lines))


@each(
    "lines, chosen",
    [
        (["{version: 1.9.0}", "{version: 1.10.0}", "{version: 1.2.0}"], "1.10.0"),
        (["{version: 2.0.0}", "{name: coredns, version: 1.0.0}"], "1.0.0"),
        (["{version: 2.0.0}", "{name: dashboard, version: 3.0.0}"], "2.0.0"),
        (["{version: v1.2.0}", "{version: 1.2.0}"], "v1.2.0"),
        (["{version: 1.2.0}", "{version: v1.2.0}"], "1.2.0"),
        (["{version: 1.2.0-rc.1}", "{version: 1.2.0}", "{version: 1.2.0-rc.2}"], "1.2.0"),
        (["{version: latest}", "{version: '0.1'}"], "0.1"),
        (["{version: latest}", "{version: edge}"], "latest"),
        (["{version: 1.34.1, kubernetesVersion: '>=1.34'}", "{version: 1.33.5, kubernetesVersion: '1.33'}"], "1.33.5"),
        (["{version: 9.9.9, digest: null}"], "error"),
    ],
)
def test_the_chosen_entry(lines: list[str], chosen: str) -> None:
    if chosen == "error":
        with pytest.raises(PackageError, match="must be of type string"):
            channel(*lines)
        return
    assert choose_entry(channel(*lines), "coredns", "v1.33.5-gke.100").version == chosen


@each(
    "kubernetes, wanted, fits",
    [
        ("v1.30.0-rc.1", "<1.30.0-0", False),
        ("v1.30.0-rc.1", ">=1.30", True),
        ("v1.29.9+k3s1", "1.29", True),
        ("1.29.9", "", True),
        ("1.28", ">=1.28, <1.31 || 1.33", True),
        ("1.32.1", ">=1.28, <1.31 || 1.33", False),
    ],
)
def test_the_suffix_of_the_clusters_version_is_ignored(kubernetes: str, wanted: str, fits: bool) -> None:
    entries = fitting_entries(Channel("stable", (ChannelEntry("1.0", kubernetes=wanted),)), "coredns", kubernetes)
    assert bool(entries) is fits


def test_a_channel_without_an_entry_for_the_component_names_it() -> None:
    with pytest.raises(PackageError, match="channel 'stable' has no version of coredns; add an entry") as raised:
        choose_entry(channel("{name: dashboard, version: 1.0.0}"), "coredns", "v1.33.0")
    assert raised.value.reason == "NoVersion"


def test_a_channel_without_an_entry_for_the_cluster_lists_what_it_has() -> None:
    lines = ["{version: 1.34.1, kubernetesVersion: '1.34'}"]
    with pytest.raises(PackageError, match=r"for Kubernetes v1\.33\.0, only 1\.34\.1 for 1\.34;") as raised:
        choose_entry(channel(*lines), "kube-proxy", "v1.33.0")
    assert raised.value.reason == "NoVersion"


def test_a_pin_holds_for_each_entry_of_the_version() -> None:
    entries = channel("{version: 1.0.0}", f"{{name: coredns, version: 1.0.0, digest: '{DIGEST}'}}")
    assert pinned_digest(entries, "coredns", "1.0.0") == DIGEST
    assert pinned_digest(entries, "dashboard", "1.0.0") == ""
    assert pinned_digest(entries, "coredns", "1.0.1") == ""


def test_keys_of_entries_that_mean_nothing_are_named() -> None:
    entries = channel("{version: 1.0.0, kuberneteVersion: '1.30'}")
    assert entries.unknown == ("manifests[0].kuberneteVersion; did you mean 'kubernetesVersion'?",)


@each(
    "text, problem",
    [
        ("", "manifests is required"),
        ("[]", "must be of type object"),
        ("manifests: {}", 'manifests must be of type array: "object"'),
        ("manifests: [1.2.3]", r"manifests\[0\] must be of type object"),
        ("manifests: [{name: a}]", r"manifests\[0\].version is required"),
        ("manifests: [{version: 1.10}]", 'version must be of type string: "number"; write a text, in quotes'),
        ("manifests: [{version: ../../etc}]", r"manifests\[0\].version is no version"),
        ("manifests: [{version: 1..2}]", "without '..'"),
        (f"manifests: [{{version: '{'1' * 300}'}}]", "at most 63"),
        ("manifests: [{version: '1', name: Core/DNS}]", r"manifests\[0\].name names no component"),
        ("manifests: [{version: '1', digest: abc}]", "write sha256: and 64 lowercase hex digits"),
        ("manifests: [{version: '1', kubernetesVersion: soon}]", "'soon' is no range of versions"),
        (
            f"manifests: [{{version: '1', digest: '{DIGEST}'}}, {{version: '1', digest: 'sha256:{'0' * 64}'}}]",
            "another",
        ),
        ("{manifests: [], channel: edge}", "it states that it is the channel 'edge'; correct `channel` in it, or"),
        ("{manifests: [], channel: 1}", "channel must be of type string"),
        ("manifests: [", "not YAML: line"),
        ("a: &a [x,x,x,x,x,x,x,x,x]\n" + "\n".join(f"b{n}: &b{n} [*a,*a]" for n in range(2)) + "\nc: *z", "alias"),
    ],
)
def test_a_channel_that_cannot_be_used_says_why(text: str, problem: str) -> None:
    with pytest.raises(PackageError, match=problem) as raised:
        parse_channel("stable", text)
    assert raised.value.reason == "Malformed"
    assert str(raised.value).startswith("channel 'stable': ")


def test_a_channel_may_state_its_own_name() -> None:
    assert parse_channel("stable", "{manifests: [], channel: stable}") == Channel("stable")


def test_all_problems_are_reported_at_once() -> None:
    with pytest.raises(PackageError, match=r"manifests\[0\].*; manifests\[2\]"):
        channel("{version: a..b}", "{version: '1'}", "{version: '2', digest: x}")


def test_aliases_that_stand_for_gigabytes_are_refused() -> None:
    levels = "\n".join(f"- &l{n} [{', '.join([f'*l{n - 1}'] * 9)}]" for n in range(1, 12))
    with pytest.raises(PackageError, match="aliases"):
        parse_channel("stable", f"manifests: []\nmore:\n- &l0 [x, x]\n{levels}\n")


@each("name", ["", "Stable", "a.b", "../x", "a/b", "-a", "a" * 64, "ä"])
def test_a_channel_has_a_plain_name(name: str) -> None:
    with pytest.raises(PackageError, match="names no channel") as raised:
        parse_channel(name, "manifests: []")
    assert raised.value.reason == "NoChannel"


@each("text, reason", [(b"\xff", "Malformed"), (b"#" * ((1 << 20) + 1), "TooLarge")])
def test_bytes_that_are_no_channel_are_refused(text: bytes, reason: str) -> None:
    with pytest.raises(PackageError) as raised:
        decode_channel("stable", text)
    assert raised.value.reason == reason


def test_versions_are_ordered_and_others_come_first() -> None:
    versions = ["latest", "1.0.0-rc.1", "v1.0.0", "1.0.1", "1.10"]
    assert sorted(reversed(versions), key=version_order) == versions


def test_serial_of_a_channel_never_decreases() -> None:
    numbered = parse_channel("stable", "manifests: []\nserial: 7\n")
    for known in (0, 6, 7):
        require_serial(numbered, known)
    with pytest.raises(PackageError, match=r"'stable' has the serial 7, and .* from 8: .*at least 8") as raised:
        require_serial(numbered, 8)
    assert raised.value.reason == "Unverified"
    with pytest.raises(PackageError, match="'stable' has no serial"):
        require_serial(Channel("stable"), 1)


@each("serial", ["-1", "'7'", "1.5", "9007199254740993", "[]"])
def test_serial_that_is_no_number_is_refused(serial: str) -> None:
    with pytest.raises(PackageError, match="'stable': serial"):
        parse_channel("stable", f"manifests: []\nserial: {serial}\n")
