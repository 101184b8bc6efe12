"""The settings of the cloud controller manager: their defaults, upstream's, and how their texts are read.

Level: pure."""

from dataclasses import fields
from ipaddress import ip_network
from pathlib import Path

import pytest

from hookrunner.errors import BadSetting
from hookrunner.options import Compat
from hookrunner.settings import (
    CloudNodeSettings,
    CloudSettings,
    LeaderElectionSettings,
    Settings,
    cloud_alone,
    cloud_options,
    load,
)
from hookrunner.settings.cloud_option_types import LIFECYCLE, LOOPS, NODE, ROUTE, SERVICE
from tests.tables import each


def settings(flags: dict[str, str] | None = None, environ: dict[str, str] | None = None) -> Settings:
    return load(flags or {}, "hookrunner", environ or {})


def test_without_a_provider_there_are_no_loops() -> None:
    loaded = settings()
    assert loaded.cloud == CloudSettings()
    assert not loaded.cloud.on
    assert loaded.cloud_nodes == CloudNodeSettings()
    assert loaded.leader_election == LeaderElectionSettings()


UPSTREAMS = {
    "route_period": (60, 10),
    "monitor_period": (10, 5),
    "address_period": (300, 300),
    "service_workers": (4, 1),
    "routes": (None, True),
    "confirmations": (3, 1),
    "min_age": (300, 0),
    "max_per_pass": (1, 0),
    "max_ratio": (0.2, 1),
    "beta_labels": (True, True),
    "lease_duration": (15, 15),
    "renew_deadline": (10, 10),
    "retry_period": (2, 2),
}


def test_compat_brings_upstreams_defaults_back() -> None:
    loaded = (settings(), settings({"compat": "upstream"}))
    assert [one.compat for one in loaded] == [None, Compat.UPSTREAM]
    groups = ("cloud", "cloud_nodes", "leader_election")
    read = {
        field.name: tuple(getattr(getattr(one, group), field.name) for one in loaded)
        for group in groups
        for field in fields(getattr(loaded[0], group))
    }
    assert {name: read[name] for name in UPSTREAMS} == UPSTREAMS
    assert {name for name, (ours, theirs) in read.items() if ours != theirs} == {
        name for name, (ours, theirs) in UPSTREAMS.items() if ours != theirs
    }


def test_a_flag_beats_upstreams_default() -> None:
    assert settings({"compat": "upstream", "node-monitor-period": "7s"}).cloud.monitor_period == 7


def test_in_a_sandbox_a_node_goes_at_once() -> None:
    own = {"node-monitor-period": "7s", "node-delete-min-age": "9s"}
    loaded = [settings({"sandbox": "true", **given}) for given in ({}, {"compat": "upstream"}, own)]
    assert [(one.cloud.monitor_period, one.cloud_nodes.min_age) for one in loaded] == [(1, 0), (5, 0), (7, 9)]


@each(
    ("text", "on"),
    [
        ("*", {*LOOPS}),
        ("*,-route", {NODE, LIFECYCLE, SERVICE}),
        ("-service-lb-controller,*", {NODE, LIFECYCLE, ROUTE}),
        ("service", {SERVICE}),
        ("cloud-node, cloud-node-lifecycle-controller", {NODE, LIFECYCLE}),
        ("route,-route,*", {*LOOPS}),
        ("-route,route,*", {*LOOPS} - {ROUTE}),
        ("-cloud-node", set()),
    ],
)
def test_loops_are_chosen_as_upstream_chooses_them(text: str, on: set[str]) -> None:
    assert settings({"controllers": text}).cloud.loops == on


@each(
    ("text", "cidrs"),
    [
        ("10.244.0.0/16", ["10.244.0.0/16"]),
        ("10.244.0.0/16,fd00:10::/48", ["10.244.0.0/16", "fd00:10::/48"]),
        ("fd00:10::/48, 10.1.2.3/8", ["fd00:10::/48", "10.0.0.0/8"]),
    ],
)
def test_networks_of_pods(text: str, cidrs: list[str]) -> None:
    assert settings({"cluster-cidr": text}).cloud.cidrs == tuple(map(ip_network, cidrs))


def test_texts_become_values() -> None:
    loaded = settings(
        {
            "cloud-provider": "./mine",
            "cloud-env": "TOKEN,REGION",
            "leader-elect": "false",
            "configure-cloud-routes": "f",
        }
    )
    assert (loaded.cloud.provider, loaded.cloud.environment) == ("./mine", ("TOKEN", "REGION"))
    assert (loaded.leader_election.on, loaded.cloud.routes) == (False, False)
    assert settings(environ={"HOOKRUNNER_CLOUD_CONFIG": "/c"}).cloud.config == Path("/c")


@each(
    ("flag", "text", "allowed"),
    [
        ("controllers", "node-ipam-controller", "of cloud-node-controller"),
        ("cluster-cidr", "10.0.0.0", "a CIDR such as"),
        ("cluster-cidr", "10.0.0.0/33", "a CIDR such as"),
        ("cluster-cidr", "10.0.0.0/255.0.0.0", "a CIDR such as"),
        ("cluster-cidr", "10.0.0.0/8,192.168.0.0/16", "one of IPv4 and one of IPv6"),
        ("cluster-cidr", "10.0.0.0/8,fd00::/8,fe00::/8", "one of IPv4 and one of IPv6"),
        ("cluster-name", " ", "not empty"),
        ("cloud-env", "A=B", "names of variables"),
        ("provider-timeout", "0", "from 1s to 1h"),
        ("provider-timeout", "2h", "from 1s to 1h"),
        ("provider-timeout", "60", "from 1s to 1h"),
        ("node-monitor-period", "0s", "above 0"),
        ("route-reconciliation-period", "soon", "above 0"),
        ("load-balancer-class", "a b", "the name of a class"),
        ("load-balancer-class", "a/b/c", "the name of a class"),
        ("load-balancer-class", "/internal", "the name of a class"),
        ("node-delete-max-ratio", "1.1", "from 0 to 1"),
        ("node-delete-max-ratio", "nan", "from 0 to 1"),
        ("node-delete-confirmations", "0", "at least 1"),
        ("leader-elect", "maybe", "true or false"),
        ("leader-elect-resource-name", "A", "the name of an object"),
    ],
)
def test_a_text_that_cannot_be_used_is_refused_with_what_is_allowed(flag: str, text: str, allowed: str) -> None:
    with pytest.raises(BadSetting) as refused:
        settings({flag: text})
    assert f"--{flag}: '{text}' cannot be used, it takes" in str(refused.value)
    assert allowed in str(refused.value)


@each(
    ("flags", "flag"),
    [
        ({"leader-elect-lease-duration": "10s"}, "shorter than --leader-elect-lease-duration"),
        ({"leader-elect-retry-period": "9s"}, "1.2 times --leader-elect-retry-period"),
    ],
)
def test_durations_with_which_two_could_lead_are_refused(flags: dict[str, str], flag: str) -> None:
    with pytest.raises(BadSetting, match=flag):
        settings(flags)


@each(
    ("flag", "text", "why"),
    [
        ("secure-port", "10258", "metrics and probes are served over HTTP; see --listen-address and --listen-port"),
        ("authentication-kubeconfig", "/k", "metrics and probes are served over HTTP"),
        ("authorization-always-allow-paths", "/healthz", "metrics and probes are served over HTTP"),
        ("allocate-node-cidrs", "true", "Pod networks are allocated by kube-controller-manager"),
        ("use-service-account-credentials", "true", "one ServiceAccount does it all, with the rights that"),
    ],
)
def test_flags_of_what_was_left_out_on_purpose_warn(flag: str, text: str, why: str) -> None:
    (warning,) = settings({flag: text}).warnings
    assert warning.startswith(f"--{flag} has no effect: {why}")


def test_no_two_flags_of_the_cloud_share_a_name() -> None:
    names = [name for option in cloud_options() for name in (option.flag, *option.also)]
    assert len(names) == len(set(names))


def test_a_process_of_the_cloud_runs_neither_hooks_nor_modules() -> None:
    alone = cloud_alone(settings({"cloud-provider": "x", "modules-dir": "/m", "addons-dir": "/a", "hooks-dir": "/h"}))
    assert (alone.hooks.directory, alone.modules.on, alone.addons.on, alone.cloud.on) == (None, False, False, True)
