"""Takes away the load balancers of all Services, before the cloud controller manager is uninstalled.

    removal = BalancerRemoval(services, actions, policy)
    await removal.run()        # until none is left, however long that takes
    removal.left               # why each load balancer is still there, by Service

Each is deleted in the cloud, then its Service loses the finalizer and the addresses, so that no Service is stuck after
the manager is gone. A Service of another class is left alone, as by the loop. It must run alone: a manager that works
beside it would make what is taken away anew (`hookrunner cloud clean` takes the Lease over first).
"""

from hookrunner.cloud.answers import ProviderError
from hookrunner.cloud.services.balancer_actions import BalancerActions
from hookrunner.cloud.services.cloud_service import CloudService
from hookrunner.cloud.services.service_decisions import ServicePolicy, is_ours
from hookrunner.cloud.services.service_informer import ServiceInformer
from hookrunner.controllers.work_queue import WorkQueue
from hookrunner.errors import KubeError
from hookrunner.waits import Pauses

_PAUSES = Pauses(1.0, 30.0)
"""Seconds of the back-off of one Service; a person or a Job waits for the end."""


def is_removable(service: CloudService, policy: ServicePolicy) -> bool:
    """Has it, or may it have, a load balancer that this manager has made? The finalizer is there before the load
    balancer, and goes after it."""
    return service.has_finalizer and is_ours(service, policy)


class BalancerRemoval:
    """`left`: why each load balancer is still there, by `namespace/name` of its Service; empty before its first
    attempt."""

    def __init__(self, services: ServiceInformer, actions: BalancerActions, policy: ServicePolicy) -> None:
        self.left: dict[str, str] = {}
        self._services = services
        self._actions = actions
        self._policy = policy
        self._queue: WorkQueue[str] = WorkQueue("cloud-clean", _PAUSES)

    async def run(self) -> None:
        """Take away what there is when it begins. A failure is repeated."""
        await self._services.wait_until_current()
        self.left = {service.key: "" for service in self._services if is_removable(service, self._policy)}
        for key in sorted(self.left):
            self._queue.add(key)
        if self.left:
            await self._queue.work(self._remove, workers=self._policy.concurrent_syncs)

    async def _remove(self, key: str) -> float | None:
        await self._services.wait_until_current()
        service = self._services.get(key)
        try:
            if service and is_removable(service, self._policy):
                await self._actions.clean_up(service)
        except ProviderError as error:
            self.left[key] = str(error)
            if error.pause is None:
                raise
            return error.pause
        except KubeError as error:
            self.left[key] = str(error)
            raise
        del self.left[key]
        if not self.left:
            self._queue.shut_down()
        return None
