"""What the settings mean for each loop: its policy, by default or as Kubernetes' own manager behaves.

Flags give the numbers, also under `--compat upstream`, where their defaults are upstream's. Where upstream has no
flag, `as_upstream` of a policy decides whether the loop behaves as upstream does.
"""

from hookrunner.cloud.nodes.address_loop import AddressPolicy
from hookrunner.cloud.nodes.initialization import InitializationPolicy
from hookrunner.cloud.nodes.lifecycle import LifecyclePolicy
from hookrunner.cloud.routes.route_plan import RoutePolicy
from hookrunner.cloud.services.service_decisions import ServicePolicy
from hookrunner.options import Compat
from hookrunner.settings import Settings


def initialization_policy(settings: Settings) -> InitializationPolicy:
    """How Nodes are initialised."""
    nodes = settings.cloud_nodes
    return InitializationPolicy(nodes.require_addresses, nodes.beta_labels, is_upstream(settings))


def address_policy(settings: Settings) -> AddressPolicy:
    """How addresses of Nodes are kept."""
    nodes = settings.cloud_nodes
    return AddressPolicy(settings.cloud.address_period, nodes.sync_labels, nodes.beta_labels, is_upstream(settings))


def lifecycle_policy(settings: Settings) -> LifecyclePolicy:
    """What has to hold before a Node is deleted."""
    nodes = settings.cloud_nodes
    return LifecyclePolicy(
        period=settings.cloud.monitor_period,
        confirmations=nodes.confirmations,
        min_age=nodes.min_age,
        max_per_pass=nodes.max_per_pass,
        max_ratio=nodes.max_ratio,
        dry_run=nodes.dry_run,
        out_of_service_taint=nodes.out_of_service,
        as_upstream=is_upstream(settings),
    )


def service_policy(settings: Settings) -> ServicePolicy:
    """How load balancers are kept."""
    cloud = settings.cloud
    return ServicePolicy(
        concurrent_syncs=cloud.service_workers,
        load_balancer_class=cloud.load_balancer_class,
        unclassed=cloud.unclassed_services,
        resync_period=cloud.load_balancer_resync,
        as_upstream=is_upstream(settings),
    )


def route_policy(settings: Settings) -> RoutePolicy:
    """How routes are kept."""
    cloud = settings.cloud
    return RoutePolicy(
        cluster_cidrs=cloud.cidrs,
        period=cloud.route_period,
        keeps_foreign_condition=cloud.keep_foreign_condition,
        as_upstream=is_upstream(settings),
    )


def is_upstream(settings: Settings) -> bool:
    """Are the differences from Kubernetes' own manager off?"""
    return settings.compat is Compat.UPSTREAM
