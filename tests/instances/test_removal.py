"""What makes sure that nothing is left of instances: the finalizer, and the purge of those that vanished.

Level: pure."""

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, cast

import orjson
import pytest

from hookrunner.controllers.event_recorder import EventRecorder
from hookrunner.convergence.events import Notices
from hookrunner.errors import AccountDenied, Conflict, Denied, KubeError, NotFound, ReleaseFailed, Unreachable
from hookrunner.instances.instance_informer import InstanceCache
from hookrunner.instances.removal import (
    FinalizerSetter,
    InstanceRemover,
    Removed,
    VanishedInstances,
    reason_to_leave,
    remove_finalizer,
    vanished,
)
from hookrunner.kube.client import ApiCall, Client
from hookrunner.model.addons import FINALIZER, UNMANAGED
from hookrunner.model.events import ObjectSeen, Report, Synced
from hookrunner.model.releases import Head, KeptObject, Predecessor, ReleaseOptions, ServiceAccount
from hookrunner.model.resources import key_of
from hookrunner.releases.manifest_objects import ObjectId
from hookrunner.releases.releases import Releases
from kubetypes.json_values import JSON
from tests.controllers.event_server import EventServer
from tests.instances.samples import ADDON, document, instance
from tests.tables import each

pytestmark = pytest.mark.looptime


@dataclass
class Server:
    """Has one object. `conflicts` writes are refused because someone else was quicker."""

    metadata: JSON
    conflicts: int = 0
    error: Exception | None = None
    writes: list[JSON] = field(default_factory=list)
    at_once: int = 0
    most_at_once: int = 0

    async def get(self, path: str, params: Any = None, accept: str = "", timeout: float = 0.0) -> Any:
        if self.metadata is None:
            raise NotFound(404, "NotFound", "gone")
        return {"metadata": self.metadata}

    async def send(self, call: ApiCall) -> bytes:
        self.at_once += 1
        self.most_at_once = max(self.most_at_once, self.at_once)
        await asyncio.sleep(0.1)
        self.at_once -= 1
        if self.error:
            raise self.error
        if self.conflicts or call.body["metadata"]["resourceVersion"] != self.metadata["resourceVersion"]:
            self.conflicts -= bool(self.conflicts)
            raise Conflict(409, "Conflict", "changed meanwhile")
        self.writes.append(call.body["metadata"]["finalizers"])
        return orjson.dumps({"metadata": self.metadata})


def server(*finalizers: str, uid: str = "u-1", **more: Any) -> Any:
    return Server({"uid": uid, "resourceVersion": "7", "finalizers": [*finalizers]}, **more)


async def test_finalizer_is_added_beside_others() -> None:
    api = server("other/one")
    await FinalizerSetter(api).set(ADDON, instance())
    assert api.writes == [["other/one", FINALIZER]]


async def test_finalizer_that_is_known_costs_no_request() -> None:
    unreachable: Any = None
    await FinalizerSetter(unreachable).set(ADDON, instance(finalizers=[FINALIZER]))


async def test_finalizer_is_added_to_what_a_watch_has_shown() -> None:
    shown = instance(finalizers=["other/one"], resourceVersion="7")
    api = server()
    del api.metadata["finalizers"]  # it is not read
    await FinalizerSetter(api).set(ADDON, shown)
    assert api.writes == [["other/one", FINALIZER]]


async def test_instance_that_was_abandoned_meanwhile_gets_no_finalizer() -> None:
    """Its watch is late: no one would remove the finalizer again."""
    api = server()
    api.metadata["annotations"] = {UNMANAGED: "true"}
    with pytest.raises(KubeError, match="has the annotation hookrunner"):
        await FinalizerSetter(api).set(ADDON, instance(resourceVersion="6"))
    assert api.writes == []


async def test_finalizers_of_many_instances_are_added_a_few_at_a_time() -> None:
    api = server()
    setter = FinalizerSetter(api)
    await asyncio.gather(*(setter.set(ADDON, instance(f"x{number}", resourceVersion="7")) for number in range(50)))
    assert (len(api.writes), api.most_at_once) == (50, 8)


async def test_finalizer_is_removed_after_conflicts() -> None:
    api = server("other/one", FINALIZER, conflicts=3)
    await remove_finalizer(api, ADDON, instance())
    assert api.writes == [["other/one"]]


async def test_conflicts_end_some_time() -> None:
    with pytest.raises(Conflict):
        await remove_finalizer(server(FINALIZER, conflicts=9), ADDON, instance())


async def test_another_object_of_the_name_keeps_its_finalizer() -> None:
    api = server(FINALIZER, uid="u-2")
    await remove_finalizer(api, ADDON, instance())
    assert api.writes == []
    with pytest.raises(NotFound, match="another object"):
        await FinalizerSetter(api).set(ADDON, instance())


async def test_missing_right_is_named() -> None:
    text = 'dnses "x" is forbidden: User "hookrunner" cannot patch resource "dnses" in API group "addons.x-k8s.io"'
    refused = Denied(403, "Forbidden", text, raw=text)
    with pytest.raises(Denied, match=r"no right to set the finalizer of instances: add .*dnses"):
        await FinalizerSetter(server(error=refused)).set(ADDON, instance())


def test_objects_stay_if_the_instance_says_so_in_any_way() -> None:
    assert reason_to_leave(instance()) == ""
    assert "Orphan" in reason_to_leave(instance(finalizers=["orphan"]))
    assert "deletionPolicy" in reason_to_leave(instance(spec={"deletionPolicy": "Orphan"}))
    assert "unmanaged" in reason_to_leave(instance(annotations={"hookrunner.io/unmanaged": "true"}))


def test_nothing_is_removed_while_it_is_not_clear_whether_it_should_be() -> None:
    """A definition of someone else lets anything through."""
    with pytest.raises(ReleaseFailed, match=r"nothing is deleted.*spec.deletionPolicy"):
        reason_to_leave(instance(spec={"deletionPolicy": "orphan"}))


class Records(Releases):
    """These releases, of each of which `kept` stays. `errors` are raised one after the other, before anything works."""

    def __init__(self, heads: Iterable[Head], *errors: Exception) -> None:
        self.heads = {head.name: head for head in heads}
        self.errors = [*errors]
        self.options = ReleaseOptions()
        self.kept: tuple[KeptObject, ...] = ()
        self.manifests: dict[str, tuple[JSON, ...]] = {}
        self.objects: tuple[ObjectId, ...] = ()
        self.has_orphans = False
        self.removal: Any = self

    async def list_heads(self, namespace: str) -> dict[str, Head]:
        return {**self.heads}

    async def read_head(self, name: str, namespace: str) -> Head | None:
        return self.heads.get(name)

    async def read_manifest(self, head: Head) -> tuple[JSON, ...]:
        return self.manifests.get(head.name, ())

    async def tear_down(
        self, name: str, namespace: str, options: ReleaseOptions, patience: float = 60.0
    ) -> tuple[KeptObject, ...]:
        if self.errors:
            raise self.errors.pop(0)
        self.options = options
        if self.kept:
            return self.kept
        del self.heads[name]
        return ()

    async def list_objects(self, name: str, namespace: str) -> tuple[ObjectId, ...]:
        return self.objects

    async def has_lost_owner(self, *_: Any) -> bool:
        return self.has_orphans

    async def abandon(self, name: str, namespace: str, options: ReleaseOptions) -> int:
        return 0

    async def forget(self, name: str, namespace: str) -> None:
        del self.heads[name]


def head(name: str, **more: Any) -> Head:
    return Head(name, "home", 1, "deployed", **{"owned": True, "addon": name, **more})


def cache(*names: str, is_listed: bool = True) -> InstanceCache:
    """These instances are known."""
    made = InstanceCache(ADDON)
    seen: list[Report] = [ObjectSeen(None, key_of(obj), obj, "1") for obj in map(document, names)]
    assert len([*made.read([*seen, Synced("1")] if is_listed else seen)]) == len(names) + is_listed
    return made


GONE = cast(Client, Server(None))
"""No namespace exists any more."""


def test_release_without_its_instance_is_vanished() -> None:
    heads = {name: head(name) for name in ("dns.default.x", "dns.default.y", "other.default.y")}
    heads["module"] = head("module", addon="")
    heads["dns.default.foreign"] = head("dns.default.foreign", owned=False)
    assert [gone.name for gone in vanished(heads, cache("x"))] == ["dns.default.y"]


def test_nothing_is_vanished_before_the_instances_are_listed() -> None:
    assert vanished({"dns.default.y": head("dns.default.y")}, cache(is_listed=False)) == []


async def test_release_of_a_kind_that_the_addon_had_before_is_not_purged() -> None:
    """The instances of that kind are not listed, so they look as if they had vanished."""
    records = Records([head("dns.default.y"), head("dns.default.z")])
    for name, kind in (("dns.default.y", "names"), ("dns.default.z", ADDON.object.kind.lower())):
        labels = {f"addons.x-k8s.io/{kind}": name[-1]}
        records.manifests[name] = ({"kind": "ConfigMap", "metadata": {"name": "a", "labels": labels}},)
    await VanishedInstances(records, GONE, Notices(), "home").purge(cache("x"))
    assert [*records.heads] == ["dns.default.y"]


async def test_vanished_instance_is_purged_as_soon_as_that_is_possible() -> None:
    refused = ReleaseFailed("ConfigMap a is not gone after 60 s"), Unreachable("the server is away")
    written = head("dns.default.y", account=ServiceAccount("default", "deployer"))
    records, notices = Records([head("dns.default.x"), written], *refused), Notices()
    records.kept = (KeptObject("/Namespace/dns", "it is not empty"),)
    assert await VanishedInstances(records, GONE, notices, "home").purge(cache("x"))
    assert [*records.heads] == ["dns.default.x"]
    assert not await VanishedInstances(records, GONE, notices, "home").purge(cache("x"))
    assert records.options.of_addon
    assert records.options.respect_ignore
    assert records.options.account == written.account, "as which it was written"


async def test_what_was_taken_over_may_go_back() -> None:
    """Also from an instance that a user has made vanish."""
    records = Records([head("dns.default.y", predecessor="flannel.default.x", succession=1)])
    await VanishedInstances(records, GONE, Notices(), "home").purge(cache("x"))
    assert records.options.predecessor == Predecessor("flannel.default.x", 1)


@each("is_replaced", [True, False])
async def test_replaced_instance_is_not_taken_for_an_orphaned_one(is_replaced: bool) -> None:
    """Its object stays, so it would be left alone for ever."""
    records, events = Records([head("dns.default.x")]), EventServer()
    records.has_orphans = True
    remover = InstanceRemover(records, cast(Client, Server(None)), EventRecorder(events.client).source("x"))
    await remover.remove(Removed(ADDON, instance(), head("dns.default.x"), is_replaced), ReleaseOptions(), 1.0)
    assert bool(records.heads) is not is_replaced


REFUSED = ReleaseFailed("no right", lacks_rights=True)
UNREAD = AccountDenied(403, "Forbidden", 'User "a" cannot get resource "b"')
GOING = "2026-01-01T00:00:00Z"


@each("deleted, error, left", [(GOING, REFUSED, True), (GOING, UNREAD, True), ("", REFUSED, False)])
async def test_rights_that_are_deleted_with_the_namespace_hold_it_up_no_longer(
    deleted: str, error: Exception, left: bool
) -> None:
    """Otherwise the missing right is the user's matter, and the instance waits for it."""
    space = Server({"uid": "u", "resourceVersion": "1"} | ({"deletionTimestamp": deleted} if deleted else {}))
    records = Records([head("dns.default.x")], error)
    records.objects = (ObjectId("v1", "ConfigMap", "default", "a"), ObjectId("v1", "ConfigMap", "other", "b"))
    events = EventServer()
    remover = InstanceRemover(records, cast(Client, space), EventRecorder(events.client).source("x"))
    options = ReleaseOptions(account=ServiceAccount("default", "deployer"))
    removed = Removed(ADDON, instance(), head("dns.default.x"))
    if left:
        await remover.remove(removed, options, 1.0)
        assert [body["message"] for body in events.bodies] == [
            "other/ConfigMap/b: namespace default is being deleted, and with it the rights of ServiceAccount "
            "default/deployer"
        ]
    else:
        with pytest.raises(ReleaseFailed, match="no right"):
            await remover.remove(removed, options, 1.0)
    assert bool(records.heads) is not left


async def test_vanished_instance_whose_account_went_with_its_namespace_holds_up_no_other() -> None:
    lost = head("dns.default.x", account=ServiceAccount("default", "deployer"))
    records = Records([lost, head("dns.other.y"), head("dns.other.z")], REFUSED, REFUSED)
    passes = list[list[str]]()

    async def rest(_: float) -> None:
        passes.append([*records.heads])

    await VanishedInstances(records, GONE, Notices(), "home", rest).purge(cache())
    assert (passes, [*records.heads]) == ([["dns.other.y"]], [])
