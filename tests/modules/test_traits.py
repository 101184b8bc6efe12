"""What module.yaml may say. Level: pure."""

from pathlib import Path

import orjson
import pytest

from hookrunner.errors import BadModule
from hookrunner.model.modules import Traits
from hookrunner.modules import traits
from hookrunner.modules.traits import Description
from tests.modules.conftest import MakeTree
from tests.tables import each

FULL = b"""
name: my-addon
weight: 30
description: Names for everybody
version: 1.4.0
critical: false
gate: true
requires:
  modules: [cert-manager, "dns >=1.2, <2"]
  kubernetes: " >=1.28"
namespace: addons
adopt: true
wait: true
rollbackOnFailure: true
driftDetection: repair
"""


def test_every_key_is_read() -> None:
    assert traits.parse(FULL, "module.yaml") == Description(
        "my-addon",
        30,
        Traits(
            description="Names for everybody",
            version="1.4.0",
            critical=False,
            gate=True,
            modules=(("cert-manager", ""), ("dns", ">=1.2, <2")),
            kubernetes=">=1.28",
            namespace="addons",
            adopt=True,
            wait=True,
            rollback_on_failure=True,
            drift="repair",
        ),
    )


@each("text", [b"", b"# nothing", b"{}", b"requires: {}", b"requires: {modules: []}"])
def test_missing_keys_have_their_defaults(text: bytes) -> None:
    assert traits.parse(text, "module.yaml") == Description()


@each(
    ("line", "pair"),
    [
        ("b", ("b", "")),
        (" b ", ("b", "")),
        ("b >=1.2, <2", ("b", ">=1.2, <2")),
        ("b>=1.2", ("b", ">=1.2")),
        ("l2-load.b ~1", ("l2-load.b", "~1")),
        ("b 1.2 - 2", ("b", "1.2 - 2")),
    ],
)
def test_a_requirement_is_a_name_and_a_range(line: str, pair: tuple[str, str]) -> None:
    document = orjson.dumps({"requires": {"modules": [line]}})
    assert traits.parse(document, "module.yaml").traits.modules == (pair,)


def test_unknown_keys_are_reported_and_change_nothing() -> None:
    text = b"stage: GA\nrequirements: {kubernetes: '>= 1.27'}\nrequires: {deckhouse: '>=1.6'}\nwieght: 3\n"
    found = traits.parse(text, "module.yaml")
    assert found.traits == Traits()
    assert [line.split(";")[0] for line in found.unknown] == ["stage", "requirements", "wieght", "requires.deckhouse"]
    assert found.unknown[2] == "wieght; did you mean 'weight'?"


@each(
    ("text", "told"),
    [
        (b"a: [", "module.yaml: not YAML: line "),
        (b"text", 'must be of type object: "string"'),
        (b"weight: '3'", 'weight must be of type integer: "string"; write a whole number without quotes'),
        (b"weight: -1", "weight must be at least 0"),
        (b"weight:", "or leave the key out"),
        (b"gate: 1", "gate must be of type boolean"),
        (b"version: 1.2", "version must be of type string"),
        (b"driftDetection: fix", "driftDetection should be one of [off missing warn repair]"),
        (b"requires: [a]", "requires must be of type object"),
        (b"requires: {modules: a}", 'requires.modules must be of type array: "string"; write a list of one text: [a]'),
        (b"requires: {modules: [a, {b: 1}]}", "requires.modules[1] must be of type string"),
        (b"requires: {modules: ['']}", "requires.modules[0] names no module; write its name, or `name >=1.2`"),
        (b"requires: {modules: ['>=1.2']}", "requires.modules[0] names no module"),
        (b"requires: {modules: [b >=one]}", "requires.modules[0] '>=one' is no range of versions"),
        (b"namespace: ../x", "namespace cannot be '../x'; use lowercase letters"),
        (b"namespace: Addons", "namespace cannot be 'Addons'"),
        (b"requires: {kubernetes: new}", "requires.kubernetes 'new' is no range of versions"),
    ],
)
def test_a_wrong_value_is_refused_with_what_to_write(text: bytes, told: str) -> None:
    with pytest.raises(BadModule) as refused:
        traits.parse(text, "module.yaml")
    assert told in str(refused.value)


def test_all_errors_are_reported_at_once() -> None:
    with pytest.raises(BadModule, match=r"weight must .*; wait must .*; requires\.kubernetes"):
        traits.parse(b"weight: x\nwait: x\nrequires: {kubernetes: x.y}", "module.yaml")


@pytest.mark.parametrize(
    ("files", "version"),
    [
        ({}, ""),
        ({"module.yaml": "version: 2.0.0", "Chart.yaml": "version: 1.0.0"}, "2.0.0"),
        ({"module.yaml": "gate: true", "Chart.yaml": "name: x\nversion: 1.0.0"}, "1.0.0"),
        ({"Chart.yaml": "version: 1.0.0"}, "1.0.0"),
        ({"Chart.yaml": "version: 1.0"}, ""),
        ({"Chart.yaml": "version: ["}, ""),
    ],
)
def test_the_version_is_the_charts_if_module_yaml_has_none(tree: MakeTree, files: dict[str, str], version: str) -> None:
    assert traits.read(tree(files)).traits.version == version


def test_a_module_yaml_that_cannot_be_read_is_refused(tree: MakeTree) -> None:
    with pytest.raises(BadModule, match=r"module\.yaml: cannot be read: Is a directory"):
        traits.read(tree({"module.yaml/": ""}))


def test_unknown_keys_are_logged_with_the_file(tree: MakeTree, capfd: pytest.CaptureFixture[str]) -> None:
    top: Path = tree({"module.yaml": "tags: [x]"})
    traits.read(top)
    assert f"keys=tags path={top}/module.yaml" in capfd.readouterr().err
