"""Load balancers of the cloud that belong to no Service.

    orphans = await find_orphans(provider, services, watches_services=True)

Where they cannot be found, `OrphansUnknown` says in one line what is missing and what to do.
"""

from collections.abc import Sequence
from typing import Protocol

from hookrunner.cloud.answers import CloudCapabilities, ErrorCode, Interface, ListedLoadBalancer, ProviderError
from hookrunner.cloud.services.service_informer import ServiceInformer
from hookrunner.errors import HookrunnerError
from hookrunner.model.cloud import OrphanDump

_LEFT_OUT = "--controllers leaves service-lb-controller out, so Services are not watched; ask the manager that has it"


class BalancerSource(Protocol):
    """A provider, as far as it lists load balancers: `provider/executable_provider.py`."""

    @property
    def capabilities(self) -> CloudCapabilities: ...

    async def list_load_balancers(self) -> tuple[ListedLoadBalancer, ...]: ...


class OrphansUnknown(HookrunnerError):
    """Orphans cannot be found. The message is for the user."""


async def find_orphans(
    provider: BalancerSource, services: ServiceInformer, watches_services: bool
) -> Sequence[OrphanDump]:
    """The load balancers whose Service does not exist, or is another one. Raises OrphansUnknown, also while not all
    Services are known, for then each would look like an orphan; ProviderError before the first `capabilities`."""
    capabilities = provider.capabilities
    try:
        listed = await provider.list_load_balancers()
    except ProviderError as error:
        raise OrphansUnknown(_explain(error, capabilities)) from None
    if not services.is_current:
        is_left_out = capabilities.offers(Interface.LOAD_BALANCER) and not watches_services
        obstacle = services.obstacle or "the services are listed again; ask in a moment"
        raise OrphansUnknown(f"orphans cannot be told from others: {_LEFT_OUT if is_left_out else obstacle}")
    known = {service.uid for service in services}
    return [_orphan(balancer, services) for balancer in listed if balancer.uid not in known]


def _explain(error: ProviderError, capabilities: CloudCapabilities) -> str:
    who = f"the provider '{capabilities.provider_name}'"
    if error.code is not ErrorCode.NOT_IMPLEMENTED:
        return f"lb-list of {who} failed: {error}; `hookrunner cloud call PROVIDER lb-list` shows its whole answer"
    if not capabilities.offers(Interface.LOAD_BALANCER):
        return f"{who} keeps no load balancers: interfaces.loadBalancer of its capabilities is not true"
    return (
        f"{who} does not answer lb-list, so its load balancers cannot be compared with Services: add the verb "
        "(docs/providers.md#lb-list), or compare them in the cloud by hand"
    )


def _orphan(balancer: ListedLoadBalancer, services: ServiceInformer) -> OrphanDump:
    has_namesake = services.get(balancer.service) is not None
    reason = "the Service of this name is another one" if has_namesake else "the Service does not exist"
    return OrphanDump(balancer.name, balancer.service, balancer.uid, reason)
