"""The informer: whatever a watch reports, its reader ends with what the cluster has, and gets each change once.

Level: pure."""

from dataclasses import dataclass, field
from typing import TypeAlias

from hypothesis import given
from hypothesis import strategies as st

from hookrunner.kube.informer import (
    Added,
    Deleted,
    Fact,
    Informer,
    Modified,
    ObjectState,
    Relist,
    WatchedObject,
)
from hookrunner.model.bindings import Change
from hookrunner.model.events import ObjectSeen, RelistStarted, Report, Synced, WatchLost, WatchRestored
from hookrunner.model.resources import ObjectKey

Step: TypeAlias = tuple[str, str]

CHANGES = [(change, name) for change in ("put", "put", "delete") for name in "abc"]
CONNECTION = [(what, "") for what in ("lose", "restore", "begin list", "begin list", "end list", "end list")]
STEPS = st.lists(st.sampled_from(CHANGES + CONNECTION), max_size=40)


def key(name: str) -> ObjectKey:
    return ObjectKey("default", "ConfigMap", name)


def seen(name: str, change: Change | None = None, version: int = 1) -> ObjectSeen:
    return ObjectSeen(change, key(name), {"name": name, "version": version}, str(version))


@dataclass
class Watch:
    """A cluster and a watch of it: `objects` as they are, `listing` what a list in progress has still to mention."""

    objects: dict[str, int] = field(default_factory=dict)
    connected: bool = False
    version: int = 0
    listing: dict[str, int] | None = None

    def reports(self, what: str, name: str) -> list[Report]:
        """What the watch reports of one step."""
        match what:
            case "put" | "delete":
                return self.change(what, name)
            case "lose":
                self.connected, self.listing = False, None
                return [WatchLost("cut", brief=True)]
            case "restore" if self.connected:
                return [WatchRestored()]
            case "begin list":
                self.connected, self.listing = True, dict(self.objects)
                return [RelistStarted()]
            case "end list":
                return self.end_list()
        return []

    def change(self, what: str, name: str) -> list[Report]:
        """A change, of which the watch reports nothing while it is lost."""
        self.version += 1
        before = self.objects.pop(name, None)
        if what == "put":
            self.objects[name] = self.version
        if not self.connected or (what == "delete" and before is None):
            return []
        if self.listing is not None:
            return self.change_in_list(what, name)
        word = Change.DELETED if what == "delete" else Change.ADDED if before is None else Change.MODIFIED
        return [seen(name, word, self.version)]

    def change_in_list(self, what: str, name: str) -> list[Report]:
        """A streamed list goes on with changes before its end."""
        assert self.listing is not None
        self.listing.pop(name, None)
        return [seen(name, Change.DELETED if what == "delete" else None, self.version)]

    def end_list(self) -> list[Report]:
        """The rest of a list."""
        if self.listing is None:
            return []
        rest: list[Report] = [seen(name, None, version) for name, version in self.listing.items()]
        self.listing = None
        return [*rest, Synced(str(self.version))]


@dataclass
class Reader:
    """Applies facts to what it knows, and checks that each can be true."""

    known: dict[ObjectKey, str] = field(default_factory=dict)
    synced: bool = False

    def apply(self, fact: Fact) -> None:
        match fact:
            case Added(seen):
                assert seen.key not in self.known or seen.change is Change.ADDED
                self.known[seen.key] = seen.version
            case Modified(seen):
                assert seen.key in self.known or seen.change is Change.MODIFIED
                self.known[seen.key] = seen.version
            case Deleted(key, last):
                assert key in self.known or last is not None, "an object cannot go twice"
                self.known.pop(key, None)
            case Synced():
                self.synced = True


@given(STEPS)
def test_reader_ends_with_what_the_cluster_has(steps: list[Step]) -> None:
    watch, reader = Watch(), Reader()
    informer = Informer(reader.known)
    for what, name in [*steps, ("begin list", ""), ("end list", "")]:
        reports = watch.reports(what, name)
        for fact in informer.facts(reports):
            reader.apply(fact)
        if watch.connected and watch.listing is None and reader.synced:
            assert reader.known == {key(one): str(version) for one, version in watch.objects.items()}


@given(STEPS)
def test_watched_object_ends_with_its_state(steps: list[Step]) -> None:
    watch, watched, states = Watch(), WatchedObject(), list[ObjectState]()
    for what, _ in [*steps, ("begin list", ""), ("end list", "")]:
        reports = watch.reports(what, "a")
        states += [state for state in watched.states(reports) if isinstance(state, ObjectState)]
    assert states[-1].is_synced
    assert states[-1].obj == (seen("a", None, watch.objects["a"]).obj if watch.objects else None)


def test_relist_reports_deleted_objects() -> None:
    known = {key("gone"), key("kept")}
    facts = list(Informer(known).facts([RelistStarted(), seen("kept"), seen("new"), Synced("9")]))
    assert facts == [Modified(seen("kept")), Added(seen("new")), Deleted(key("gone")), Synced("9")]


def test_unfinished_list_deletes_nothing() -> None:
    informer = Informer({key("a")})
    assert list(informer.facts([RelistStarted(), WatchLost("cut", brief=True)])) == [WatchLost("cut", brief=True)]
    assert list(informer.facts([RelistStarted(), seen("a"), Synced("9")])) == [Modified(seen("a")), Synced("9")]


def test_changes_outside_of_lists_are_passed_on_as_the_server_names_them() -> None:
    added, gone = seen("a", Change.ADDED), seen("b", Change.DELETED)
    assert list(Informer({key("a")}).facts([added, gone])) == [Added(added), Deleted(key("b"), gone)]


def test_watched_object_changes_when_a_list_is_complete_or_outside_of_lists() -> None:
    watched = WatchedObject()
    assert list(watched.states([RelistStarted(), seen("a")])) == []
    assert list(watched.states([Synced("1")])) == [ObjectState(seen("a").obj, is_synced=True)]
    assert list(watched.states([seen("a", Change.MODIFIED, 2)])) == [ObjectState(seen("a", None, 2).obj)]
    assert list(watched.states([RelistStarted(), Synced("3")])) == [ObjectState(None, is_synced=True)]


def test_relist_without_a_beginning_misses_nothing() -> None:
    """A late reader may hear the end of a list whose beginning it did not hear."""
    relist = Relist[str]()
    relist.see("a")
    assert (relist.end(), relist.is_in_progress) == (set(), False)
