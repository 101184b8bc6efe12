"""What values.yaml files say, common and of modules. Level: pure."""

import re
from pathlib import Path

import pytest

from hookrunner.errors import StartRefused
from hookrunner.modules import discovery
from hookrunner.modules.shelf import Statics, read_statics
from kubetypes.json_values import JSON
from tests.modules.conftest import MakeTree


def read(*directories: Path, strict: bool = False) -> Statics:
    return read_statics(directories, discovery.find(directories, 1).modules, strict)


def test_a_section_is_the_common_one_with_the_modules_own_above_it(tree: MakeTree) -> None:
    top = tree(
        {
            "values.yaml": "global: {a: 1}\nmyMod: {x: 1, deep: {l: [1], k: 1}, gone: {y: 1}}\nother: {z: 1}",
            "001-my-mod/values.yaml": "myMod: {deep: {l: [2], n: null}, gone: text}\nother: {z: 2}\nglobal: {a: 2}",
            "002-other/": "",
        }
    )
    assert read(top).sections == {
        "global": {"a": 1},
        "myMod": {"x": 1, "deep": {"l": [2], "k": 1, "n": None}, "gone": "text"},
        "other": {"z": 1},
    }


def test_a_modules_section_comes_from_its_own_directory_and_global_from_all(tree: MakeTree) -> None:
    top = tree(
        {
            "one/values.yaml": "global: {x: {a: 1, b: 1}}\nmod: {from: one}",
            "two/values.yaml": "global: {x: {b: 2}}\nmod: {from: two}",
            "two/mod/": "",
        }
    )
    found = read(top / "one", top / "two").sections
    assert found == {"global": {"x": {"a": 1, "b": 2}}, "mod": {"from": "two"}}


@pytest.mark.parametrize("text", ["", "# nothing", "---\n", "\ufeff", "null"])
def test_files_that_say_nothing_are_fine(tree: MakeTree, text: str) -> None:
    top = tree({"values.yaml": text, "mod/values.yaml": text})
    assert read(top) == Statics({"global": {}, "mod": {}})


@pytest.mark.parametrize("section", ["mod:", "mod: null", "mod: {}"])
def test_a_section_without_values_is_empty(tree: MakeTree, section: str) -> None:
    assert read(tree({"values.yaml": section, "mod/values.yaml": section})).sections["mod"] == {}


def test_booleans_are_those_of_yaml_1_1_and_integers_stay_integers(tree: MakeTree) -> None:
    top = tree({"mod/values.yaml": "mod: {a: yes, b: 12345678901, c: 1.0, n: off}"})
    values: JSON = {"a": True, "b": 12345678901, "c": 1.0, "n": False}
    assert read(top).sections["mod"] == values


@pytest.mark.parametrize(
    ("common", "own", "wanted"),
    [
        ("", "", None),
        ("modEnabled: true", "", True),
        ("modEnabled: true", "modEnabled: false", False),
        ("", "modEnabled: true", True),
        ("modEnabled: yes", "", True),
        ("modEnabled: null", "", None),
        ('modEnabled: "true"', "", True),
        ("modEnabled: true", 'modEnabled: " False "', False),
        ("", "otherEnabled: true", None),
    ],
)
def test_a_flag_in_the_modules_own_file_overrides_the_common_one(
    tree: MakeTree, common: str, own: str, wanted: bool | None
) -> None:
    flag = read(tree({"values.yaml": common, "mod/values.yaml": own})).enabled.get("mod")
    assert (flag and flag.wanted) == wanted


def test_of_common_flags_the_last_directorys_counts_and_names_its_file(tree: MakeTree) -> None:
    top = tree({"one/values.yaml": "modEnabled: true", "two/values.yaml": "modEnabled: false", "one/mod/": ""})
    flag = read(top / "one", top / "two").enabled["mod"]
    assert (flag.wanted, flag.file) == (False, top / "two/values.yaml")


@pytest.mark.parametrize(
    ("files", "text"),
    [
        ({"values.yaml": "modEnabled: 1"}, "values.yaml: `modEnabled` must be true or false, not a number"),
        ({"mod/values.yaml": "modEnabled: [x]"}, "mod/values.yaml: `modEnabled` must be true or false"),
        ({"values.yaml": "mod: [1]"}, "values.yaml: `mod` must have keys with values"),
        ({"mod/values.yaml": "mod: text"}, "mod/values.yaml: `mod` must have keys with values"),
        ({"mod/values.yaml": "mod: {"}, "mod/values.yaml: not YAML"),
        ({"mod/values.yaml": "- mod"}, "mod/values.yaml: must have keys with values"),
        ({"mod/values.yaml/": ""}, "mod/values.yaml: cannot be read"),
    ],
)
def test_an_error_in_a_modules_values_is_its_problem_alone(tree: MakeTree, files: dict[str, str], text: str) -> None:
    statics = read(tree({"mod/": "", "whole/values.yaml": "wholeEnabled: true", **files}))
    assert statics.problems.keys() == {"mod"}
    assert text in statics.problems["mod"]
    assert statics.enabled["whole"].wanted


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a: [", r"values\.yaml: not YAML: line .*; no module can be decided about without it"),
        ("[1]", "must have keys with values"),
        ("global: 1", "`global` must have keys"),
    ],
)
def test_common_values_that_cannot_be_read_refuse_the_start(tree: MakeTree, text: str, expected: str) -> None:
    with pytest.raises(StartRefused, match=expected):
        read(tree({"values.yaml": text}))


@pytest.mark.parametrize(("there", "missing"), [("values.yaml", "mod/values.yaml"), ("mod/values.yaml", "values.yaml")])
def test_in_strict_mode_every_directory_must_have_its_file(tree: MakeTree, there: str, missing: str) -> None:
    top = tree({there: "", "mod/": ""})
    with pytest.raises(
        StartRefused, match=re.escape(f"{top}/{missing} does not exist; create it, an empty one will do")
    ):
        read(top, strict=True)
    tree({missing: ""})
    assert read(top, strict=True) == read(top)


def test_a_flag_without_a_module_is_logged(tree: MakeTree, capfd: pytest.CaptureFixture[str]) -> None:
    read(tree({"values.yaml": "myModdEnabled: true\nmyModEnabled: true", "my-mod/": ""}))
    warned = capfd.readouterr().err
    assert "flag=myModdEnabled" in warned
    assert "did you mean 'myMod'?" in warned
    assert "flag=myModEnabled" not in warned
