"""Releases that are written as a ServiceAccount: who asks for what, and what a missing right stops.

Level: sandbox."""

from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from typing import Any

import pytest

from hookrunner.errors import ReleaseFailed
from hookrunner.model.releases import ObjectDrift, ReleaseOptions, ServiceAccount
from hookrunner.model.rights import Right
from hookrunner.releases.records.record import ACCOUNT
from hookrunner.releases.releases import Releases
from kubesandbox.sandbox import Sandbox
from tests.fakes.rights import ConfinedClient, confined_client
from tests.releases.wants import ADDON_OPTIONS, addon, configmap, hook
from tests.releases.watching import World as Watching
from tests.releases.watching import made, watching
from tests.releases.world import World, started

ME, OTHER = ServiceAccount("default", "deployer"), ServiceAccount("default", "other")
ALL = ("get", "create", "patch", "delete")
MARKED = made("ConfigMap", "m", data={"x": "1"})
A, B = configmap("a", x="1"), configmap("b", x="1")
PLACE = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "new"}}
INSIDE = configmap("c") | {"metadata": {"name": "c", "namespace": "new"}}


def maps(*verbs: str, **more: Any) -> Right:
    return Right(("",), ("configmaps",), verbs or ALL, namespace="default", **more)


@pytest.fixture
async def client(sandbox: Sandbox) -> AsyncIterator[ConfinedClient]:
    async with confined_client(sandbox.url, {ME.user: [maps()]}) as client:
        yield client


def desired(digest: str, *objects: Any, account: ServiceAccount = ME, **options: Any) -> Any:
    return addon(digest, *objects, account=account, **options)


async def refusal_of(releases: Releases, wanted: Any) -> ReleaseFailed:
    with pytest.raises(ReleaseFailed) as refused:
        await releases.reconcile(wanted)
    return refused.value


async def test_objects_are_the_accounts_matter_and_records_hookrunners(client: ConfinedClient, world: World) -> None:
    """From the dry run to the last deletion, with a Helm hook."""
    releases, options = started(client), replace(ADDON_OPTIONS, account=ME)
    wanted = desired("d1", A, B)
    await releases.reconcile(replace(wanted, rendered=replace(wanted.rendered, hooks=(hook("h", "pre-install"),))))
    await releases.reconcile(desired("d2", configmap("a", x="2")))
    await releases.rollback("demo", "default", 1, "d3", options)
    gone = ObjectDrift("demo", "default", "v1", "ConfigMap", "b")
    assert await releases.repair("demo", "default", [gone], options) == 0
    assert (await releases.read_head("demo", "default") or pytest.fail("no head")).account == ME
    await releases.removal.tear_down("demo", "default", options)
    assert client.users_of("configmaps") == {ME.user} | ({""} if _lists_records(client) else set())
    assert (client.users_of("secrets"), await world.history()) == ({""}, [])


def _lists_records(client: ConfinedClient) -> bool:
    """Records of another driver are looked for once, by hookrunner."""
    mine = [request.verb for user, request in client.asked if request.resource == "configmaps" and not user]
    assert set(mine) <= {"list"}
    return bool(mine)


async def test_missing_right_stops_before_anything_is_written(client: ConfinedClient, world: World) -> None:
    """Also for objects that no dry run reaches, since their namespace is new."""
    client.rights = {ME.user: [maps("get", "create", "patch")]}
    error = await refusal_of(started(client), desired("d1", A, PLACE, INSIDE))
    assert error.lacks_rights
    assert str(error).removeprefix("release default/demo: ").split("; add to its roles: ") == [
        "nothing was written, because ServiceAccount default/deployer lacks rights",
        '{apiGroups: [""], resources: [configmaps], verbs: [delete]} in namespace default, '
        '{apiGroups: [""], resources: [namespaces], verbs: [get, create, patch, delete]} in the cluster, '
        '{apiGroups: [""], resources: [configmaps], verbs: [get, create, patch, delete]} in namespace new',
    ]
    assert (await world.history(), await world.maps()) == ([], {})


async def test_roles_may_name_the_objects(client: ConfinedClient, world: World) -> None:
    client.rights = {ME.user: [maps("create"), maps("get", "patch", "delete", names=("a",))]}
    await started(client).reconcile(desired("d1", A))
    error = await refusal_of(started(client), desired("d2", A, B))
    assert "resources: [configmaps], verbs: [get, patch, delete]} in namespace default" in str(error)
    assert (await world.history(), await world.maps()) == (["1 deployed"], {"a": {"x": "1"}})


async def test_new_account_takes_over_without_a_write_to_objects(client: ConfinedClient, world: World) -> None:
    client.rights = {each.user: [maps()] for each in (ME, OTHER)}
    releases = started(client)
    await releases.reconcile(desired("d1", A))
    world.writes()
    assert (await releases.reconcile(desired("d2", A, account=OTHER))).changed == 0
    assert {line.partition(" ")[0] for line in world.writes()} == {"PUT"}, "the record alone"
    assert [revision.labels[ACCOUNT] for revision in await world.revisions()] == ["other"]
    assert (await releases.reconcile(desired("d2", A, account=OTHER))).changed == 0
    assert world.writes() == []


async def test_what_only_the_old_account_could_delete_stops_the_new_one(client: ConfinedClient, world: World) -> None:
    client.rights = {ME.user: [maps()], OTHER.user: [maps("create"), maps("get", "patch", "delete", names=("a",))]}
    releases = started(client)
    await releases.reconcile(desired("d1", A, B))
    error = await refusal_of(releases, desired("d2", A, account=OTHER))
    assert "ServiceAccount default/other lacks rights; add to its roles: {apiGroups" in str(error)
    assert (await world.maps()).keys() == {"a", "b"}
    await releases.reconcile(desired("d3", A))
    assert (await world.maps()).keys() == {"a"}


class Fading(dict[str, Sequence[Right]]):
    """Rights that end after so many requests."""

    left = 0

    def get(self, user: str, default: Any = None) -> Any:
        self.left -= 1
        return super().get(user, default) if self.left >= 0 else default


async def test_rollout_in_whose_middle_the_rights_end_is_repeated(client: ConfinedClient, world: World) -> None:
    """As when the account is deleted with its RoleBinding."""
    releases, rights = started(client), Fading(client.rights)
    client.rights, rights.left = rights, 4 + 2 + 1  # questions, dry runs, and one of two writes
    error = await refusal_of(releases, desired("d1", A, B))
    assert "to the role of ServiceAccount default/deployer" in str(error)
    assert (await world.history(), len(await world.maps())) == (["1 failed"], 1)
    rights.left = 1000
    assert (await releases.reconcile(desired("d1", A, B))).changed == 1
    assert (await world.history(), [*await world.maps()]) == (["1 deployed"], ["a", "b"])


async def test_repair_and_removal_without_rights_wait_for_them(client: ConfinedClient, world: World) -> None:
    releases, rights = started(client), client.rights
    await releases.reconcile(desired("d1", A))
    client.rights = {}
    drift = ObjectDrift("demo", "default", "v1", "ConfigMap", "a", ("/data",))
    with pytest.raises(ReleaseFailed) as refused:
        await releases.repair("demo", "default", [drift], replace(ADDON_OPTIONS, account=ME))
    assert "to the role of ServiceAccount default/deployer" in str(refused.value)
    with pytest.raises(ReleaseFailed, match="no right to keep configmaps of a release") as refused:
        await releases.removal.tear_down("demo", "default", replace(ADDON_OPTIONS, account=ME))
    assert (refused.value.lacks_rights, [*await world.maps()]) == (True, ["a"])
    head = await releases.read_head("demo", "default")
    assert head
    assert not await releases.removal.has_lost_owner(head, [A], replace(ADDON_OPTIONS, account=ME)), "is not known"
    client.rights = rights
    assert await releases.removal.tear_down("demo", "default", replace(ADDON_OPTIONS, account=ME)) == ()
    assert (await world.maps(), await world.history()) == ({}, [])


@pytest.mark.looptime
async def test_drift_is_read_as_the_account(client: ConfinedClient) -> None:
    async with watching(Watching(client)) as watched:
        await watched.world.apply(MARKED)
        watched.drift.track(watched.world.identity, [MARKED], "repair", ReleaseOptions(account=ME))
        await watched.after(1)
        await watched.world.edit(MARKED, {"data": {"x": "2"}})
        assert await watched.after(5) == ["default/ConfigMap/m /data/x"]
    assert {user for user, request in client.asked if request[:3] == ("get", "", "configmaps")} == {ME.user}
