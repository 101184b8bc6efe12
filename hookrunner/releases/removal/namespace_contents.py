"""What a namespace still contains, before it is deleted with all that is in it.

    contents = await NamespaceContents(client, discovery).list_contents("kubernetes-dashboard")

Counted is what a client has created and still wants: not what Kubernetes puts into each namespace, what is being
deleted, nor what belongs to another object, which is counted itself or whose dependents are deleted soon. Each kind
that can be deleted is asked for; kinds that cannot are views of other objects, such as metrics.
Source: https://kubernetes.io/docs/concepts/overview/working-with-objects/namespaces/
"""

import asyncio
from collections.abc import Iterable, Iterator

from hookrunner.errors import Denied, NotFound, ReleaseFailed
from hookrunner.kube import writes
from hookrunner.kube.client import Client
from hookrunner.kube.discovery import Discovery
from hookrunner.kube.writes import ListOptions, ObjectRef
from hookrunner.model.resources import Resource
from kubetypes.json_values import JSON

_AT_ONCE = 8
_ENOUGH = 20
"""Objects of each kind that are looked at: one that counts is enough to keep the namespace."""

_OF_KUBERNETES = frozenset({("ConfigMap", "kube-root-ca.crt"), ("ServiceAccount", "default")})
_DERIVED = frozenset({"Event", "Endpoints"})
"""Kinds whose objects Kubernetes writes and deletes: events, and the addresses of Services."""


class NamespaceContents:
    """The contents of namespaces of one cluster."""

    def __init__(self, client: Client, discovery: Discovery) -> None:
        self._client = client
        self._discovery = discovery

    async def list_contents(self, namespace: str) -> list[str]:
        """The objects that count, as `Kind/name`, sorted. Raises ReleaseFailed if a kind cannot be listed, KubeError if
        the server cannot be asked."""
        resources, missing = await self._discovery.read_all()
        if missing:
            raise ReleaseFailed(f"its contents are unknown, these API groups do not answer: {', '.join(missing)}")
        turn = asyncio.Semaphore(_AT_ONCE)

        async def list_kind(resource: Resource) -> list[str]:
            async with turn:
                return await self._list_kind(resource, namespace)

        results = await asyncio.gather(*(list_kind(resource) for resource in resources if _is_listed(resource)))
        return sorted({name for names in results for name in names})

    async def _list_kind(self, resource: Resource, namespace: str) -> list[str]:
        options = ListOptions(metadata_only=True, limit=_ENOUGH)
        try:
            page = await writes.read_list(self._client, ObjectRef(resource, namespace), options)
        except NotFound:
            return []
        except Denied as error:
            raise ReleaseFailed(f"its contents are unknown, there is no right to list {resource.plural}") from error
        return list(_counted(resource.kind, page["items"] or ()))


def _is_listed(resource: Resource) -> bool:
    return resource.namespaced and {"list", "delete"} <= {*resource.verbs} and resource.kind not in _DERIVED


def _counted(kind: str, items: Iterable[JSON]) -> Iterator[str]:
    for item in items:
        metadata = item["metadata"]
        is_token = (metadata.get("annotations") or {}).get("kubernetes.io/service-account.name") == "default"
        is_leaving = metadata.get("deletionTimestamp") or metadata.get("ownerReferences")
        if not (is_leaving or is_token or (kind, metadata["name"]) in _OF_KUBERNETES):
            yield f"{kind}/{metadata['name']}"
