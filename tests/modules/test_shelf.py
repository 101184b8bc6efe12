"""Directories, values and problems together. Level: pure."""

import pytest

from hookrunner.modules.shelf import load
from tests.fakes.cost import QUADRATIC, growth
from tests.modules.conftest import MakeTree


def test_a_module_has_its_problems_of_every_origin(tree: MakeTree) -> None:
    top = tree(
        {
            "001-a/module.yaml": "requires: {modules: [b]}",
            "002-b/module.yaml": "requires: {modules: [a]}",
            "002-b/values.yaml": "b: 1",
            "003-c/module.yaml": "gate: maybe",
            "004-d/values.yaml": "dEnabled: true",
        }
    )
    loaded = load([top], 1, strict=False)
    a, b, c, d = (module.problem for module in loaded.found.modules)
    assert a.endswith("a requires b, b requires a; remove one of these")
    assert "`b` must have keys" in b
    assert "b requires a, a requires b" in b
    assert "gate must be" in c
    assert d == ""
    assert loaded.statics.enabled["d"].wanted


def test_a_directory_may_be_given_twice_and_relative(tree: MakeTree, monkeypatch: pytest.MonkeyPatch) -> None:
    top = tree({"modules/values.yaml": "a: {x: 1}", "modules/a/": ""})
    monkeypatch.chdir(top)
    once = load([top / "modules"], 1, strict=False)
    assert once == load([top / "modules", top / "other/../modules"], 1, strict=False)
    assert once.statics.sections["a"] == {"x": 1}


@pytest.mark.slow
def test_the_cost_of_loading_grows_with_the_number_of_modules(tree: MakeTree) -> None:
    def files(top: str, count: int) -> dict[str, str]:
        found = {f"{top}/values.yaml": "global: {a: 1}\n"}
        for number in range(count):
            name = f"{top}/{number:03}-mod{number}"
            found |= {f"{name}/Chart.yaml": "apiVersion: v2\nname: x\nversion: 1.2.3\n", f"{name}/templates/": ""}
            found |= {f"{name}/values.yaml": f"mod{number}:\n  replicas: 1\n  image: {{name: x, tag: y}}\n"}
        return found

    top = tree(files("100", 100) | files("400", 400))

    def work(size: int) -> None:
        assert len(load([top / str(size)], 1, strict=False).found.modules) == size

    assert growth(work, 100) < QUADRATIC * 0.7
