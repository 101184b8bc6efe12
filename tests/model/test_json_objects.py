"""Many objects in one JSON text. Level: pure."""

import pickle

from hookrunner.model.json_objects import JsonObjects
from hookrunner.model.reviews import VersionGroup, merged
from tests.tables import each

OBJECTS = [{"a": 1}, {}, {"b": [1, 2], "text": "}, {"}]


@each("count", range(4))
def test_objects_come_out_as_they_went_in(count: int) -> None:
    objects = JsonObjects.of(OBJECTS[:count])
    assert (len(objects), objects.values()) == (count, OBJECTS[:count])
    assert JsonObjects.joined(objects) == objects
    assert b"".join(objects.pieces(3)) == objects.text
    assert pickle.loads(pickle.dumps(objects)) == objects  # noqa: S301


def test_groups_are_merged_in_the_order_of_their_positions() -> None:
    one, other = (VersionGroup(JsonObjects.of(texts), places) for texts, places in (("ac", (0, 5)), ("b", (2,))))
    group = merged(one, other)
    assert (group.objects.values(), list(group.positions)) == (["a", "b", "c"], [0, 2, 5])
