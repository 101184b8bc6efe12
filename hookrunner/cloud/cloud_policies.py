"""What the settings mean for each loop: its policy, by default or as Kubernetes' own manager behaves.

Flags give the numbers, also under `--compat upstream`, where their defaults are upstream's. What upstream has no flag
for is in the policy values that the loops' rooms have beside their defaults.
"""

from dataclasses import replace

from hookrunner.cloud.nodes.address_loop import UPSTREAM_ADDRESSES, AddressPolicy
from hookrunner.cloud.nodes.initialization import UPSTREAM_INITIALIZATION, InitializationPolicy
from hookrunner.cloud.nodes.lifecycle import UPSTREAM_LIFECYCLE, LifecyclePolicy
from hookrunner.cloud.routes.route_plan import UPSTREAM_ROUTES, RoutePolicy
from hookrunner.cloud.services.service_decisions import UPSTREAM_SERVICES, ServicePolicy
from hookrunner.options import Compat
from hookrunner.settings import Settings


def initialization_policy(settings: Settings) -> InitializationPolicy:
    """How Nodes are initialised."""
    base = UPSTREAM_INITIALIZATION if is_upstream(settings) else InitializationPolicy()
    nodes = settings.cloud_nodes
    return replace(base, require_addresses=nodes.require_addresses, beta_labels=nodes.beta_labels)


def address_policy(settings: Settings) -> AddressPolicy:
    """How addresses of Nodes are kept."""
    base = UPSTREAM_ADDRESSES if is_upstream(settings) else AddressPolicy()
    nodes = settings.cloud_nodes
    period = settings.cloud.address_period
    return replace(base, period=period, syncs_labels=nodes.sync_labels, beta_labels=nodes.beta_labels)


def lifecycle_policy(settings: Settings) -> LifecyclePolicy:
    """What has to hold before a Node is deleted."""
    base = UPSTREAM_LIFECYCLE if is_upstream(settings) else LifecyclePolicy()
    nodes = settings.cloud_nodes
    return replace(
        base,
        period=settings.cloud.monitor_period,
        confirmations=nodes.confirmations,
        min_age=nodes.min_age,
        max_per_pass=nodes.max_per_pass,
        max_ratio=nodes.max_ratio,
        dry_run=nodes.dry_run,
        out_of_service_taint=nodes.out_of_service,
    )


def service_policy(settings: Settings) -> ServicePolicy:
    """How load balancers are kept."""
    base = UPSTREAM_SERVICES if is_upstream(settings) else ServicePolicy()
    cloud = settings.cloud
    return replace(
        base,
        concurrent_syncs=cloud.service_workers,
        load_balancer_class=cloud.load_balancer_class,
        unclassed=cloud.unclassed_services,
        resync_period=cloud.load_balancer_resync,
    )


def route_policy(settings: Settings) -> RoutePolicy:
    """How routes are kept."""
    base = UPSTREAM_ROUTES if is_upstream(settings) else RoutePolicy()
    cloud = settings.cloud
    return replace(
        base,
        cluster_cidrs=cloud.cidrs,
        period=cloud.route_period,
        keeps_foreign_condition=cloud.keep_foreign_condition,
    )


def is_upstream(settings: Settings) -> bool:
    """Are the differences from Kubernetes' own manager off?"""
    return settings.compat is Compat.UPSTREAM
