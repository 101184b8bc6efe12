"""Rendered texts as what a release is made of. `test_against_helm.py` compares the same with Helm. Level: pure."""

import pytest

from hookrunner.charts.manifests import manifests
from hookrunner.errors import RenderFailed
from kubetypes.json_values import JSON
from tests.charts.conftest import configmap
from tests.tables import each

LIST = "apiVersion: v1\nkind: List\nitems:\n- {apiVersion: v1, kind: Secret, metadata: {name: s, labels: {own: x}}}\n"
HOOK = "apiVersion: batch/v1\nkind: Job\nmetadata:\n  name: j\n  annotations: {{{annotations}}}\n"


def objects(text: str, **labels: str) -> list[JSON]:
    return list(manifests({"demo/templates/a.yaml": text}, "demo", labels).objects)


def test_keys_are_the_texts_that_were_written() -> None:
    [found] = objects(configmap("a") + "n: 1\nspec: {y: 1, on: {1: 2}, null: 3, 1.0: 4}\n")
    assert found["n"] == 1
    assert found["spec"] == {"y": 1, "on": {"1": 2}, "null": 3, "1.0": 4}


def test_large_whole_numbers_are_integers() -> None:
    [found] = objects(configmap("a") + "spec: [1e+06, 1.5, 2.0, 1e30, 9007199254740993]\n")
    assert [(type(number), number) for number in found["spec"]] == [
        (int, 1000000),
        (float, 1.5),
        (int, 2),
        (float, 1e30),
        (int, 9007199254740993),
    ]


@each("end", ["", "\n", "\n\n\n", "\n\n---\n"])
@each("mark", ["|", "|+"])
def test_a_text_at_the_end_has_one_newline(mark: str, end: str) -> None:
    [found] = objects(configmap("a", f"  v: {mark}\n    one{end}"))
    assert found["data"] == {"v": "one\n"}


@each("end", ["\r", "\x85", "\u2028", "\u2029", "\ue000", "\ue0000", "\r\r"])
def test_lines_end_with_lf_or_crlf_alone(end: str) -> None:
    text = end.join(["one", "---", "kind: Secret", "  a: b"])
    [found] = objects(configmap("a", f'  v: |\n    {text}\r\n    two\n  "k{end}": "{text}"  # {text}\n'))
    assert found["data"] == {"v": f"{text}\ntwo\n", f"k{end}": text}


def test_lists_are_taken_apart_and_their_items_sorted_among_the_others() -> None:
    nested = LIST + "- {apiVersion: v1, kind: List, items: [{apiVersion: v1, kind: Namespace, metadata: {name: ns}}]}\n"
    found = objects(configmap("c") + "---\n" + nested, team="t")
    assert [item["kind"] for item in found] == ["Namespace", "Secret", "ConfigMap"]
    assert found[1]["metadata"]["labels"] == {"own": "x", "team": "t"}


def test_items_of_a_list_of_one_kind_need_not_name_it() -> None:
    [found] = objects("apiVersion: v1\nkind: ConfigMapList\nitems:\n- metadata: {name: a}\n")
    assert (found["apiVersion"], found["kind"]) == ("v1", "ConfigMap")


def test_labels_go_on_objects_and_hooks_and_not_inside() -> None:
    text = HOOK.format(annotations='"helm.sh/hook": pre-install') + "spec: {template: {metadata: {labels: {a: b}}}}\n"
    [hook] = manifests({"demo/templates/a.yaml": text}, "demo", {"heritage": "h"}).hooks
    assert hook.obj["metadata"]["labels"] == {"heritage": "h"}
    assert hook.obj["spec"]["template"]["metadata"]["labels"] == {"a": "b"}
    assert "heritage: h" in hook.text


@each(
    ("annotations", "events", "weight", "policies"),
    [
        ('"helm.sh/hook": " pre-install,Post-Upgrade "', ("pre-install", "post-upgrade"), 0, ("before-hook-creation",)),
        ('"helm.sh/hook": test-success, "helm.sh/hook-weight": "-5"', ("test",), -5, ("before-hook-creation",)),
        ('"helm.sh/hook": pre-delete, "helm.sh/hook-weight": "x"', ("pre-delete",), 0, ("before-hook-creation",)),
        (f'"helm.sh/hook": test, "helm.sh/hook-weight": "{2**64}"', ("test",), 0, ("before-hook-creation",)),
        (
            '"helm.sh/hook": test, "helm.sh/hook-delete-policy": "hook-succeeded, hook-failed"',
            ("test",),
            0,
            ("hook-succeeded", "hook-failed"),
        ),
    ],
)
def test_hooks_say_when_and_in_which_order(
    annotations: str, events: tuple[str, ...], weight: int, policies: tuple[str, ...]
) -> None:
    found = manifests({"demo/templates/a.yaml": HOOK.format(annotations=annotations)}, "demo", {})
    [hook] = found.hooks
    assert (hook.name, hook.kind, hook.path) == ("j", "Job", "demo/templates/a.yaml")
    assert (hook.events, hook.weight, hook.delete_policies) == (events, weight, policies)
    assert found.objects == ()


def test_a_hook_of_an_unknown_event_is_left_out_and_named() -> None:
    text = HOOK.format(annotations='"helm.sh/hook": "pre-install,crd-install"')
    found = manifests({"demo/templates/a.yaml": text}, "demo", {})
    assert (found.hooks, found.objects) == ((), ())
    assert found.ignored == ("demo/templates/a.yaml: Job j",)


def test_only_the_notes_of_the_chart_itself_are_kept() -> None:
    texts = {
        "demo/templates/NOTES.txt": "hello",
        "demo/charts/sub/templates/NOTES.txt": "not me",
        "demo/_x.yaml": "a: [",
    }
    found = manifests(texts, "demo", {})
    assert (found.notes, found.objects) == ("hello", ())


@each(
    ("text", "message"),
    [
        ("a: 1\n", "document 1: an object needs apiVersion and kind"),
        ("kind: A\napiVersion: [1]\n", "document 1: an object needs apiVersion"),
        ("kind: A\napiVersion: v1\n", "document 1: A has no metadata.name"),
        ("text", "document 1: not an object but a text of 4 characters"),
        (configmap("a") + "---\n" + configmap("b") + "x: [\n", "document 2: not YAML: line 6: "),
        (configmap("a") + "  labels: [a]\n", "document 1: ConfigMap a: metadata.labels is not a mapping"),
        (LIST + "- 3\n", "item 2 of a List: not an object but a number"),
    ],
)
def test_document_that_is_not_an_object_is_named_by_template_and_number(text: str, message: str) -> None:
    with pytest.raises(RenderFailed) as refused:
        objects(text)
    assert "demo/templates/a.yaml" in str(refused.value)
    assert message in str(refused.value)
