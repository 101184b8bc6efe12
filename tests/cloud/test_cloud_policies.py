"""What the settings mean for each loop. Level: pure."""

from dataclasses import replace
from ipaddress import ip_network

from hookrunner.cloud.cloud_policies import (
    address_policy,
    initialization_policy,
    lifecycle_policy,
    route_policy,
    service_policy,
)
from hookrunner.cloud.nodes.address_loop import AddressPolicy
from hookrunner.cloud.nodes.initialization import InitializationPolicy
from hookrunner.cloud.nodes.lifecycle import LifecyclePolicy
from hookrunner.cloud.routes.route_plan import RoutePolicy
from hookrunner.cloud.services.service_decisions import ServicePolicy
from hookrunner.settings import Settings, load
from tests.cloud.upstream_policies import (
    UPSTREAM_ADDRESSES,
    UPSTREAM_INITIALIZATION,
    UPSTREAM_LIFECYCLE,
    UPSTREAM_ROUTES,
    UPSTREAM_SERVICES,
)


def settings(**flags: str) -> Settings:
    return load({name.replace("_", "-"): text for name, text in flags.items()}, "hookrunner", {})


def test_the_settings_have_the_defaults_of_the_loops() -> None:
    ours = settings()
    assert initialization_policy(ours) == InitializationPolicy()
    assert address_policy(ours) == AddressPolicy()
    assert lifecycle_policy(ours) == LifecyclePolicy()
    assert service_policy(ours) == ServicePolicy()
    assert route_policy(ours) == RoutePolicy()


def test_compat_brings_the_behaviour_of_upstream() -> None:
    theirs = settings(compat="upstream")
    assert initialization_policy(theirs) == UPSTREAM_INITIALIZATION
    assert address_policy(theirs) == UPSTREAM_ADDRESSES
    assert lifecycle_policy(theirs) == UPSTREAM_LIFECYCLE
    assert service_policy(theirs) == UPSTREAM_SERVICES
    assert route_policy(theirs) == UPSTREAM_ROUTES


def test_flags_reach_their_loops() -> None:
    loaded = settings(
        compat="upstream",
        node_require_addresses="true",
        node_beta_labels="false",
        node_labels_sync="true",
        node_status_update_frequency="1m",
        node_monitor_period="7s",
        node_delete_confirmations="4",
        node_delete_min_age="8s",
        node_delete_max_per_pass="2",
        node_delete_max_ratio="0.5",
        node_delete_dry_run="true",
        node_out_of_service_taint="true",
        concurrent_service_syncs="9",
        load_balancer_class="example.com/mine",
        unclassed_services="false",
        load_balancer_resync_period="1h",
        cluster_cidr="10.0.0.0/8",
        route_reconciliation_period="3s",
        route_keep_foreign_condition="true",
    )
    assert initialization_policy(loaded) == replace(UPSTREAM_INITIALIZATION, require_addresses=True, beta_labels=False)
    assert address_policy(loaded) == replace(UPSTREAM_ADDRESSES, period=60, syncs_labels=True, beta_labels=False)
    assert lifecycle_policy(loaded) == replace(
        UPSTREAM_LIFECYCLE,
        period=7,
        confirmations=4,
        min_age=8,
        max_per_pass=2,
        max_ratio=0.5,
        dry_run=True,
        out_of_service_taint=True,
    )
    assert service_policy(loaded) == replace(
        UPSTREAM_SERVICES,
        concurrent_syncs=9,
        load_balancer_class="example.com/mine",
        unclassed=False,
        resync_period=3600,
    )
    assert route_policy(loaded) == replace(
        UPSTREAM_ROUTES, cluster_cidrs=(ip_network("10.0.0.0/8"),), period=3, keeps_foreign_condition=True
    )
