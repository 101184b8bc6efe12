"""The Services of the cluster as projections, kept by one watch for the loop of load balancers.

    informer = ServiceInformer(watches)
    service = informer.get("default/web")

Everything else is said in `cloud/projection_informer.py`.
"""

from hookrunner.cloud.projection_informer import ProjectionInformer
from hookrunner.cloud.services.cloud_service import CloudService, read_service
from hookrunner.kube.informer import Opener
from hookrunner.model.resources import Resource

SERVICES = Resource("v1", "Service", "services", True)
"""How requests about Services are made."""


class ServiceInformer(ProjectionInformer[CloudService]):
    """All Services."""

    def __init__(self, watches: Opener) -> None:
        super().__init__(watches, SERVICES, read_service)

    def get(self, key: str) -> CloudService | None:
        """The latest state of the Service `namespace/name`, None if it is not known."""
        namespace, _, name = key.partition("/")
        return self.find(namespace, name)
