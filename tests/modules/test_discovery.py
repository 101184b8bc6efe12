"""Which directories are modules. What their files say about values is tested in test_values_files.py. Level: pure."""

import os
import re
from pathlib import Path

import pytest

from hookrunner.errors import StartRefused
from hookrunner.modules.discovery import Found, find
from tests.modules.conftest import MakeTree


def names(found: Found) -> list[str]:
    return [f"{module.weight} {module.name}" for module in found.modules]


@pytest.mark.parametrize(
    ("directories", "modules"),
    [
        ((), []),
        (("b", "a"), ["7 a", "7 b"]),
        (("020-a", "003-b", "3-c", "000-d"), ["0 d", "3 b", "3 c", "20 a"]),
        (("001-2-module-name", "10-l2-load-balancer"), ["1 2-module-name", "10 l2-load-balancer"]),
        (("4294967296-a", "2147483647-b"), ["7 a", "2147483647 b"]),
        ((".git", ".100-a", "..data", "001-a"), ["1 a"]),
    ],
)
def test_directories_are_modules_by_weight_and_name(
    tree: MakeTree, directories: tuple[str, ...], modules: list[str]
) -> None:
    top = tree({f"{name}/": "" for name in directories})
    assert names(find([top], unnumbered=7)) == modules


def test_files_among_modules_are_warned_of_and_ignored(tree: MakeTree, capfd: pytest.CaptureFixture[str]) -> None:
    top = tree({"values.yaml": "", "README.md": "", ".gitignore": "", "notes.txt": "", "001-a/": ""})
    assert names(find([top], 1)) == ["1 a"]
    warned = capfd.readouterr().err
    assert "notes.txt" in warned
    assert [name for name in ("values.yaml", "README.md", ".gitignore") if name in warned] == []


def test_the_key_is_the_name_in_camel_case_and_the_source_is_the_directory_around(tree: MakeTree) -> None:
    top = tree({"001-cert-manager-crd/": ""})
    (module,) = find([top], 1).modules
    assert (module.key, module.source, module.directory) == ("certManagerCrd", top, top / "001-cert-manager-crd")


@pytest.mark.parametrize(
    ("files", "chart"),
    [
        ({"a/hooks/x*": ""}, False),
        ({"a/Chart.yaml": "name: x"}, True),
        ({"a/templates/x.yaml": ""}, True),
        ({"a/templates": ""}, False),
    ],
)
def test_a_chart_file_or_templates_make_it_a_module_with_a_release(
    tree: MakeTree, files: dict[str, str], chart: bool
) -> None:
    (module,) = find([tree(files)], 1).modules
    assert module.chart == chart


@pytest.mark.parametrize(("name", "asked"), [("a/enabled*", True), ("a/enabled", False), ("a/enabled/", False)])
def test_only_an_executable_file_is_an_enabled_script(tree: MakeTree, name: str, asked: bool) -> None:
    top = tree({name: ""})
    (module,) = find([top], 1).modules
    assert module.script == (top / "a/enabled" if asked else None)


def test_an_enabled_script_may_be_a_link_and_its_target_says_whether_it_is_executable(tree: MakeTree) -> None:
    top = tree({"yes*": "", "no": "", "a/": "", "b/": ""})
    (top / "a/enabled").symlink_to("../yes")
    (top / "b/enabled").symlink_to("../no")
    assert [module.script is not None for module in find([top], 1).modules] == [True, False]


def test_a_link_gives_its_own_name_and_number_and_leads_to_the_directory(tree: MakeTree) -> None:
    top = tree({"elsewhere/099-other/Chart.yaml": "", "modules/": ""})
    (top / "modules/005-mine").symlink_to("../elsewhere/099-other")
    (module,) = find([top / "modules"], 1).modules
    assert (module.name, module.weight, module.chart) == ("mine", 5, True)
    assert module.directory == Path(os.path.realpath(top / "elsewhere/099-other"))


def test_a_link_to_itself_is_a_module_with_a_problem_and_stops_no_other(tree: MakeTree) -> None:
    top = tree({"b/": ""})
    (top / "a").symlink_to("a")
    assert [(one.name, "Too many levels" in one.problem) for one in find([top], 1).modules] == [
        ("a", True),
        ("b", False),
    ]


def test_a_directory_with_an_unprintable_name_is_skipped(tree: MakeTree, capfd: pytest.CaptureFixture[str]) -> None:
    top = tree({"a/": ""})
    os.mkdir(os.fsencode(top) + b"/b\xff")
    assert names(find([top], 1)) == ["1 a"]
    assert r"b\udcff" in capfd.readouterr().err


@pytest.mark.parametrize("name", ["../b", "b/c", r"b\0"])
def test_a_name_with_a_slash_is_rejected(tree: MakeTree, name: str) -> None:
    found = find([tree({"a/module.yaml": f'name: "{name}"'})], 1)
    assert (found.modules, "in module.yaml" in found.rejected[0].problem) == ((), True)


def test_a_dangling_link_is_a_module_with_a_problem_so_that_its_release_stays(tree: MakeTree) -> None:
    top = tree({"002-b/": ""})
    (top / "001-a").symlink_to("gone")
    broken, whole = find([top], 1).modules
    assert (broken.name, whole.problem) == ("a", "")
    assert "dangling link" in broken.problem


def test_of_two_modules_with_one_name_the_first_counts_and_the_other_is_shown(tree: MakeTree) -> None:
    top = tree({"one/001-a/": "", "two/050-a/": "", "two/002-b/": ""})
    found = find([top / "one", top / "two"], 1)
    assert [(module.name, module.source.name) for module in found.modules] == [("a", "one"), ("b", "two")]
    (shadowed,) = found.rejected
    assert shadowed.directory == top / "two/050-a"
    assert f"in {top}/one/001-a" in shadowed.problem
    assert found.certain


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("001-module-1", "'module-1' name should be in kebab-case .* consider renaming to 'module1'"),
        ("module_one", "consider renaming to 'module-one'"),
        ("MyModule", "consider renaming to 'my-module'"),
        ("coredns.kube-system.default", "consider renaming to 'coredns-kube-system-default'"),  # an instance's unit
        ("001-global", "no module can be called 'global'"),
    ],
)
def test_a_directory_with_an_impossible_name_is_shown_and_the_others_go_on(
    tree: MakeTree, name: str, told: str
) -> None:
    found = find([tree({f"{name}/": "", "002-b/": ""})], 1)
    assert names(found) == ["2 b"]
    assert not found.certain
    assert re.search(told, found.rejected[0].problem)


@pytest.mark.parametrize(("name", "chart"), [("a" * 54, True), ('a"b', True), ('a"b', False)])
def test_an_impossible_release_name_is_a_problem_of_modules_with_a_chart(
    tree: MakeTree, name: str, chart: bool
) -> None:
    (module,) = find([tree({f"{name}/{'templates' if chart else 'hooks'}/": ""})], 1).modules
    assert ("cannot be the name of a release" in module.problem) == chart


def test_module_yaml_gives_name_weight_and_traits(tree: MakeTree) -> None:
    top = tree({"001-a/module.yaml": "name: my-addon\nweight: 30\ngate: true", "002-b/": ""})
    found = find([top], 1)
    assert names(found) == ["2 b", "30 my-addon"]
    assert (found.modules[1].key, found.modules[1].traits.gate) == ("myAddon", True)


def test_a_bad_module_yaml_is_a_problem_of_that_module_alone(tree: MakeTree) -> None:
    broken, whole = find([tree({"001-a/module.yaml": "weight: much", "002-b/": ""})], 1).modules
    assert (broken.name, broken.weight, whole.problem) == ("a", 1, "")
    assert "module.yaml: weight must be of type integer" in broken.problem


@pytest.mark.parametrize(
    ("name", "told"), [("gone", "does not exist; create it or set --modules-dir"), ("file", "is no")]
)
def test_a_missing_modules_directory_refuses_the_start(tree: MakeTree, name: str, told: str) -> None:
    top = tree({"file": ""})
    with pytest.raises(StartRefused, match=told):
        find([top / name], 1)


def test_no_directories_and_no_modules_are_fine(tree: MakeTree) -> None:
    assert find([], 1) == find([tree({})], 1) == Found()
    assert Found().certain
