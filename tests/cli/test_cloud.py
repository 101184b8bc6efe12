"""`hookrunner cloud …`: how flags of upstream's manager are read, and what is printed."""

import json

import pytest

from hookrunner.cli.cloud.cloud_start import cloud_start
from hookrunner.cli.start import given
from hookrunner.settings import cloud_options
from tests.fakes.command_line import Command


@pytest.mark.parametrize(
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


def test_rbac_prints_objects_that_kubectl_applies(command: Command) -> None:
    ended = command("cloud", "rbac", "--controllers=cloud-node", "--service-account", "a/b", "-o", "json")
    items = json.loads(ended.out)["items"]
    assert [obj["kind"] for obj in items] == ["ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding"]
    assert items[1]["subjects"] == [{"kind": "ServiceAccount", "namespace": "a", "name": "b"}]
    assert command("cloud", "rbac").out.startswith("apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\n")


def test_rbac_wants_a_namespace_and_a_name(command: Command) -> None:
    assert "it takes NAMESPACE/NAME" in command("cloud", "rbac", "--service-account", "b").err
