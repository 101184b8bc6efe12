"""What users configure, read from files. What becomes of it is tested in tests/cli/test_module.py. Level: pure."""

from pathlib import Path

import pytest

from hookrunner.errors import BadInput
from hookrunner.modules.offline import read_configured


@pytest.mark.parametrize(
    ("text", "sections"),
    [
        ("dns: {a: 1}\ndnsEnabled: true", {"dns": {"a": 1}}),
        ("kind: {a: 1}", {"kind": {"a": 1}}),
        ("{kind: ConfigMap, data: {dns: 'a: 1'}}", {"dns": {"a": 1}}),
        ("{kind: ConfigMap}", {}),
        ("dns: {a: 1}\n---\ndns: {b: 1}", {"dns": {"b": 1}}),
    ],
)
def test_sections_stand_in_a_config_map_or_by_themselves(
    tmp_path: Path, text: str, sections: dict[str, object]
) -> None:
    (tmp_path / "config.yaml").write_text(text)
    assert read_configured([tmp_path / "config.yaml"]).plain.sections == sections


@pytest.mark.parametrize(
    ("said", "sections"),
    [("data: {dns: YTogMQ==}", {"a": 1}), ("data: {dns: YTogMQ==}, stringData: {dns: 'b: 1'}", {"b": 1})],
)
def test_the_values_of_a_secret_are_kept_apart(tmp_path: Path, said: str, sections: dict[str, int]) -> None:
    (tmp_path / "secret.yaml").write_text(f"{{kind: Secret, {said}}}")
    found = read_configured([tmp_path / "secret.yaml"])
    assert found.secret
    assert (found.plain.sections, found.secret.sections) == ({}, {"dns": sections})


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("[a]", "a ConfigMap, a Secret or sections are wanted"),
        ("kind: Pod", "not a Pod"),
        ("{kind: ConfigMap, data: text}", "must be a mapping of sections to texts"),
        ("{kind: Secret, data: {a: é}}", "`data.a` of the Secret is not a text in base64"),
        ("{kind: Secret, data: {a: YQ}}", "`data.a` of the Secret is not a text in base64"),
        ("{kind: Secret, data: {a: gA==}}", "`data.a` of the Secret is not a text in base64"),
        ("a: [", "document 1: not YAML"),
    ],
)
def test_a_bad_configuration_is_reported_with_its_file(tmp_path: Path, text: str, problem: str) -> None:
    (tmp_path / "config.yaml").write_text(text, encoding="utf-8")
    with pytest.raises(BadInput) as raised:
        read_configured([tmp_path / "config.yaml"])
    assert str(raised.value).startswith(f"{tmp_path}/config.yaml: ")
    assert problem in str(raised.value)


@pytest.mark.parametrize(
    ("as_addon", "own"), [(False, {"a": "off", "d": "2020-01-01"}), (True, {"a": "off", "d": "2020-01-01T00:00:00Z"})]
)
def test_a_file_of_sections_is_read_as_the_cluster_reads_them(
    tmp_path: Path, as_addon: bool, own: dict[str, str]
) -> None:
    for text in ("global: {a: off, d: 2020-01-01}\nfoo: {a: off, d: 2020-01-01}", "global: 'a: off'\nfoo: |\n  a: off"):
        (tmp_path / "config.yaml").write_text(text)
        found = read_configured([tmp_path / "config.yaml"], as_addon).plain.sections
        assert found["global"]["a"] is False
        assert found["foo"] in (own, {"a": "off"})
