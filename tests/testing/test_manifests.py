"""Object files as users have them, and the errors for other files. Level: pure."""

import io
from pathlib import Path

import pytest

from hookrunner.errors import BadInput
from hookrunner.testing import manifests

POD = "kind: Pod\nmetadata: {name: %s}\n"


def test_documents_and_lists_are_read_and_empty_ones_skipped(tmp_path: Path) -> None:
    text = (
        POD % "a"
        + "---\n# nothing\n---\nkind: List\nitems:\n- kind: PodList\n  items: [{kind: Pod, metadata: {name: b}}]\n"
    )
    (tmp_path / "a.yaml").write_text(text)
    (tmp_path / "c.json").write_text('{"kind": "Pod", "metadata": {"name": "c"}}')
    found = manifests.load(["a.yaml", "*.json"], tmp_path)
    assert [obj["metadata"]["name"] for obj in found] == ["a", "b", "c"]


def test_a_directory_stands_for_the_manifests_in_it(tmp_path: Path) -> None:
    for name in ("b.yml", "a.yaml", "README.md"):
        (tmp_path / name).write_text(POD % name)
    assert [obj["metadata"]["name"] for obj in manifests.load(["."], tmp_path)] == ["a.yaml", "b.yml"]


def test_brackets_may_be_in_names_of_directories_and_files(tmp_path: Path) -> None:
    directory = tmp_path / "[1]"
    directory.mkdir()
    (directory / "a[b].yaml").write_text(POD % "named")
    (directory / "ab.yaml").write_text(POD % "found")
    found = manifests.load(["a[b].yaml", "*b.yaml"], directory)
    assert [obj["metadata"]["name"] for obj in found] == ["named", "found"]


def test_dash_reads_standard_input(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO((POD % "a").encode())))
    assert manifests.load_one("-", tmp_path)["metadata"]["name"] == "a"
    with pytest.raises(BadInput, match="standard input: no object came in"):
        manifests.load_one("-", tmp_path)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("kind: [", "a.yaml: document 1: not YAML: line 2: "),
        ("kind: Pod\nmetadata: {name: a}\n---\n\nmetadata: {name: b}\n", "a.yaml:5: `kind` is missing"),
        ("kind: Pod\n", "a.yaml:1: `metadata.name` of this Pod is missing"),
        ("kind: Pod\nmetadata: {name: 1}\n", "a.yaml:1: `metadata.name` of this Pod is missing, or is no text"),
        ("just text", "a.yaml:1: an API object is a mapping with apiVersion, kind and metadata, not 'just text'"),
        ("kind: List\nitems: [{kind: 1}]", "a.yaml:1: `kind` is missing"),
    ],
)
def test_document_that_is_no_object_is_refused_with_file_and_line(text: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text(text)
    with pytest.raises(BadInput) as found:
        manifests.load(["a.yaml"], tmp_path)
    assert str(found.value).startswith(f"{tmp_path}/{message}")


def test_load_one_refuses_other_counts(tmp_path: Path) -> None:
    (tmp_path / "two.yaml").write_text(POD % "a" + "---\n" + POD % "b")
    with pytest.raises(BadInput, match=r"two.yaml: one object is wanted here, 2 are in it"):
        manifests.load_one("two.yaml", tmp_path)
    with pytest.raises(BadInput, match=r"no.yaml: no such file \(looked in "):
        manifests.load_one("no.yaml", tmp_path)


def test_values_file_must_be_one_mapping(tmp_path: Path) -> None:
    (path := tmp_path / "v.yaml").write_text("a: {b: 1}\n")
    assert manifests.mapping(str(path)) == {"a": {"b": 1}}
    path.write_text("")
    assert manifests.mapping(str(path)) == {}
    path.write_text("[1]")
    with pytest.raises(BadInput, match="one document with keys and values is wanted here"):
        manifests.mapping(str(path))
