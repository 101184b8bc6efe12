"""What is done for one Service: the calls of the provider, the writes, and the Events, in an order that loses nothing
when the process dies between any two of them.

    if await actions.begin(service): await actions.ensure(service, nodes)
    await actions.update(service, nodes)
    await actions.clean_up(service)          # it waits for that with its finalizer
    await actions.delete_old(service)        # it is gone

The finalizer is there before the load balancer, and goes after it; so after a crash the Service itself says what is
left to do. Each raises ProviderError and KubeError, and may be repeated.
"""

from collections.abc import Sequence

from hookrunner import log
from hookrunner.cloud.answers import ErrorCode, ProviderError
from hookrunner.cloud.nodes.cloud_node import CloudNode
from hookrunner.cloud.services.balancer_provider import BalancerProvider, LoadBalancerRequest
from hookrunner.cloud.services.cloud_service import CloudService
from hookrunner.cloud.services.ingress_rules import complete_ingress, find_ingress_problem
from hookrunner.cloud.services.service_informer import ServiceInformer
from hookrunner.cloud.services.service_reports import (
    DELETED,
    DELETING,
    ENSURED,
    ENSURING,
    UPDATED,
    WITHOUT_NODES,
    ServiceReports,
)
from hookrunner.cloud.services.service_writer import ServiceWriter
from kubetypes.light_dataclasses import dataclass

_log = log.get(__name__)


@dataclass(frozen=True, slots=True)
class BalancerActions:
    """Acts on load balancers. `looks_first`: ask whether there is one before it is deleted and after an update that
    failed, as upstream does."""

    services: ServiceInformer
    provider: BalancerProvider
    writer: ServiceWriter
    reports: ServiceReports
    looks_first: bool = False

    async def begin(self, service: CloudService) -> bool:
        """Have the Service kept for its load balancer. False if it is about to go: the watch will show that."""
        self.reports.record(service, ENSURING)
        return await self.writer.add_finalizer(service)

    async def ensure(self, service: CloudService, nodes: tuple[CloudNode, ...]) -> bool:
        """Ensure the load balancer and write its addresses. False if another controller does it."""
        self._warn_without(nodes, service)
        try:
            answer = await self.provider.ensure_load_balancer(_request(service, nodes))
        except ProviderError as error:
            if error.code is ErrorCode.IMPLEMENTED_ELSEWHERE:
                return False
            raise
        ingress = complete_ingress(answer)
        if problem := find_ingress_problem(ingress):
            raise ProviderError(ErrorCode.UNAVAILABLE, f"the answer of lb-ensure cannot be written: {problem}")
        self.reports.record(service, ENSURED)
        addresses = [self.reports.mask(entry.ip or entry.hostname) for entry in ingress]
        _log.info("load balancer ensured", service=service.key, nodes=len(nodes), addresses=addresses)
        latest = self.services.get(service.key)
        if latest and latest.uid == service.uid and latest.is_load_balancer and latest.ingress != ingress:
            await self.writer.write_ingress(service, ingress)
        return True

    async def update(self, service: CloudService, nodes: tuple[CloudNode, ...]) -> None:
        """Give the load balancer other nodes."""
        request = _request(service, nodes)
        try:
            await self.provider.update_load_balancer(request)
        except ProviderError as error:
            if error.code is ErrorCode.IMPLEMENTED_ELSEWHERE or await self._is_absent(request):
                return
            raise
        _log.info("load balancer updated", service=service.key, nodes=len(nodes))
        if not self._warn_without(nodes, service):
            self.reports.record(service, UPDATED)

    async def clean_up(self, service: CloudService) -> None:
        """Delete the load balancer, then let the Service go."""
        request = _request(service)
        if not await self._is_absent(request):
            self.reports.record(service, DELETING)
            await self._delete(request)
        await self.writer.release(service)
        self._report_deletion(service)

    async def delete_old(self, service: CloudService) -> None:
        """Delete what is left of a Service that is gone."""
        self.reports.record(service, DELETING)
        await self._delete(_request(service))
        self._report_deletion(service)

    def _report_deletion(self, service: CloudService) -> None:
        _log.info("load balancer deleted", service=service.key)
        self.reports.record(service, DELETED)

    async def _delete(self, request: LoadBalancerRequest) -> None:
        try:
            await self.provider.delete_load_balancer(request)
        except ProviderError as error:
            if error.code is not ErrorCode.IMPLEMENTED_ELSEWHERE:
                raise

    async def _is_absent(self, request: LoadBalancerRequest) -> bool:
        """Does the provider say that there is nothing? It is asked only where upstream asks; what is left of a load
        balancer, an address for example, may then stay."""
        return self.looks_first and not (await self.provider.get_load_balancer(request)).exists

    def _warn_without(self, nodes: Sequence[CloudNode], service: CloudService) -> bool:
        if not nodes:
            self.reports.record(service, WITHOUT_NODES)
        return not nodes


def _request(service: CloudService, nodes: tuple[CloudNode, ...] = ()) -> LoadBalancerRequest:
    return LoadBalancerRequest(service.document, service.balancer_name, nodes)
