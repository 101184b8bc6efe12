"""What happens with a definition and those beside it, without a server. Level: pure."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import pytest

from kubesandbox import kinds
from kubesandbox.controllers.definitions import DefinitionController
from kubesandbox.kinds import Kind, Kinds
from kubesandbox.query.requests import DeleteParameters, Place, WriteParameters
from kubesandbox.store import Key, Store, Stored
from kubesandbox.verbs.api import Api
from kubesandbox.verbs.bodies import Body
from kubesandbox.verbs.rules import DEFINITIONS
from tests.fakes.objects import definition


@dataclass(frozen=True)
class Definitions:
    """The controller, and an API that it works with."""

    api: Api
    controller: DefinitionController

    @classmethod
    def in_store(cls, store: Store) -> "Definitions":
        api = Api(store, Kinds(kinds.builtin()))
        return cls(api, DefinitionController(api))

    def create(self, plural: str, kind: str, group: str = "pets.test") -> None:
        """Create a definition, and let the controller react."""
        body = Body(definition(group, kind, "v1", names={"plural": plural, "kind": kind}))
        self._react(lambda of, place: self.api.create(of, place, WriteParameters(), body))

    def delete(self, name: str) -> None:
        """Delete a definition, and let the controller react."""
        self._react(lambda of, place: self.api.delete(of, replace(place, name=name), DeleteParameters()))

    def _react(self, write: Callable[[Kind, Place], object]) -> None:
        feed = self.api.store.feed()
        kind = self.api.kinds.of_stored(DEFINITIONS)
        assert kind
        write(kind, Place(kind.group, kind.version, kind.plural, "", ""))
        while not feed.empty():
            self.controller.happened(feed.get_nowait())

    def is_served(self, plural: str, group: str = "pets.test") -> bool:
        return self.api.kinds.of_stored(f"{plural}.{group}") is not None

    def names(self) -> list[str]:
        return [stored.key.name for stored in self.api.store.select(DEFINITIONS)]


def test_a_name_that_is_given_up_is_for_those_of_its_group_that_want_it() -> None:
    world = Definitions.in_store(Store())
    world.create("cats", "Cat")
    world.create("tigers", "Cat")
    assert (world.is_served("cats"), world.is_served("tigers")) == (True, False)
    world.delete("cats.pets.test")
    assert (world.is_served("cats"), world.is_served("tigers")) == (False, True)
    stored = world.api.store.get(Key(DEFINITIONS, "", "tigers.pets.test"))
    assert stored
    assert stored.json()["status"]["acceptedNames"]["kind"] == "Cat"


class CountingStore(Store):
    """Counts the objects that it hands out."""

    selected = 0

    def select(self, resource: str, namespace: str = "", at: int | None = None) -> list[Stored]:
        found = super().select(resource, namespace, at)
        self.selected += len(found)
        return found


def come_and_go(number: int) -> int:
    """How many definitions are looked at while so many come and go."""
    store = CountingStore()
    world = Definitions.in_store(store)
    for index in range(number):
        world.create("cats", "Cat", f"g{index}.test")
    names = world.names()
    assert len(names) == number
    for name in names:
        world.delete(name)
    assert world.names() == []
    return store.selected


@pytest.mark.slow
def test_each_change_looks_at_most_once_at_all_definitions() -> None:
    """When a deletion settled all of them, and each of these looked at all, 200 took a minute."""
    assert come_and_go(40) < 20 * come_and_go(10)
