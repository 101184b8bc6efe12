"""Texts of values that continue as YAML after a line end: setting a value creates no other object. The texts are put
where users put theirs: into instances of a shipped addon and of the starter, and into values of a module.

Level: pure."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from hookrunner.cli.main import run
from kubetypes.json_values import JSON

TREE = Path(__file__).parents[2]
OBJECT = ["---", "apiVersion: v1", "kind: ServiceAccount", "metadata: {name: pwn}"]
REST = ["---", "apiVersion: v1", "kind: ConfigMap", "metadata: {name: rest}", "data:", "  x: |", "    z"]
ENDS = ["\n", "\r", "\r\n", "\x85", "\u2028", "\u2029"]
pytestmark = pytest.mark.usefixtures("forking")


def printed(capsys: pytest.CaptureFixture[str], *words: str) -> list[JSON]:
    """The objects that a command prints."""
    assert run(list(words), "hookrunner") == 0, capsys.readouterr().err
    items: list[JSON] = json.loads(capsys.readouterr().out)["items"]
    return items


def identities(objects: list[JSON]) -> list[tuple[Any, ...]]:
    return [
        (obj["apiVersion"], obj["kind"], obj["metadata"].get("namespace"), obj["metadata"]["name"]) for obj in objects
    ]


def hostile(end: str) -> str:
    return end.join(["hi", *OBJECT, *REST])


def instance(directory: Path, kind: str, **spec: JSON) -> str:
    """The file of an instance."""
    metadata = {"name": "default", "namespace": "team-a"}
    obj = {"apiVersion": "addons.x-k8s.io/v1alpha1", "kind": kind, "metadata": metadata, "spec": spec}
    directory.mkdir(exist_ok=True)
    file = directory / f"{kind}.json"
    file.write_text(json.dumps(obj))
    return str(file)


def attacked(
    capsys: pytest.CaptureFixture[str], directory: Path, kind: str, field: str, addons: str
) -> list[list[JSON]]:
    """The objects of an instance for each end, which are those of a harmless one."""
    files = (
        instance(directory / f"{number}", kind, **{field: text})
        for number, text in enumerate(["hi", *map(hostile, ENDS)])
    )
    objects = printed(capsys, "addon", "render", *files, "--addons-dir", addons, "-o", "json")
    size = len(objects) // (1 + len(ENDS))
    plain, *others = (objects[start : start + size] for start in range(0, len(objects), size))
    assert [identities(objects) for objects in others] == [identities(plain)] * len(ENDS)
    return others


TEXTS = [hostile("\n" if end == "\r\n" else end) for end in ENDS]
"""The hostile texts as YAML reads them."""


def test_a_corefile_stays_a_corefile(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    others = attacked(capsys, tmp_path, "CoreDNS", "corefile", str(TREE / "addons"))
    configs = [obj for objects in others for obj in objects if obj["kind"] == "ConfigMap"]
    assert [config["data"]["Corefile"].strip() for config in configs] == TEXTS


def test_settings_of_kube_proxy_stay_in_its_configuration(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Keys and values, which a hook writes as YAML into a text."""
    attack = "hi" + "".join(f"{end}---{end}a: b" for end in ENDS)
    flags = ("--addons-dir", str(TREE / "addons"), "-o", "json")
    plain, attacked = (
        printed(
            capsys, "addon", "render", instance(tmp_path, "KubeProxy", apiServer={"host": "api"}, config=spec), *flags
        )
        for spec in ({"hi": "hi"}, {attack: {attack: attack}})
    )
    assert identities(attacked) == identities(plain)
    [config] = [obj for obj in attacked if obj["kind"] == "ConfigMap"]
    assert yaml.safe_load(config["data"]["config.conf"])[attack] == {attack: attack}


def test_settings_of_the_dashboard_stay_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    settings = {"clusterName": "\x07\x7f".join(ENDS), "namespaceFallbackList": [hostile(end)[:60] for end in ENDS]}
    flags = ("--addons-dir", str(TREE / "addons"), "-o", "json")
    attacked = printed(capsys, "addon", "render", instance(tmp_path, "Dashboard", settings=settings), *flags)
    [config] = [obj for obj in attacked if obj["metadata"]["name"] == "kubernetes-dashboard-web-settings"]
    assert json.loads(config["data"]["settings"]) == settings


def test_a_greeting_stays_a_greeting(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run(["new", "addon", "web"], "hookrunner") == 0
    capsys.readouterr()
    for objects, expected in zip(attacked(capsys, tmp_path, "Web", "greeting", "addons"), TEXTS, strict=True):
        texts = [text for obj in objects for text in (obj.get("data") or {}).values()]
        assert any(expected in text for text in texts)


def test_a_value_of_a_module_stays_a_value(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    template = (
        "{{- range $number, $text := .Values.plain.texts }}\n---\n"
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: plain-{{ $number }}}\n"
        "data:\n  text: |\n    {{- $text | nindent 4 }}\n{{- end }}\n"
    )
    modules, config = tmp_path / "modules", tmp_path / "config.yaml"
    (modules / "010-plain/templates").mkdir(parents=True)
    (modules / "010-plain/templates/config.yaml").write_text(template)
    config.write_text(yaml.safe_dump({"plain": {"texts": [*map(hostile, ENDS)]}}))
    assert run(["module", "render", "plain", "--modules-dir", str(modules), "--config", str(config)], "hookrunner") == 0
    configs = list(yaml.safe_load_all(capsys.readouterr().out))
    assert [config["metadata"]["name"] for config in configs] == [f"plain-{number}" for number in range(len(ENDS))]
    assert [config["data"]["text"].strip() for config in configs] == TEXTS
