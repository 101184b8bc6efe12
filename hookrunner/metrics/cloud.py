"""Metrics of the cloud controller manager: calls of the provider, Nodes, Services, routes, and who leads.

States are gauges that are read at the scrape. The last rows have the names of upstream's manager, without our prefix,
for dashboards that look for them.
Source: https://github.com/kubernetes/cloud-provider/tree/master/controllers (the files metrics.go)
"""

from hookrunner.metrics.series import Rows, counter, gauge, histogram

_CALLS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60, 300, 3600)
_DELAYS = tuple(0.5 * 1.5**power for power in range(20))
_UPSTREAMS_DELAYS = tuple(float(1 << power) for power in range(15))


class CloudMetrics(Rows):
    """The rows."""

    cloud_provider_calls = counter(
        "{}cloud_provider_calls_total",
        ("verb", "code"),
        "Calls of the provider, by what came of them: OK, or the code of the error.",
    )
    cloud_provider_call_seconds = histogram(
        "{}cloud_provider_call_seconds", ("verb",), "Time of a call of the provider.", _CALLS
    )
    cloud_provider_paused_until = gauge(
        "{}cloud_provider_paused_until",
        (),
        "Until when no call begins, since the cloud has throttled us, in seconds since 1970; 0 if it has not.",
    )
    cloud_nodes = gauge("{}cloud_nodes", ("state",), "Nodes: initialized, uninitialized, skipped or foreign.")
    cloud_node_init_seconds = histogram(
        "{}cloud_node_init_seconds", (), "Time from a Node's creation to its initialisation.", _DELAYS
    )
    cloud_node_delete_candidates = gauge(
        "{}cloud_node_delete_candidates", (), "Nodes whose machines the cloud reports as notFound."
    )
    cloud_node_deletes = counter(
        "{}cloud_node_deletes_total",
        ("result",),
        "Nodes whose machines no longer exist: deleted, failed or dry-run.",
    )
    cloud_node_deletes_held = gauge(
        "{}cloud_node_deletes_held", (), "Nodes that are not deleted because too many machines vanished at once."
    )
    cloud_services = gauge(
        "{}cloud_services",
        ("state",),
        "Services that are looked after: synced, pending, failed, invalid, deleting or elsewhere.",
    )
    cloud_service_syncs = counter(
        "{}cloud_service_syncs_total", ("result",), "Syncs of Services: ok, or the code of the error."
    )
    cloud_routes = counter("{}cloud_routes_total", ("action", "result"), "Routes created and deleted: ok or failed.")
    cloud_backoff_objects = gauge("{}cloud_backoff_objects", ("loop",), "Objects that wait for another attempt.")
    cloud_leader = gauge("{}cloud_leader", (), "1 while this replica leads.")

    cloud_provider_taint_removal_delay_seconds = histogram(
        "node_controller_cloud_provider_taint_removal_delay_seconds",
        (),
        "As upstream: time from a Node's creation to the removal of its taint.",
        _UPSTREAMS_DELAYS,
    )
    initial_node_sync_delay_seconds = histogram(
        "node_controller_initial_node_sync_delay_seconds",
        (),
        "As upstream: time from a Node's creation to the end of its initialisation.",
        _UPSTREAMS_DELAYS,
    )
    loadbalancer_sync = counter(
        "service_controller_loadbalancer_sync_total", (), "As upstream: times that Services were compared with Nodes."
    )
    nodesync_error = counter(
        "service_controller_nodesync_error_total", (), "As upstream: load balancers whose nodes could not be changed."
    )
    nodesync_latency_seconds = histogram(
        "service_controller_nodesync_latency_seconds",
        (),
        "As upstream: time of bringing all load balancers to the present Nodes.",
        _UPSTREAMS_DELAYS,
    )
    update_loadbalancer_host_latency_seconds = histogram(
        "service_controller_update_loadbalancer_host_latency_seconds",
        (),
        "As upstream: time of changing the nodes of one load balancer.",
        _UPSTREAMS_DELAYS,
    )
    route_sync = counter("route_controller_route_sync_total", (), "As upstream: passes of the route loop.")
