"""The sandbox as releases see it."""

from typing import Any

from hookrunner.errors import NotFound
from hookrunner.kube.client import ApiCall, Client
from hookrunner.kube.discovery import Discovery
from hookrunner.kube.watch import Watches
from hookrunner.metrics.names import Metrics
from hookrunner.releases.objects.object_marks import IGNORE
from hookrunner.releases.records.record import ReleaseRecord, ReleaseRevision
from hookrunner.releases.records.record_storage import Driver, RecordStorage
from hookrunner.releases.releases import RecordSettings, Releases
from kubesandbox.sandbox import Sandbox
from tests.releases.watching import MERGE

MAPS = "/api/v1/namespaces/default/configmaps"


def started(client: Client, keep: int = 10, driver: Driver = "secret") -> Releases:
    """As after a start of the process."""
    discovery = Discovery(client)
    books = RecordSettings(driver, keep, "default")
    return Releases(client, discovery, Watches(client, discovery, Metrics(""), 75), books)


class World:
    """What is in the sandbox, and what was asked of it."""

    def __init__(self, client: Client, sandbox: Sandbox) -> None:
        self.client = client
        self.records = RecordStorage(client, "secret")
        self.sandbox = sandbox

    async def maps(self) -> dict[str, Any]:
        """Data of the ConfigMaps."""
        items = (await self.client.get(MAPS))["items"]
        return {
            one["metadata"]["name"]: one.get("data", {}) for one in items if "kube-root" not in one["metadata"]["name"]
        }

    async def history(self) -> list[str]:
        """`number status` of each revision."""
        return [f"{one.number} {one.status}" for one in await self.revisions()]

    async def revisions(self) -> list[ReleaseRevision]:
        return sorted((await self.records.list_revisions("default"))[0], key=lambda one: one.number)

    async def described(self, number: int) -> str:
        (revision,) = [one for one in await self.revisions() if one.number == number]
        return str((await self.records.read(revision)).document["info"]["description"])

    async def foreign(self, record: ReleaseRecord, **labels: str) -> None:
        """A record written by another client."""
        await self.records.write(ReleaseRecord(record.document, labels))

    def writes(self) -> list[str]:
        """Requests that were no reads, since the last call."""
        lines = [line.partition("?")[0] for line in self.sandbox.faults.requests if not line.startswith("GET")]
        self.sandbox.faults.requests.clear()
        return [line.replace("/api/v1/namespaces/default/", "") for line in lines]


async def exists(client: Client, path: str) -> bool:
    """Is there an object, or a kind, at a path?"""
    try:
        await client.get(path)
    except NotFound:
        return False
    return True


async def ignore(client: Client, name: str, value: str | None = "yes") -> None:
    """A user wants a ConfigMap left alone, or with None no longer."""
    body = {"metadata": {"annotations": {IGNORE: value}}}
    await client.send(ApiCall("PATCH", f"{MAPS}/{name}", {"fieldManager": "user"}, body, MERGE))
