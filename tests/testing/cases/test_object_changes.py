"""Objects that a case states by how they differ from those of another case. Level: pure."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from hookrunner.errors import BadInput
from hookrunner.testing.cases.object_changes import (
    changes,
    expected_objects,
    load_rest,
    object_differences,
    updated_objects,
    with_changes,
)
from kubetypes.json_values import JSON
from tests.tables import each


def deployment(name: str = "web", **spec: Any) -> JSON:
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name, "namespace": "a"}, "spec": spec}


SERVICE: JSON = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "web", "namespace": "a"}}
REST = [deployment(replicas=1, paused=True, items=[{"a": 1, "b": 2}, {"c": 3}]), SERVICE]
ELSEWHERE = deployment(replicas=1, items=[{"a": 1, "b": 5}, {"c": 3}])
STATED: JSON = {"contain": [{"kind": "Deployment", "spec": {"paused": None, "items": [{"b": 5}, {}]}}]}


def wrong(stated: JSON, built: list[JSON]) -> list[str]:
    return [one.key for one in expected_objects("objects", stated | {"rest": "r"}, built, REST)]


def test_all_else_is_as_in_the_rest() -> None:
    assert wrong(STATED, [SERVICE, ELSEWHERE]) == []
    assert wrong({}, [SERVICE, ELSEWHERE]) == ["Deployment a/web (apps/v1)"]


@each(
    ("built", "key"),
    [
        ([ELSEWHERE], "Service a/web (v1)"),
        ([ELSEWHERE, SERVICE, deployment("more")], "Deployment a/more (apps/v1)"),
        ([ELSEWHERE | {"extra": 1}, SERVICE], "Deployment a/web (apps/v1)"),
        ([REST[0], SERVICE], "Deployment a/web (apps/v1)"),
        ([ELSEWHERE, SERVICE | {"spec": {"type": "NodePort"}}], "Service a/web (v1)"),
    ],
)
def test_a_change_that_is_not_stated_is_a_difference(built: list[JSON], key: str) -> None:
    assert wrong(STATED, built) == [key]


def test_a_list_of_another_length_is_stated_whole() -> None:
    stated: JSON = {"contain": [{"kind": "Deployment", "spec": {"items": [{"b": 5}]}}]}
    [changed, _] = with_changes(REST, stated)
    assert changed["spec"] == {"replicas": 1, "paused": True, "items": [{"b": 5}]}


def test_absent_objects_leave_the_rest() -> None:
    assert wrong({"absent": [{"kind": "Service"}]}, [REST[0]]) == []
    assert wrong({"absent": [{"kind": "Service"}]}, REST) == ["Service a/web (v1)"]


def test_a_stated_object_that_the_rest_lacks_is_added() -> None:
    more = deployment("more", replicas=3)
    assert wrong({"contain": [more]}, [*REST, more]) == []
    assert wrong({"contain": [{"kind": "Deploymnt", "spec": {}}]}, REST) == ["Deploymnt  ()"]


def test_exactly_is_compared_beside_the_rest() -> None:
    assert wrong({"exactly": [SERVICE]}, REST) == ["objects"]


@each(
    "built",
    [
        REST,
        [ELSEWHERE, SERVICE],
        [deployment(items=[1]), deployment("more")],
        [],
        [SERVICE | {"metadata": SERVICE["metadata"] | {"labels": {"a": "b"}}}, deployment(items=[{"c": 3}, {"a": 1}])],
    ],
)
def test_changes_make_of_the_rest_what_was_built(built: list[JSON]) -> None:
    assert list(object_differences(with_changes(REST, changes(REST, built)), built)) == []


def test_update_states_only_what_differs() -> None:
    now = updated_objects(STATED | {"rest": "r"}, [ELSEWHERE, SERVICE], REST)
    identity = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"namespace": "a", "name": "web"}}
    assert now == {"contain": [identity | {"spec": {"paused": None, "items": [{"b": 5}, {}]}}], "rest": "r"}
    assert updated_objects({"contain": [{"kind": "Service"}]}, REST, ()) == {"contain": [{"kind": "Service"}]}


def test_the_rest_is_read_from_a_file_beside_the_case(tmp_path: Path) -> None:
    (tmp_path / "default.out.yaml").write_text(yaml.safe_dump_all(REST))
    assert list(load_rest({"rest": "default.out.yaml"}, tmp_path)) == REST
    assert list(load_rest([SERVICE], tmp_path)) == []
    with pytest.raises(BadInput, match=r"none\.yaml: no such file"):
        load_rest({"rest": "none.yaml"}, tmp_path)
