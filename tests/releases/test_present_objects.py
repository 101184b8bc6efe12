"""What is remembered of objects that a watch shows before they are tracked."""

from hookrunner.model.resources import ObjectKey
from hookrunner.releases.present_objects import PresentObjects
from kubetypes.json_values import JSON

KEY = ObjectKey("default", "ConfigMap", "a")


def metadata(version: int) -> JSON:
    return {"resourceVersion": str(version)}


def test_the_latest_state_is_recalled_once_whatever_namespace_a_manifest_names() -> None:
    present = PresentObjects("ConfigMap")
    present.remember(KEY, metadata(1), 0.0)
    present.remember(KEY, metadata(2), 1.0)
    assert [present.recall("default", "a", 2.0), present.recall("default", "a", 2.0)] == [metadata(2), None]
    present.remember(KEY._replace(namespace=""), metadata(3), 3.0)
    assert present.recall("default", "a", 3.0) == metadata(3)


def test_nothing_is_remembered_for_long() -> None:
    present = PresentObjects("ConfigMap")
    present.remember(KEY, metadata(1), 0.0)
    assert present.recall("default", "a", 10.1) is None


def test_a_list_of_many_objects_is_not_kept() -> None:
    present = PresentObjects("ConfigMap")
    for number in range(1500):
        present.remember(KEY._replace(name=f"m{number}"), metadata(number), 0.0)
    known = [number for number in range(1500) if present.recall("default", f"m{number}", 1.0)]
    assert known == [*range(500, 1500)]
