"""Writes Services: the finalizer that keeps one until its load balancer is deleted, and the addresses in its status.

    if await writer.add_finalizer(service): ...       # False: it is gone, or about to go
    await writer.write_ingress(service, ingress)
    await writer.release(service)                     # its load balancer is deleted: finalizer and addresses go

Everything goes through the subresource `status`, as upstream's manager does it, so that the right to patch Services is
not needed. A list of finalizers belongs to several clients: its patch names the resourceVersion that it was made for.
Source: https://kubernetes.io/docs/concepts/overview/working-with-objects/finalizers/
"""

from collections.abc import Callable, Iterable
from contextlib import suppress

from hookrunner.cloud.answers import Ingress
from hookrunner.cloud.services.cloud_service import CLEANUP_FINALIZER, CloudService
from hookrunner.cloud.services.ingress_rules import to_documents
from hookrunner.cloud.services.service_informer import SERVICES
from hookrunner.errors import Denied, KubeError, NotFound
from hookrunner.kube import refusals, writes
from hookrunner.kube.client import Client
from hookrunner.kube.writes import ObjectRef, WriteOptions
from kubetypes.json_values import JSON

_RULE = refusals.rbac_rule(SERVICES, ["patch"], "status")
_OPTIONS = WriteOptions(timeout=10.0)


class ServiceWriter:
    """Writes Services. Every method raises KubeError; of a missing right it says which."""

    def __init__(self, client: Client) -> None:
        self._client = client

    async def add_finalizer(self, service: CloudService) -> bool:
        """Keep the Service until `release`. Is it kept? Not if it is gone or being deleted, or another has its name."""
        if service.has_finalizer:
            return True
        kept = False

        def patch_of(metadata: JSON) -> JSON | None:
            nonlocal kept
            kept = metadata["uid"] == service.uid and not metadata.get("deletionTimestamp")
            finalizers = metadata.get("finalizers") or []
            if not kept or CLEANUP_FINALIZER in finalizers:
                return None
            return _with_finalizers(metadata, [*finalizers, CLEANUP_FINALIZER])

        return await self._patch(service, patch_of) and kept

    async def release(self, service: CloudService) -> None:
        """Let the Service go, and remove the addresses of its load balancer, in one write."""

        def patch_of(metadata: JSON) -> JSON | None:
            finalizers = metadata.get("finalizers") or []
            rest = [finalizer for finalizer in finalizers if finalizer != CLEANUP_FINALIZER]
            if metadata["uid"] != service.uid or (rest == finalizers and not service.ingress):
                return None
            emptied = {"status": {"loadBalancer": {"ingress": None}}} if service.ingress else {}
            return _with_finalizers(metadata, rest) | emptied

        await self._patch(service, patch_of)

    async def write_ingress(self, service: CloudService, ingress: Iterable[Ingress]) -> None:
        """Write the addresses of the load balancer. A Service that is gone needs none."""
        patch = {"metadata": {"uid": service.uid}}
        status = {"status": {"loadBalancer": {"ingress": to_documents(ingress) or None}}}
        with suppress(NotFound):
            try:
                await writes.merge_patch(self._client, _ref(service), patch | status, _OPTIONS)
            except Denied as error:
                raise _explained(error) from None

    async def _patch(self, service: CloudService, patch_of: Callable[[JSON], JSON | None]) -> bool:
        """Patch the Service as it is now; False if it is gone."""
        known = service.document["metadata"]
        try:
            await writes.patch_metadata(self._client, _ref(service), patch_of, _OPTIONS, known)
        except NotFound:
            return False
        except Denied as error:
            raise _explained(error) from None
        return True


def _with_finalizers(metadata: JSON, finalizers: list[str]) -> dict[str, JSON]:
    return {"metadata": {"resourceVersion": metadata["resourceVersion"], "finalizers": finalizers}}


def _ref(service: CloudService) -> ObjectRef:
    return ObjectRef(SERVICES, service.namespace, service.name, "status")


def _explained(error: Denied) -> KubeError:
    return refusals.explain_rights(error, "keep load balancers", _RULE)
