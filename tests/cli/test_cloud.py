"""`hookrunner cloud …`: how flags of upstream's manager are read, and what is printed. Level: sandbox."""

import json
import os
import re
import time
from dataclasses import asdict, replace
from pathlib import Path

import pytest

from hookrunner.cli.cloud.cloud_clean import cloud_clean, describe_plan
from hookrunner.cli.cloud.cloud_start import cloud_start
from hookrunner.cli.start import given
from hookrunner.model.cloud import (
    CallDump,
    CloudDump,
    CloudNodeDump,
    CloudServiceDump,
    DeletionDump,
    OrphanDump,
    ProviderDump,
)
from hookrunner.settings import cloud_options
from tests import launcher
from tests.cloud.shipped_addon import cleaning_objects
from tests.fakes.command_line import Command, Endpoint
from tests.tables import each

KUBECONFIG = {
    "clusters": [{"name": "none", "cluster": {"server": "http://127.0.0.1:9"}}],
    "contexts": [{"name": "none", "context": {"cluster": "none", "user": ""}}],
    "current-context": "none",
}
"""Of a cluster that does not answer: port 9 discards."""


@each(
    ("words", "flags"),
    [
        (["--leader-elect=false", "--kubeconfig", "a"], {"leader-elect": "false", "kube-config": "a"}),
        (
            ["--cloud-provider=x", "--use-service-account-credentials"],
            {
                "cloud-provider": "x",
                "use-service-account-credentials": "true",
            },
        ),
        (["--v=4"], {"v": "4"}),
        (["--configure-cloud-routes", "--leader-elect"], {"configure-cloud-routes": "true", "leader-elect": "true"}),
        (["-v", "4"], {"v": "4"}),
        (["--controllers", "*,-route", "--secure-port=0"], {"controllers": "*,-route", "secure-port": "0"}),
    ],
)
def test_flags_are_read_in_upstreams_spelling(words: list[str], flags: dict[str, str]) -> None:
    assert given(cloud_start.make_context("start", words)) == flags


def test_every_setting_of_the_cloud_is_a_flag() -> None:
    flags = {name for parameter in cloud_start.params for name in parameter.opts}
    assert {f"--{option.flag}" for option in cloud_options()} <= flags


def test_help_leaves_flags_out_that_do_nothing(command: Command) -> None:
    shown = command("cloud", "start", "--help").out
    assert "--node-delete-max-ratio" in shown
    assert "--tls-cert-file" not in shown


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        ("", "--cloud-provider: it is missing"),
        ("--cloud-provider x --cluster-cidr 10.0.0.0", "--cluster-cidr: '10.0.0.0' cannot be used"),
        ("--cloud-provider x --seed a", "--seed is for a sandbox only"),
        ("--cloud-provider x --hooks-dir a", "No such option '--hooks-dir'"),
    ],
)
def test_a_wrong_command_line_is_refused(words: str, reason: str, command: Command) -> None:
    ended = command("cloud", "start", *words.split())
    assert ended.code == 2
    assert reason in ended.err


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        ("", "--cloud-provider: it is missing"),
        ("--cloud-provider x --with-routes", "--cluster-cidr: it is missing"),
        ("--cloud-provider x --reserve soon", "'soon' is not a duration"),
    ],
)
def test_clean_refuses_a_wrong_command_line(words: str, reason: str, command: Command) -> None:
    ended = command("cloud", "clean", *words.split())
    assert (ended.code, reason in ended.err) == (2, True)


@each(
    ("has_services", "with_routes", "said"),
    [
        (False, False, "there is nothing to delete"),
        (True, False, "--yes deletes these, after"),
        (False, True, "--yes deletes the routes of the cluster, after"),
        (True, True, "--yes deletes these, and the routes of the cluster, after"),
    ],
)
def test_clean_says_what_it_would_delete(has_services: bool, with_routes: bool, said: str) -> None:
    assert said in describe_plan(has_services, with_routes)


def test_addon_gives_its_programs_flags_that_they_have() -> None:
    """Its Job that cleans up, too."""
    found = set()
    for obj in cleaning_objects():
        template = (obj or {}).get("spec", {}).get("template")
        for container in template["spec"]["containers"] if isinstance(template, dict) else ():
            assert container["args"][0] == "cloud"
            command, words = container["args"][1], container["args"][2:]
            {"start": cloud_start, "clean": cloud_clean}[command].make_context(command, [*words])
            found.add(command)
    assert found == {"start", "clean"}


def test_rbac_prints_objects_that_kubectl_applies(command: Command) -> None:
    ended = command("cloud", "rbac", "--controllers=cloud-node", "--service-account", "a/b", "-o", "json")
    items = json.loads(ended.out)["items"]
    assert [obj["kind"] for obj in items] == ["ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding"]
    assert items[1]["subjects"] == [{"kind": "ServiceAccount", "namespace": "a", "name": "b"}]
    assert command("cloud", "rbac").out.startswith("apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\n")


def test_rbac_wants_a_namespace_and_a_name(command: Command) -> None:
    assert "it takes NAMESPACE/NAME" in command("cloud", "rbac", "--service-account", "b").err


def a_state() -> CloudDump:
    """Moments that are shown in hours, whatever a busy machine takes until then."""
    now = time.time()
    return CloudDump(
        ProviderDump("/p/sim", "sim", ("instances", "routes"), now + 5000, "Throttled: 429 of the cloud"),
        leads=False,
        leader="other_1",
        loops=(("cloud-node-controller", ""), ("service-lb-controller", "services is forbidden")),
        nodes=(
            CloudNodeDump("a", "initialized", "sim://a", now - 1),
            CloudNodeDump("b", "uninitialized", "", now - 9000, "Unavailable: exit code 1"),
        ),
        deletions=(
            DeletionDump("c", 3, 3, True, "4 of 5 are gone at once"),
            DeletionDump("d", 1, 3, False, "2 more answers"),
        ),
        services=(CloudServiceDump("d", "web", "failed", ("192.0.2.1",), "Unavailable: no answer", now + 5000),),
        calls=(CallDump("instances", now - 9000, 0.05, "OK"),),
    )


def test_status_shows_what_holds_things_up(command: Command, endpoint: Endpoint) -> None:
    endpoint.answers["/cloud/status.json"] = json.dumps(asdict(a_state()))
    ended = command("cloud", "status", "--debug-unix-socket", str(endpoint.socket))
    assert ended.code == 0
    expected = """\
provider  sim (instances, routes)
          Throttled: 429 of the cloud
          paused for 1h: the cloud throttles
leader    other_1; ask it for deletions and Services
loop      cloud-node-controller
loop      service-lb-controller: services is forbidden
objects   2 Nodes, 1 Services

NODE  STATE          FOR  PROVIDER ID  WHY
b     uninitialized  2h                Unavailable: exit code 1

GONE  CONFIRMED  WHAT HOLDS ITS DELETION
c     3 of 3     held, `hookrunner cloud release` lets it go: 4 of 5 are gone at once
d     1 of 3     2 more answers

SERVICE  STATE   AGAIN IN  INGRESS    WHY
d/web    failed  1h        192.0.2.1  Unavailable: no answer

CALL       BEGAN   TOOK   RESULT  MESSAGE
instances  2h ago  0.05s  OK
"""
    assert ended.out.strip() == expected.strip()


def test_status_shows_the_last_ten_calls_and_with_all_every_one(command: Command, endpoint: Endpoint) -> None:
    calls = tuple(CallDump("instances", 0.0, 0.01, "OK", f"call {number}.") for number in range(50))
    endpoint.answers["/cloud/status.json"] = json.dumps(asdict(replace(a_state(), calls=calls)))
    words = ("cloud", "status", "--debug-unix-socket", str(endpoint.socket))
    assert re.findall(r"call (\d+)\.", command(*words).out) == [str(number) for number in range(40, 50)]
    assert len(re.findall(r"call \d+\.", command(*words, "--all").out)) == 50


def test_status_as_json_is_the_whole_state(command: Command, endpoint: Endpoint) -> None:
    state = json.loads(json.dumps(asdict(a_state())))
    endpoint.answers["/cloud/status.json"] = json.dumps(state)
    ended = command("cloud", "status", "-o", "json", "--debug-unix-socket", str(endpoint.socket))
    assert (ended.code, json.loads(ended.out)) == (0, state)


def test_release_tells_which_nodes_it_lets_go(command: Command, endpoint: Endpoint) -> None:
    endpoint.answers["/cloud/release"] = '{"released": ["a", "b"]}'
    assert command("cloud", "release", "--debug-unix-socket", str(endpoint.socket)).out == "released: a, b\n"
    assert endpoint.asked == [("POST", "/cloud/release", "")]


def test_release_as_json_is_what_was_answered(command: Command, endpoint: Endpoint) -> None:
    endpoint.answers["/cloud/release"] = '{"released": []}'
    assert command("cloud", "release", "-o", "json", "--debug-unix-socket", str(endpoint.socket)).out.strip() == (
        '{"released": []}'
    )


def test_orphans_are_a_table(command: Command, endpoint: Endpoint) -> None:
    orphan = OrphanDump("lb-1", "d/web", "uid-1", "the Service does not exist")
    endpoint.answers["/cloud/orphans.json"] = json.dumps({"orphans": [asdict(orphan)]})
    shown = command("cloud", "orphans", "--debug-unix-socket", str(endpoint.socket)).out.splitlines()
    assert [line.split()[0] for line in shown] == ["LOAD", "lb-1"]
    ended = command("cloud", "orphans", "-o", "json", "--debug-unix-socket", str(endpoint.socket))
    assert json.loads(ended.out) == {"orphans": [asdict(orphan)]}


@pytest.mark.parametrize("words", [("orphans",), ("orphans", "-o", "json"), ("status",), ("release",)])
def test_what_a_running_hookrunner_cannot_answer_is_one_plain_line(
    words: tuple[str, ...], command: Command, endpoint: Endpoint
) -> None:
    reason = "the provider 'tiny' does not answer lb-list: add the verb"
    for path in ("/cloud/orphans.json", "/cloud/status.json", "/cloud/release"):
        endpoint.refusals[path] = (500, f"{reason}\n")
    ended = command("cloud", *words, "--debug-unix-socket", str(endpoint.socket))
    assert (ended.code, ended.out, ended.err) == (1, "", f"Error: {reason}\n")


@pytest.mark.usefixtures("launcher")
def test_a_provider_that_cannot_be_started_ends_the_start(tmp_path: Path) -> None:
    config = tmp_path / "config"
    config.write_text(json.dumps(KUBECONFIG))
    places = [f"--tmp-dir={tmp_path}", f"--debug-unix-socket={tmp_path}/debug.socket", "--listen-port=0"]
    words = ["cloud", "start", f"--cloud-provider={tmp_path}/missing", *places]
    ended = launcher.run(words, cwd=tmp_path, env=os.environ | {"KUBECONFIG": str(config)})
    assert ended.returncode == 1
    assert f"Error: --cloud-provider {tmp_path}/missing: the file is not there" in ended.stderr
