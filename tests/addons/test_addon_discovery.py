"""Addons directories: what is offered, and what is rejected without stopping the others. Level: pure."""

from pathlib import Path

import pytest

from hookrunner.addons.addon_discovery import find_addons, load_offer, reload_offer
from hookrunner.errors import StartRefused
from hookrunner.settings import AddonsSettings
from tests.addons.conftest import MakeTree
from tests.tables import each

A, B = "object: {kind: A}", "object: {kind: B}"


def names(*directories: Path) -> tuple[list[str], list[str]]:
    catalog = find_addons(directories)
    return [addon.name for addon in catalog.addons], [addon.name for addon in catalog.rejected]


def test_each_directory_is_an_addon(tree: MakeTree) -> None:
    root = tree({"b/addon.yaml": B, "a/addon.yaml": A, ".git/x": "", "README.md": ""})
    catalog = find_addons([root, root])
    assert [addon.name for addon in catalog.addons] == ["a", "b"]
    assert catalog.rejected == ()
    assert catalog.of_kind("addons.x-k8s.io/v1alpha1", "B") is catalog.named("b")
    assert catalog.named("c") is None


def test_values_of_an_addon_are_read_with_it_once(tree: MakeTree, capfd: pytest.CaptureFixture[str]) -> None:
    values = "a: {size: 1}\nglobal: {zone: x}\nother: {}\n"
    catalog = find_addons([tree({"a/addon.yaml": A, "a/values.yaml": values})])
    assert (catalog.values["a"].static, catalog.shared) == ({"size": 1}, {"zone": "x"})
    assert capfd.readouterr().err.count("keys other than global and a") == 1


def test_of_two_with_one_name_or_one_kind_the_first_directory_counts(tree: MakeTree) -> None:
    root = tree(
        {
            "2/a/addon.yaml": A,
            "1/a/addon.yaml": B,
            "2/b/addon.yaml": B,
            "2/c/addon.yaml": "object: {kind: C, plural: bs}",
            "2/d/addon.yaml": "object: {kind: B, group: d.io}",
        }
    )
    catalog = find_addons([root / "1", root / "2"])
    assert [(addon.name, addon.root.name) for addon in catalog.addons] == [("a", "1"), ("d", "2")]
    problems = [addon.problem for addon in catalog.rejected]
    assert problems[0] == f"there is an addon 'a' already, in {root}/1/a, and the first one is used"
    assert problems[1].startswith(f"the kind B is that of addon 'a' in {root}/1/a")
    assert problems[2].startswith("the plural 'bs' is that of addon 'a'")


@each("kind", ["kind: Generic", "kind: GENERIC", "kind: Other, plural: generics"])
def test_directory_does_not_define_generic_beside_hookrunner(tree: MakeTree, kind: str) -> None:
    root = tree({"a/addon.yaml": A, "generic/addon.yaml": f"object: {{{kind}}}"})
    alone, beside = (AddonsSettings(directories=(root,), generic_sources=sources) for sources in ((), ("/srv",)))
    assert [len(load(alone).rejected) for load in (load_offer, reload_offer)] == [0, 0]
    for load in (load_offer, reload_offer):
        catalog = load(beside)
        (rejected,) = catalog.rejected
        assert ([addon.name for addon in catalog.addons], rejected.name) == (["a"], "generic")
        assert "generics.addons.x-k8s.io is a kind of hookrunner itself" in rejected.problem


@each(
    ("name", "part"),
    [
        ("Upper", "'Upper' cannot be the name of an addon: use lowercase letters"),
        ("a.b", "'a.b' cannot be the name"),
        ("a--b", "'a--b' cannot be the name"),
        ("1a", "'1a' cannot be the name"),
        ("a" * 54, "at most 53"),
        ("global", "no addon can be called 'global'"),
        ("a\nb", r"'a\nb' cannot be the name"),
    ],
)
def test_a_name_that_no_addon_can_have_is_rejected(tmp_path: Path, name: str, part: str) -> None:
    (tmp_path / name).mkdir()
    (tmp_path / name / "addon.yaml").write_text(A)
    catalog = find_addons([tmp_path])
    rejected = next(addon for addon in catalog.rejected if addon.name == name)
    assert part in rejected.problem


@pytest.mark.parametrize(
    ("files", "part"),
    [
        ({"a/": ""}, "a/addon.yaml: does not exist"),
        ({"a/addon.yaml": ""}, "object is required"),
        ({"a/addon.yaml": A + "\npostRender: [render/x]"}, "render/x: does not exist, but postRender names it"),
        ({"a/addon.yaml": A + "\npostRender: [x]", "a/x": ""}, "a/x: is not executable, but postRender names it; run"),
        ({"a/addon.yaml": "object: {kind: A, crd: file}"}, "a/crds: has no definition as.addons.x-k8s.io; add it"),
        ({"a/addon.yaml": "object: {kind: A, crd: file}", "a/crds/a.yaml": "kind: A"}, "only CustomResourceDefinition"),
        ({"a/addon.yaml": A, "a/openapi/spec.yaml": "a: ["}, "a/openapi/spec.yaml: not YAML"),
    ],
)
def test_a_directory_that_cannot_be_offered_is_rejected_with_the_reason(
    tree: MakeTree, files: dict[str, str], part: str, capfd: pytest.CaptureFixture[str]
) -> None:
    root = tree(files | {"b/addon.yaml": B, "c/addon.yaml": "object: {kind: C}\npostRender: [r]", "c/r*": ""})
    catalog = find_addons([root])
    assert [addon.name for addon in catalog.addons] == ["b", "c"]
    (rejected,) = catalog.rejected
    assert part in rejected.problem
    assert "addon is not offered" in capfd.readouterr().err


def test_links_are_followed_and_dangling_ones_are_rejected(tree: MakeTree) -> None:
    root = tree({"real/a/addon.yaml": A, "linked/": ""})
    (root / "linked" / "b").symlink_to(root / "real" / "a")
    (root / "linked" / "c").symlink_to(root / "nowhere")
    assert names(root / "linked") == (["b"], ["c"])


def test_names_narrow_what_is_offered(tree: MakeTree) -> None:
    root = tree({"a/addon.yaml": A, "b/addon.yaml": B, "coredns/": ""})
    catalog = find_addons([root], ["b", "coredns"])
    assert [addon.name for addon in catalog.addons] == ["b"]
    with pytest.raises(StartRefused, match="--addons: no addons directory has an addon 'cordns'; did you mean 'cored"):
        find_addons([root], ["cordns"])


def test_an_addons_directory_that_cannot_be_read_refuses_the_start(tree: MakeTree) -> None:
    root = tree({"file": ""})
    for path, part in ((root / "none", "does not exist"), (root / "file", "is not a directory")):
        with pytest.raises(StartRefused, match=f"{part}.*--addons-dir"):
            find_addons([path])
