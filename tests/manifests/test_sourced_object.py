"""Files as objects: what is wrong is named by file and document. Values: `tests/charts/test_manifests.py`.

Level: pure."""

import pytest

from hookrunner.errors import BadManifest
from hookrunner.manifests.sourced_object import read_objects, split_lists
from tests.tables import each


def test_files_are_read_in_the_order_of_their_paths() -> None:
    texts = {name: f"apiVersion: v1\nkind: Secret\nmetadata: {{name: {name[0]}}}\n" for name in ("b.yaml", "a.yaml")}
    assert [str(source) for source in read_objects(texts)] == ["Secret a (a.yaml)", "Secret b (b.yaml)"]


def test_lists_in_lists_are_taken_apart() -> None:
    text = (
        "apiVersion: v1\nkind: List\nmetadata:\nitems:\n- {apiVersion: v1, kind: List, items: []}\n"
        "- {apiVersion: v1, kind: ConfigMapList, items: [{metadata: {name: a}}]}\n"
    )
    assert [(item.kind, item.name) for item in split_lists(read_objects({"l.yaml": text}))] == [("ConfigMap", "a")]


@each(
    ("text", "message"),
    [
        ("kustomize\n", "a.yaml, document 1: not an object but a text of 9 characters"),
        (".:53 {\n  errors\n}\n", "a.yaml, document 1: "),
        ("---\n---\nkind: A\napiVersion: v1\n", "a.yaml, document 1: A has no metadata.name"),
        ("kind: A\napiVersion: v1\nmetadata: {name: 5}\n", "metadata.name of a A is no text; put it in quotes"),
        ("kind: A\napiVersion: v1\nmetadata: {name: a, namespace: [x]}\n", "metadata.namespace of a A is no text"),
        ("kind: List\napiVersion: v1\nitems: 5\n", "List has no metadata.name"),
        ("kind: 5\napiVersion: v1\n", "an object needs kind"),
        ("a: {{ x }}\n", "a.yaml, document 1: "),
    ],
)
def test_a_document_that_is_no_object_is_refused(text: str, message: str) -> None:
    with pytest.raises(BadManifest) as refused:
        read_objects({"a.yaml": text})
    assert message in str(refused.value)
