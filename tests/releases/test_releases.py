"""What becomes of a release, step by step, on the sandbox."""

from typing import Any

import pytest

from hookrunner.errors import ReleaseFailed
from hookrunner.kube.client import Call, Client
from hookrunner.kube.discovery import Discovery
from hookrunner.kube.watch import Watches
from hookrunner.metrics.names import Metrics
from hookrunner.model.releases import Finding, Head, Terms
from hookrunner.releases.codec import Record
from hookrunner.releases.ledger import Revision
from hookrunner.releases.records import Records
from hookrunner.releases.releases import Releases
from hookrunner.sandbox.faults import Fault
from hookrunner.sandbox.sandbox import Sandbox
from tests.releases.wants import configmap, hook, wanted

MAPS = "/api/v1/namespaces/default/configmaps"


def started(client: Client, keep: int = 10) -> Releases:
    """As after a start of the process."""
    discovery = Discovery(client)
    return Releases(client, discovery, Watches(client, discovery, Metrics(""), 75), "secret", keep)


class World:
    """What is in the sandbox, and what was asked of it."""

    def __init__(self, client: Client, sandbox: Sandbox) -> None:
        self.client = client
        self.records = Records(client, "secret")
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

    async def revisions(self) -> list[Revision]:
        return sorted((await self.records.listed("default"))[0], key=lambda one: one.number)

    async def described(self, number: int) -> str:
        (revision,) = [one for one in await self.revisions() if one.number == number]
        return str((await self.records.read(revision)).document["info"]["description"])

    async def foreign(self, record: Record, **labels: str) -> None:
        """A record by somebody else."""
        await self.records.create(Record(record.document, labels))

    def writes(self) -> list[str]:
        """Requests that were no reads, since the last call."""
        lines = [line.partition("?")[0] for line in self.sandbox.faults.requests if not line.startswith("GET")]
        self.sandbox.faults.requests.clear()
        return [line.replace("/api/v1/namespaces/default/", "") for line in lines]


@pytest.fixture
def world(client: Client, sandbox: Sandbox) -> World:
    return World(client, sandbox)


@pytest.fixture
def releases(client: Client) -> Releases:
    return started(client)


A, B, C = configmap("a", x="1"), configmap("b", x="1"), configmap("c", x="1")
BAD = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "bad"}, "data": 3}


async def test_a_release_is_installed_and_on_record_before_its_first_object(releases: Releases, world: World) -> None:
    settled = await releases.settle(wanted("d1", A, B))
    assert settled.head == Head("demo", "default", 1, "deployed", "d1", owned=True)
    assert settled.changed == 2
    assert world.writes() == [
        "POST secrets", "POST configmaps", "POST configmaps", "PUT secrets/sh.helm.release.v1.demo.v1"
    ]  # fmt: skip
    assert await world.described(1) == "Install complete"


async def test_what_is_as_it_is_wanted_costs_no_request(client: Client, world: World) -> None:
    await started(client).settle(wanted("d1", A))
    releases = started(client)
    await releases.heads("default")
    world.sandbox.faults.requests.clear()
    assert (await releases.settle(wanted("d1", A))).changed == 0
    assert not world.sandbox.faults.requests


async def test_an_upgrade_writes_what_changed_and_prunes(releases: Releases, world: World) -> None:
    await releases.settle(wanted("d1", A, B, C))
    world.writes()
    assert (await releases.settle(wanted("d2", A, configmap("b", x="2")))).changed == 2
    assert await world.maps() == {"a": {"x": "1"}, "b": {"x": "2"}}
    assert await world.history() == ["1 superseded", "2 deployed"]
    assert not [line for line in world.writes() if "configmaps/a" in line]


async def test_another_digest_of_the_same_manifest_is_only_noted(releases: Releases, world: World) -> None:
    await releases.settle(wanted("d1", A))
    world.writes()
    assert (await releases.settle(wanted("d2", A))).head.digest == "d2"
    assert world.writes() == ["PUT secrets/sh.helm.release.v1.demo.v1"]
    (revision,) = await world.revisions()
    assert (await world.records.read(revision)).document["config"]["demo"] == {"digest": "d2"}


async def test_a_changed_helm_hook_alone_makes_a_revision(releases: Releases, world: World) -> None:
    await releases.settle(wanted("d1", A, hooks=(hook("h", "pre-upgrade", x="1"),)))
    await releases.settle(wanted("d2", A, hooks=(hook("h", "pre-upgrade", x="2"),)))
    assert await world.history() == ["1 superseded", "2 deployed"]
    assert (await world.maps())["h"] == {"x": "2"}


async def test_when_hooks_ran_is_on_record(releases: Releases, world: World) -> None:
    await releases.settle(wanted("d1", A, hooks=(hook("h", "post-install"), hook("i", "post-delete"))))
    (revision,) = await world.revisions()
    first, second = (await world.records.read(revision)).document["hooks"]
    assert first["last_run"]["phase"] == "Succeeded"
    assert first["last_run"]["started_at"] <= first["last_run"]["completed_at"]
    assert second["last_run"] == {"phase": ""}


async def test_a_failure_is_on_record_and_told_with_its_object(releases: Releases, world: World) -> None:
    with pytest.raises(ReleaseFailed, match=r"(?s)release default/demo: .*ConfigMap/bad"):
        await releases.settle(wanted("d1", A, BAD))
    assert await world.history() == ["1 failed"]
    assert (await world.described(1)).startswith('Release "demo" failed: ')


async def test_what_always_fails_has_one_revision(client: Client, world: World) -> None:
    await started(client).settle(wanted("d1", A))
    for _ in range(3):
        with pytest.raises(ReleaseFailed):
            await started(client).settle(wanted("d2", A, BAD))
    assert await world.history() == ["1 deployed", "2 failed"]
    await started(client).settle(wanted("d3", A, B))
    assert await world.history() == ["1 superseded", "2 failed", "3 deployed"]


async def test_history_is_kept_short_but_not_the_deployed_revision(client: Client, world: World) -> None:
    releases = started(client, keep=3)
    await releases.settle(wanted("d1", A))
    for number in range(5):
        with pytest.raises(ReleaseFailed):
            await releases.settle(wanted(f"bad-{number}", configmap(f"only-{number}"), BAD))
    assert await world.history() == ["1 deployed", "5 failed", "6 failed"]
    assert sorted(await world.maps()) == ["a", "only-3", "only-4"]
    for number in range(3):
        await releases.settle(wanted(f"good-{number}", configmap("a", x=str(number))))
    assert await world.history() == ["7 superseded", "8 superseded", "9 deployed"]
    assert sorted(await world.maps()) == ["a"]


async def test_a_failed_upgrade_is_rolled_back_and_not_tried_again(client: Client, world: World) -> None:
    bad = wanted("d2", configmap("a", x="2"), B, BAD, rollback_on_failure=True)
    await started(client).settle(wanted("d1", A))
    with pytest.raises(ReleaseFailed, match="rolled back to revision 1, until something else is wanted"):
        await started(client).settle(bad)
    assert await world.maps() == {"a": {"x": "1"}}
    assert await world.history() == ["1 superseded", "2 failed", "3 deployed"]
    world.writes()
    assert (await started(client).settle(bad)).head == Head(
        "demo", "default", 3, "deployed", "d2", True, False, "rolled-back"
    )
    assert not world.writes()
    assert (await started(client).settle(wanted("d3", A, B))).head.note == ""


async def test_the_server_being_away_is_no_reason_to_roll_back(releases: Releases, world: World) -> None:
    await releases.settle(wanted("d1", A))
    away = world.sandbox.faults.add(Fault("refuse", "POST /api/v1/namespaces/default/configmaps"))
    with pytest.raises(ReleaseFailed):
        await releases.settle(wanted("d2", A, B, rollback_on_failure=True))
    assert await world.history() == ["1 deployed", "2 failed"]
    world.sandbox.faults.remove(away)
    await releases.settle(wanted("d2", A, B, rollback_on_failure=True))
    assert await world.history() == ["1 superseded", "2 deployed"]


async def test_a_rollback_pins_until_something_else_is_wanted(client: Client, world: World) -> None:
    releases = started(client)
    await releases.settle(wanted("d1", A))
    await releases.settle(wanted("d2", B))
    head = await releases.rollback("demo", "default", None, "d2")
    assert head == Head("demo", "default", 3, "deployed", "d2", owned=True, note="pinned")
    assert await world.maps() == {"a": {"x": "1"}}
    assert await world.described(3) == "Rollback to 1"
    assert (await started(client).settle(wanted("d2", B))).head == head
    await started(client).settle(wanted("d3", B))
    assert sorted(await world.maps()) == ["b"]


@pytest.mark.parametrize("number", [7, None])
async def test_a_rollback_to_nothing_says_what_there_is(releases: Releases, number: int | None) -> None:
    await releases.settle(wanted("d1", A))
    with pytest.raises(ReleaseFailed, match=r"release demo has no .*; it has: 1 \(deployed\)"):
        await releases.rollback("demo", "default", number, "d1")


async def test_an_uninstall_leaves_nothing(releases: Releases, world: World) -> None:
    await releases.settle(wanted("d1", A, B, hooks=(hook("last", "post-delete"),)))
    await releases.settle(wanted("d2", A, hooks=(hook("last", "post-delete"),)))
    world.writes()
    assert await releases.uninstall("demo", "default")
    first, second = (f"secrets/sh.helm.release.v1.demo.v{number}" for number in (1, 2))
    writes = ["DELETE configmaps/last", "PATCH configmaps/last"]
    expected = [f"PUT {second}", "DELETE configmaps/a", *writes, f"DELETE {first}", f"DELETE {second}"]
    assert [line for line in world.writes() if not line.endswith("configmaps/b")] == expected
    assert await world.history() == []
    assert sorted(await world.maps()) == ["last"]
    assert not await releases.uninstall("demo", "default")


async def test_unmanaged_is_recorded_once_and_left_alone_then(releases: Releases, world: World) -> None:
    await releases.settle(wanted("d1", A))
    await releases.settle(wanted("d2", configmap("a", x="2"), unmanaged=True))
    world.writes()
    assert (await releases.settle(wanted("d3", configmap("a", x="3"), unmanaged=True))).head.unmanaged
    assert not world.writes()
    await releases.settle(wanted("d3", configmap("a", x="3")))
    assert await world.maps() == {"a": {"x": "3"}}


async def test_what_was_lost_is_repaired_without_a_revision(releases: Releases, world: World) -> None:
    await releases.settle(wanted("d1", A, B))
    await world.client.send(Call("DELETE", f"{MAPS}/a"))
    finding = Finding("demo", "default", "v1", "ConfigMap", "a")
    assert await releases.repair("demo", "default", [finding], Terms()) == 1
    assert sorted(await world.maps()) == ["a", "b"]
    assert await world.history() == ["1 deployed"]


async def test_the_manifest_is_that_of_the_deployed_revision(releases: Releases) -> None:
    settled = await releases.settle(wanted("d1", A, B))
    assert await releases.manifest(settled.head) == (A, B)


async def test_records_that_cannot_be_read_stop_nobody(
    client: Client, world: World, capfd: pytest.CaptureFixture[str]
) -> None:
    await started(client).settle(wanted("d1", A, B))
    body = {"data": {"release": "AAAA"}}
    path = "/api/v1/namespaces/default/secrets/sh.helm.release.v1.demo.v1"
    await client.send(Call("PATCH", path, {}, body, "application/merge-patch+json"))
    releases = started(client)
    await releases.settle(wanted("d2", A))
    assert await world.history() == ["1 deployed", "2 deployed"]
    assert "sh.helm.release.v1.demo.v1" in capfd.readouterr().err
    world.writes()
    await releases.settle(wanted("d2", A))
    assert not world.writes()
    assert sorted(await world.maps()) == ["a", "b"]
