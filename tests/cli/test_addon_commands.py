"""`hookrunner addon …` on a running hookrunner: which pages the commands ask for, what they print, how they end.

Level: pure."""

from pathlib import Path

import orjson
import pytest
from click.shell_completion import ShellComplete

from hookrunner.cli.main import cli
from tests.fakes.command_line import Command, Endpoint

ROW = {
    "addon": "coredns",
    "namespace": "kube-system",
    "name": "default",
    "version": "1.14.6",
    "phase": "Current",
    "message": "version 1.14.6 is installed and works",
    "healthy": True,
    "available": "",
    "revision": 2,
    "pinned": False,
    "created": 1.0,
    "objects": {"Current": 6},
}
TROUBLE = ROW | {
    "namespace": "other",
    "phase": "Conflict",
    "message": "kube-system/default\nis older",
    "healthy": False,
    "objects": {},
    "version": "",
    "revision": 0,
    "available": "1.15.0",
}
ADDONS = str(Path(__file__).parents[2] / "addons")
COREDNS = f"{ADDONS}/coredns/example.yaml"


def at(endpoint: Endpoint) -> tuple[str, str]:
    return "--debug-unix-socket", str(endpoint.socket)


def test_list_is_a_table_of_instances(endpoint: Endpoint, command: Command) -> None:
    rejected = [{"name": "bad", "problem": "no kind"}]
    shown = {"addons": [{"name": "coredns"}], "instances": [ROW, TROUBLE], "rejected": rejected}
    endpoint.answers["/addon/list.json"] = orjson.dumps(shown).decode()
    ended = command("addon", "list", *at(endpoint))
    titles, current, conflict = ended.out.splitlines()
    assert titles.split()[:3] == ["INSTANCE", "NAMESPACE", "VERSION"]
    assert current.split()[:5] == ["coredns/default", "kube-system", "1.14.6", "Current", "6/6"]
    assert current.endswith("-")
    assert conflict.split()[:6] == ["coredns/default", "other", "-", "Conflict", "-", "1.15.0"]
    assert conflict.endswith("kube-system/default is older")
    assert ended.err == "rejected: bad: no kind\n"


def test_list_says_since_when_the_api_server_shows_nothing(endpoint: Endpoint, command: Command) -> None:
    shown = {"instances": [row | {"unseen_since": 1795809354.0} for row in (ROW, TROUBLE)], "rejected": []}
    endpoint.answers["/addon/list.json"] = orjson.dumps(shown).decode()
    _, current, conflict = command("addon", "list", *at(endpoint)).out.splitlines()
    assert current.endswith("not seen since 2026-11-27T19:55:54Z")
    assert conflict.endswith("not seen since 2026-11-27T19:55:54Z; kube-system/default is older")


def test_list_says_why_an_older_version_runs(endpoint: Endpoint, command: Command) -> None:
    shown = {"instances": [ROW | {"pinned": True, "message": "brought back on request"}], "rejected": []}
    endpoint.answers["/addon/list.json"] = orjson.dumps(shown).decode()
    assert command("addon", "list", *at(endpoint)).out.endswith("brought back on request\n")


@pytest.mark.parametrize(
    ("arguments", "asked"),
    [
        (("list", "-o", "yaml"), "GET /addon/list.yaml"),
        (("values", "coredns/default"), "GET /addon/coredns/default/values.yaml"),
        (
            ("values", "coredns/default", "-n", "kube-system", "-o", "json", "-g"),
            "GET /addon/coredns/default/values.json?namespace=kube-system&global=true",
        ),
        (("config", "coredns/default"), "GET /addon/coredns/default/config.yaml"),
        (("patches", "coredns/default", "-o", "json"), "GET /addon/coredns/default/patches.json"),
        (("objects", "coredns/default", "-o", "json"), "GET /addon/coredns/default/objects.json"),
        (("snapshots", "coredns/default"), "GET /addon/coredns/default/snapshots.yaml"),
        (("render", "coredns/default"), "GET /addon/coredns/default/render"),
        (("render", "-n", "a", "coredns/default"), "GET /addon/coredns/default/render?namespace=a"),
        (("rollback", "coredns/default"), "POST /addon/coredns/default/rollback"),
        (("rollback", "coredns/default", "4"), "POST /addon/coredns/default/rollback?revision=4"),
    ],
)
def test_commands_print_what_their_page_answers(
    arguments: tuple[str, ...], asked: str, endpoint: Endpoint, command: Command
) -> None:
    method, path = asked.split()
    endpoint.answers[path] = "answer\n"
    ended = command("addon", *arguments, *at(endpoint))
    assert (ended.code, ended.out, [line[:2] for line in endpoint.asked]) == (0, "answer\n", [(method, path)])


def test_objects_are_a_table_with_their_health(endpoint: Endpoint, command: Command) -> None:
    rows = [
        {"object": "Service dns/a", "status": "Current", "message": ""},
        {"object": "Deployment dns/a", "status": "InProgress", "message": "0 of 1 ready"},
    ]
    endpoint.answers["/addon/coredns/default/objects.json"] = orjson.dumps({"objects": rows}).decode()
    ended = command("addon", "objects", "coredns/default", *at(endpoint))
    assert [line.split(maxsplit=3) for line in ended.out.splitlines()] == [
        ["OBJECT", "STATUS", "WHY"],
        ["Service", "dns/a", "Current", "-"],
        ["Deployment", "dns/a", "InProgress", "0 of 1 ready"],
    ]


def test_explained_values_are_a_table(endpoint: Endpoint, command: Command) -> None:
    row = {"path": "/coredns/replicas", "layer": "spec", "value": 2}
    endpoint.answers["/addon/coredns/default/values.json?explain=true"] = orjson.dumps([row]).decode()
    ended = command("addon", "values", "coredns/default", "--explain", *at(endpoint))
    assert [line.split() for line in ended.out.splitlines()] == [
        ["PATH", "SET", "BY", "VALUE"],
        ["/coredns/replicas", "spec", "2"],
    ]


@pytest.mark.parametrize(("difference", "code"), [("No diff found\n", 0), ("+ a: 1\n", 3)])
def test_diff_ends_with_3_if_something_would_change(
    difference: str, code: int, endpoint: Endpoint, command: Command
) -> None:
    endpoint.answers["/addon/coredns/default/render?diff=true"] = difference
    assert command("addon", "render", "coredns/default", "--diff", *at(endpoint)).code == code


def test_render_as_json_is_a_list(endpoint: Endpoint, command: Command) -> None:
    objects = (
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n---\napiVersion: v1\nkind: Secret\nmetadata: {name: b}\n"
    )
    endpoint.answers["/addon/coredns/default/render"] = objects
    shown = orjson.loads(command("addon", "render", "coredns/default", "-o", "json", *at(endpoint)).out)
    assert (shown["kind"], [obj["kind"] for obj in shown["items"]]) == ("List", ["ConfigMap", "Secret"])


def test_versions_of_a_running_hookrunner_are_those_for_its_cluster(endpoint: Endpoint, command: Command) -> None:
    version = {"version": "1.14.6", "kubernetes": ">=1.28", "digest": "sha256:" + "a" * 64, "fits": True}
    offer = {"addon": "coredns", "channels": {"stable": "1.14.6"}, "problems": {"next": "down"}, "versions": [version]}
    endpoint.answers["/addon/coredns/versions.json?channel=next"] = orjson.dumps(offer).decode()
    ended = command("addon", "versions", "coredns", "--channel", "next", *at(endpoint))
    assert ended.out.splitlines()[1].split() == ["1.14.6", ">=1.28", "yes", "stable", "sha256:aaaaaaaaaaaa"]
    assert ended.err == "down\n"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("values", "coredns"), "'coredns' is not ADDON/NAME"),
        (("values", "a/b/c"), "'a/b/c' is not ADDON/NAME"),
        (("render", COREDNS), "to render files, give --addons-dir DIR"),
        (("render", "a/b", "c/d"), "to render files, give --addons-dir DIR"),
        (("render", "a/b", "--given", "x.yaml"), "flags about a cluster are for looking at files"),
        (("render", "a/b", "--addon-patches", "all"), "flags about a cluster are for looking at files"),
        (("versions", "a", "--kube-version", "1.33"), "flags about a cluster are for looking at files"),
        (("list", "--addon-source", "/x"), "--addon-source is for looking at files"),
        (("list", "--addon-keys", "/x"), "--addon-keys is for looking at files"),
        (("render", COREDNS, "-n", "a", "--addons-dir", ADDONS), "-n is about a running hookrunner"),
        (("crd",), "give --addons-dir DIR"),
        (("rollback", "a/b", "0"), "0 is not in the range"),
        (("values", "a/b", "--explain", "-g"), "--explain is about one section"),
        (("list", "--addons-dir", ADDONS, "--addon-source", "ftp://x"), "--addon-source"),
        (("list", "--addons-dir", ADDONS, "--addon-source", "core-dns=/x"), "did you mean 'coredns'?"),
    ],
)
def test_bad_usage_ends_with_2(arguments: tuple[str, ...], message: str, command: Command) -> None:
    ended = command("addon", *arguments)
    assert (ended.code, ended.out) == (2, "")
    assert message in ended.err


def test_failed_command_says_why(endpoint: Endpoint, command: Command) -> None:
    ended = command("addon", "values", "coredns/nope", *at(endpoint))
    assert (ended.code, ended.out) == (1, "")
    assert "404" in ended.err


@pytest.mark.parametrize(
    ("words", "typed", "offered"),
    [
        (["addon", "values"], "coredns/", ["coredns/default"]),
        (["addon", "render"], "c", ["coredns/default"]),
        (["addon", "values", "coredns/default", "-n"], "", ["kube-system", "other"]),
        (["addon", "values", "-n", "nowhere"], "", []),
        (["addon", "versions"], "", ["coredns", "dashboard"]),
        (["addon", "rollback", "coredns/default"], "", ["1", "2"]),
        (["addon", "crd", "--addons-dir", ADDONS], "core", ["coredns"]),
        (["addon", "abandon"], "x", []),
    ],
)
def test_completion_offers_addons_instances_and_revisions(
    words: list[str], typed: str, offered: list[str], endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOOKRUNNER_DEBUG_UNIX_SOCKET", str(endpoint.socket))
    shown = {"addons": [{"name": "coredns"}, {"name": "dashboard"}], "instances": [ROW, TROUBLE]}
    revisions = [{"revision": number, "version": "1.14.2", "status": "superseded"} for number in (1, 2)]
    endpoint.answers["/addon/list.json"] = orjson.dumps(shown).decode()
    endpoint.answers["/addon/coredns/default/revisions.json"] = orjson.dumps({"revisions": revisions}).decode()
    completions = ShellComplete(cli, {}, "hookrunner", "_X").get_completions(words, typed)
    assert [item.value for item in completions] == offered


def test_completion_tells_the_version_of_a_revision(endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOOKRUNNER_DEBUG_UNIX_SOCKET", str(endpoint.socket))
    page = "/addon/coredns/default/revisions.json?namespace=kube-system"
    endpoint.answers[page] = '{"revisions": [{"revision": 3, "version": "1.14.2", "status": "deployed"}]}'
    words = ["addon", "rollback", "-n", "kube-system", "coredns/default"]
    [item] = ShellComplete(cli, {}, "hookrunner", "_X").get_completions(words, "")
    assert (item.value, item.help) == ("3", "1.14.2, deployed")


def test_completion_is_silent_without_a_running_hookrunner(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOOKRUNNER_DEBUG_UNIX_SOCKET", str(tmp_path / "nothing"))
    complete = ShellComplete(cli, {}, "hookrunner", "_X")
    assert [complete.get_completions(["addon", "values"], typed) for typed in ("", "c")] == [[], []]


@pytest.mark.parametrize(
    "name",
    [
        "list",
        "values",
        "config",
        "render",
        "rollback",
        "objects",
        "patches",
        "snapshots",
        "versions",
        "crd",
        "abandon",
        "lint",
        "test",
        "images",
        "mirror",
        "seal",
    ],
)
def test_help_has_examples(name: str, command: Command) -> None:
    assert f"hookrunner addon {name}" in command("addon", name, "--help").out
