"""`hookrunner module …` and `global …`: requests to a running hookrunner, and answers from files without one.

Level: pure."""

from pathlib import Path
from typing import Any

import orjson
import pytest
from click.shell_completion import ShellComplete

from hookrunner.cli.main import cli
from hookrunner.cli.modules.module_commands import table
from tests.fakes.command_line import Command, Endpoint

ROW = {
    "name": "dns",
    "weight": 10,
    "version": "",
    "state": "on",
    "by": "Static",
    "phase": "CanRunHelm",
    "ready": False,
    "reason": "dns: it\nfailed",
    "revision": 3,
    "since": 1000.0,
    "last_success": 0.0,
    "drift": [],
}


@pytest.mark.parametrize(
    ("words", "path"),
    [
        ("module list -o json", "/module/list.json"),
        ("module list -o text", "/module/list.text"),
        ("module values dns", "/module/dns/values.yaml"),
        ("module values dns -g -o json", "/module/dns/values.json?global=true"),
        ("module values dns --explain -o yaml", "/module/dns/values.yaml?explain=true"),
        ("module config dns --global", "/module/dns/config.yaml?global=true"),
        ("module config a/b", "/module/a%2Fb/config.yaml"),
        ("module patches dns -o json", "/module/dns/patches.json"),
        ("module snapshots dns", "/module/dns/snapshots.yaml"),
        ("module resource-monitor", "/module/resource-monitor.yaml"),
        ("module resource-monitor dns -o json", "/module/resource-monitor.json"),
        ("module graph", "/graph?format=text"),
        ("module graph -o dot", "/graph?format=dot"),
        ("global list", "/global/list.yaml"),
        ("global values -o json", "/global/values.json"),
        ("global config", "/global/config.yaml"),
        ("global patches", "/global/patches.yaml"),
        ("global snapshots", "/global/snapshots.yaml"),
    ],
)
def test_each_command_prints_what_its_path_answers(words: str, path: str, endpoint: Endpoint, command: Command) -> None:
    endpoint.answers[path] = "the answer"
    ended = command(*words.split(), "--debug-unix-socket", str(endpoint.socket))
    assert (ended.code, ended.out, ended.err) == (0, "the answer\n", "")
    assert endpoint.asked == [("GET", path, "")]


@pytest.mark.parametrize(("revision", "query"), [("", ""), (" 4", "?revision=4")])
def test_rollback_is_a_post(revision: str, query: str, endpoint: Endpoint, command: Command) -> None:
    endpoint.answers[f"/module/dns/rollback{query}"] = "dns is at revision 5 now"
    ended = command(*f"module rollback dns{revision} --debug-unix-socket {endpoint.socket}".split())
    assert (ended.code, ended.out) == (0, "dns is at revision 5 now\n")
    assert endpoint.asked == [("POST", f"/module/dns/rollback{query}", "")]


@pytest.mark.parametrize(("form", "extension"), [("", ""), (" -o json", ".json"), (" -o yaml", ".yaml")])
def test_adopt_is_a_post(form: str, extension: str, endpoint: Endpoint, command: Command) -> None:
    endpoint.answers[f"/module/dns/adopt{extension}"] = "d/ConfigMap/a (from release old/dns)"
    ended = command(*f"module adopt dns{form} --debug-unix-socket {endpoint.socket}".split())
    assert (ended.code, ended.out) == (0, "d/ConfigMap/a (from release old/dns)\n")
    assert endpoint.asked == [("POST", f"/module/dns/adopt{extension}", "")]


def test_unknown_module_ends_with_1(endpoint: Endpoint, command: Command) -> None:
    ended = command("module", "values", "nothing", "--debug-unix-socket", str(endpoint.socket))
    assert (ended.code, ended.out) == (1, "")


def test_list_names_hooks_that_never_run(endpoint: Endpoint, command: Command) -> None:
    row = ROW | {"ready": True, "lacks": ["hooks/discover.go"]}
    endpoint.answers["/module/list.json"] = orjson.dumps({"modules": [row]}).decode()
    ended = command("module", "list", "--debug-unix-socket", str(endpoint.socket))
    assert ended.out.endswith("\ndns: lacks hooks that are compiled into addon-operator: hooks/discover.go\n")


def test_list_is_a_table(endpoint: Endpoint, command: Command) -> None:
    endpoint.answers["/module/list.json"] = orjson.dumps({"modules": [ROW]}).decode()
    ended = command("module", "list", "--debug-unix-socket", str(endpoint.socket))
    title, row = ended.out.splitlines()
    assert title.split() == ["MODULE", "WEIGHT", "VERSION", "STATE", "PHASE", "REVISION", "SINCE", "WHY"]
    assert row.startswith("dns     10      -        on     CanRunHelm  3")
    assert row.endswith("dns: it failed")


def test_list_is_yaml_under_the_predecessors_name(endpoint: Endpoint, command: Command) -> None:
    endpoint.answers["/module/list.yaml"] = "enabledModules: []"
    flags = ("--debug-unix-socket", str(endpoint.socket))
    assert command("module", "list", *flags, program="addon-operator").out == "enabledModules: []\n"


def test_table_shows_age_refused_values_and_drift() -> None:
    bad: dict[str, Any] = {"refused": "dns: size must be of type integer", "drift": ["kube-system/ConfigMap/dns"]}
    bad["unknown_fields"] = ["kube-system/ConfigMap/dns: .datta (did you mean 'data'?)"]
    text = table([ROW | {"ready": True, **bad}], 1000.0 + 7300)
    assert " 2h " in text
    assert "it failed" not in text
    assert text.splitlines()[-3:] == [
        "dns: size must be of type integer; the last good values stay in use",
        "dns: not as applied: kube-system/ConfigMap/dns",
        "dns: the API server ignores fields that it does not know: kube-system/ConfigMap/dns: .datta (did you mean "
        "'data'?)",
    ]


# ── of files ──────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.fixture
def modules(tmp_path: Path) -> Path:
    """Two modules, of which `dns` has a schema and is turned on by `config.yaml` beside them."""
    files = {
        "modules/010-dns/openapi/config-values.yaml": "type: object\n"
        "properties: {replicas: {type: integer, default: 1}, token: {type: string}, zone: {type: string}}",
        "modules/010-dns/values.yaml": "dns: {zone: local}",
        "modules/020-web/enabled": '#!/bin/sh\necho true > "$MODULE_ENABLED_RESULT"\n',
        "modules/020-web/module.yaml": "requires: {modules: [dns]}",
        "config.yaml": "kind: ConfigMap\ndata: {dnsEnabled: 'true', dns: 'replicas: 2', webEnabled: 'true'}",
        "secret.yaml": "kind: Secret\nstringData: {dns: 'token: hidden'}",
        "sections.yaml": "dnsEnabled: true\ndns: {replicas: 3}",
    }
    for name, text in files.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    (tmp_path / "modules/020-web/enabled").chmod(0o755)
    return tmp_path


def test_list_of_files_shows_what_would_be_on_and_why(modules: Path, command: Command) -> None:
    asked = ("module", "list", "--modules-dir", str(modules / "modules"), "-o", "json")
    [dns, web] = orjson.loads(command(*asked).out)["modules"]
    assert (dns["state"], web["state"]) == ("off", "off")
    found = orjson.loads(command(*asked, "--config", str(modules / "config.yaml")).out)
    assert found["enabledModules"] == ["dns", "web"]
    assert [row["by"] for row in found["modules"]] == ["KubeConfig", "KubeConfig"]


def test_explain_names_the_layer_of_each_value(modules: Path, command: Command) -> None:
    config = [word for name in ("config", "secret") for word in ("--config", str(modules / f"{name}.yaml"))]
    ended = command("module", "values", "dns", "--explain", "--modules-dir", str(modules / "modules"), *config)
    assert [line.split(maxsplit=1) for line in ended.out.splitlines()] == [
        ["PATH", "SET BY       VALUE"],
        ["/dns/replicas", "ConfigMap    2"],
        ["/dns/token", 'Secret       "*** from the Secret"'],
        ["/dns/zone", 'values.yaml  "local"'],
    ]


def test_sections_may_be_plain_yaml(modules: Path, command: Command) -> None:
    flags = ("--modules-dir", str(modules / "modules"), "--config", str(modules / "sections.yaml"))
    assert command("module", "config", "dns", *flags).out == "replicas: 3\n"
    assert command("global", "config", *flags).out == "null\n"


def test_graph_of_files_shows_all_modules_without_a_config(modules: Path, command: Command) -> None:
    flags = ("--modules-dir", str(modules / "modules"))
    assert "requires dns" in command("module", "graph", *flags).out
    only_dns = command("module", "graph", *flags, "--config", str(modules / "sections.yaml")).out
    assert "off: nothing has turned it on" in only_dns


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        ("module values dn --modules-dir modules", 2, "there is no module 'dn'; did you mean 'dns'?"),
        (
            "module values dns --config bad.yaml --modules-dir modules",
            1,
            "dns: replicas must be of type integer, not string",
        ),
        ("module values dns --explain --global --modules-dir modules", 2, "hookrunner global values --explain"),
        ("module list --modules-dir nowhere", 2, "there is no directory 'nowhere'"),
        ("module list --config sections.yaml", 2, "give --modules-dir, too"),
        ("module list --modules-dir modules --config modules/020-web/enabled", 2, "sections are wanted"),
    ],
)
def test_unreadable_modules_are_reported(
    words: str, code: int, message: str, modules: Path, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    (modules / "bad.yaml").write_text("dns: {replicas: many}")
    monkeypatch.chdir(modules)
    ended = command(*words.split())
    assert (ended.code, ended.out) == (code, "")
    assert message in ended.err


@pytest.mark.parametrize(("typed", "found"), [("d", ["dns"]), ("", ["dns", "web"]), ("x", [])])
def test_shell_completion_completes_module_names(
    typed: str, found: list[str], modules: Path, endpoint: Endpoint
) -> None:
    of_files = ["module", "values", "--modules-dir", str(modules / "modules")]
    of_sockets = ["module", "rollback", "--debug-unix-socket", str(endpoint.socket)]
    endpoint.answers["/module/list.json"] = '{"modules": [{"name": "dns"}, {"name": "web"}]}'
    for words in (of_files, of_sockets, ["module", "adopt", *of_sockets[2:]]):
        completions = ShellComplete(cli, {}, "hookrunner", "_X").get_completions(words, typed)
        assert [item.value for item in completions] == found
