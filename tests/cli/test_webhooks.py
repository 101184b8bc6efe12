"""`hookrunner webhooks …` on a real API server, after hookrunner has gone or while it runs. Level: control plane."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import orjson
import pytest

from hookrunner.cli import webhooks
from hookrunner.model.bindings import Admission, Hook, HookConfig
from hookrunner.registration.desired import Target, desired_registrations
from hookrunner.registration.reconcile import WriteStep, claim, next_step
from hookrunner.registration.webhook_objects import VALIDATING, TrustedCertificates, registrations
from kubesandbox.kinds import Kind
from kubesandbox.query.requests import DeleteParameters, Place, WriteParameters
from kubesandbox.verbs.bodies import Body
from kubesandbox.verbs.verbs import Verbs, Written
from tests.cli.served_sandbox import serve_in_thread
from tests.controlplane.cluster import Cluster
from tests.fakes.command_line import Command
from tests.fakes.installation import Installation


def test_remove_deletes_everything_of_an_installation(installation: Installation, command: Command) -> None:
    installation.register()
    assert len(installation.configurations()) == 2
    ended = command("webhooks", "remove", *installation.flags)
    assert (ended.code, ended.err) == (0, "")
    for kind in ("ValidatingWebhookConfiguration", "MutatingWebhookConfiguration"):
        assert f"{kind} {installation.name}: webhooks taken out\n" in ended.out
    assert f"CustomResourceDefinition {installation.definition_name}: conversion taken out\n" in ended.out
    assert installation.configurations() == []
    assert installation.conversion() == {"strategy": "None"}
    again = command("webhooks", "remove", *installation.flags)
    assert (again.code, again.err) == (0, "")
    assert "nothing of this installation is registered" in again.out


def test_dry_run_removes_nothing(installation: Installation, command: Command) -> None:
    installation.register()
    ended = command("webhooks", "remove", "--dry-run", *installation.flags)
    assert ended.code == 0
    assert f"ValidatingWebhookConfiguration {installation.name}: webhooks would be taken out" in ended.out
    assert len(installation.configurations()) == 2
    assert installation.conversion()["strategy"] == "Webhook"


def test_webhooks_that_lead_elsewhere_are_kept_and_reported(installation: Installation, command: Command) -> None:
    installation.register()
    ended = command("webhooks", "remove", *installation.flags, "--namespace=wrong")
    assert ended.code == 0
    where = f"Service {installation.namespace}/hooks/hooks/one-example-com and not to Service wrong/hooks"
    assert f"{installation.name}: left as it is, it leads to {where}; if that is this installation, add" in ended.out
    for kind in ("validating", "conversion"):
        flags = f"add --namespace {installation.namespace} --{kind}-webhook-service-name hooks\n"
        assert flags in ended.out
    assert len(installation.configurations()) == 2


def test_webhooks_with_a_url_are_removed_with_the_suggested_flag(installation: Installation, command: Command) -> None:
    url = f"https://{installation.name}.example.com"  # for all tests together, what leads to one URL is one's own
    replace(installation, url=url).register()
    left = command("webhooks", "remove", *installation.flags).out
    assert left.count(f"; if that is this installation, add --webhook-url {url}\n") == 3
    assert command("webhooks", "remove", *installation.flags, f"--webhook-url={url}").code == 0
    assert installation.configurations() == []


def test_list_shows_every_registration_of_hookrunner(installation: Installation, command: Command) -> None:
    installation.register()
    flag = f"--kube-config={installation.cluster.kubeconfig}"
    service = f"Service {installation.namespace}/hooks"
    lines = command("webhooks", "list", flag).out
    assert f"ValidatingWebhookConfiguration {installation.name}\n  one.example.com Fail → {service}/hooks/one-" in lines
    assert (
        f"CustomResourceDefinition {installation.definition_name}\n  → {service}/{installation.definition_name}\n"
        in lines
    )
    rows = orjson.loads(command("webhooks", "list", flag, "--output", "json").out)
    assert {
        "kind": "MutatingWebhookConfiguration",
        "name": installation.name,
        "webhooks": [
            {"name": "two.example.com", "failurePolicy": "Fail", "leadsTo": f"{service}/hooks/two-example-com"}
        ],
    } in rows


def test_missing_permission_is_named(
    installation: Installation, cluster: Cluster, namespace: str, command: Command
) -> None:
    installation.register()
    stranger = cluster.user("stranger", namespace)
    ended = command("webhooks", "remove", *installation.flags, f"--kube-config={stranger.kubeconfig}")
    assert ended.code == 1
    assert "resources: [validatingwebhookconfigurations], verbs: [create, list, update]" in ended.err
    assert len(installation.configurations()) == 2


@pytest.mark.parametrize(("again", "code"), [(True, 1), (False, 0)])
def test_exit_code_says_whether_a_registration_came_back(
    tmp_path: Path, command: Command, monkeypatch: pytest.MonkeyPatch, again: bool, code: int
) -> None:
    deleted = Verbs.delete

    async def delete(verbs: Verbs, kind: Kind, place: Place, parameters: DeleteParameters) -> Written:
        """As a running hookrunner repairs it."""
        written = await deleted(verbs, kind, place, parameters)
        if again:
            await verbs.create(kind, replace(place, name=""), WriteParameters(), Body(registered("hooks")))
        return written

    monkeypatch.setattr(webhooks, "_RETURN", 0.0)
    monkeypatch.setattr(Verbs, "delete", delete)
    names = [f"--{flag}=hooks" for flag in ("namespace", "validating-webhook-configuration-name")]
    with serve_in_thread(tmp_path, [registered("hooks")]) as served:
        ended = command("webhooks", "remove", served.flag, "--validating-webhook-service-name=hooks", *names)
    assert ended.err.count("Error") == again, ended.err
    assert "ValidatingWebhookConfiguration hooks: webhooks taken out\n" in ended.out
    assert (ended.code, "is back: a running hookrunner repairs it" in ended.err) == (code, again)


def registered(name: str) -> Any:
    """A configuration that leads to the Service hooks/hooks."""
    target = Target("", "hooks", "hooks")
    hook = Hook("h.sh", Path("/hooks/h.sh"), HookConfig("v1", validating=(Admission("one.example.com"),)))
    wanted = registrations(desired_registrations([hook], name, target, target))[0]
    step = next_step(wanted, None, TrustedCertificates(), claim(1.0))
    assert isinstance(step, WriteStep)
    return {"apiVersion": VALIDATING.api_version, "kind": VALIDATING.kind} | step.body


@pytest.mark.slow
def test_unreachable_cluster_is_named(command: Command, tmp_path: Path) -> None:
    (kubeconfig := tmp_path / "kubeconfig").write_text(
        '{"clusters": [{"name": "a", "cluster": {"server": "http://127.0.0.1:9"}}], "users": [], '
        '"contexts": [{"name": "a", "context": {"cluster": "a", "user": ""}}], "current-context": "a"}'
    )
    ended = command("webhooks", "list", f"--kube-config={kubeconfig}")
    assert ended.code == 1
    assert "127.0.0.1:9" in ended.err
