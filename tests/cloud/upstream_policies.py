"""The policies of the loops with the defaults of Kubernetes' own manager: as `--compat upstream` makes them."""

from hookrunner.cloud.nodes.address_loop import AddressPolicy
from hookrunner.cloud.nodes.initialization import InitializationPolicy
from hookrunner.cloud.nodes.lifecycle import LifecyclePolicy
from hookrunner.cloud.routes.route_plan import RoutePolicy
from hookrunner.cloud.services.service_decisions import ServicePolicy

UPSTREAM_ADDRESSES = AddressPolicy(as_upstream=True)
UPSTREAM_INITIALIZATION = InitializationPolicy(as_upstream=True)
UPSTREAM_LIFECYCLE = LifecyclePolicy(
    period=5.0, confirmations=1, min_age=0.0, max_per_pass=0, max_ratio=1.0, as_upstream=True
)
UPSTREAM_ROUTES = RoutePolicy(period=10.0, as_upstream=True)
UPSTREAM_SERVICES = ServicePolicy(concurrent_syncs=1, as_upstream=True)
