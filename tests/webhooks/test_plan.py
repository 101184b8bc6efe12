"""Which servers there are, and where the API server finds them. Level: pure."""

from pathlib import Path

import pytest

from hookrunner.errors import StartRefused
from hookrunner.model.bindings import Admission, ConversionBinding, Hook, HookConfig, ReviewKind
from hookrunner.options import Compat
from hookrunner.settings import Settings, load
from hookrunner.webhooks.plan import CertificateFiles, CertificateSecret, Surroundings, kinds, plan
from tests.tables import each

ADMISSION: frozenset[ReviewKind] = frozenset({"admission"})
BOTH: frozenset[ReviewKind] = frozenset({"admission", "conversion"})
POD = Surroundings("operators", in_pod=True)


def settings(**flags: str) -> Settings:
    return load({name.replace("_", "-"): value for name, value in flags.items()}, "hookrunner", {})


def test_hooks_decide_what_is_served() -> None:
    def hook(config: HookConfig) -> Hook:
        return Hook("a", Path("/a"), config)

    admission, conversion = Admission("a.b.c"), ConversionBinding("up", "crontabs.example.com", (("v1", "v2"),))
    assert kinds([hook(HookConfig("v1"))]) == frozenset()
    assert kinds([hook(HookConfig("v1", mutating=(admission,)))]) == {"admission"}
    assert (
        kinds([hook(HookConfig("v1", validating=(admission,))), hook(HookConfig("v1", conversions=(conversion,)))])
        == BOTH
    )


def test_each_kind_has_a_port_and_a_service_of_its_own() -> None:
    planned = plan(settings(), BOTH, POD)
    assert [(server.name, server.port) for server in planned.servers] == [("admission", 9680), ("conversion", 9681)]
    assert str(planned.admission) == "Service operators/hookrunner-validating-svc"
    assert str(planned.conversion) == "Service operators/hookrunner-conversion-svc"


def test_one_port_serves_both() -> None:
    (server,) = plan(settings(webhook_port="443"), BOTH, POD).servers
    assert (server.name, server.port, server.flag) == ("webhooks", 443, "--webhook-port")


def test_plan_names_the_way_to_a_server() -> None:
    both = plan(settings(webhook_port="443"), BOTH, POD)
    services = ("Service operators/hookrunner-validating-svc", "Service operators/hookrunner-conversion-svc")
    assert both.way_to(both.servers[0]) == ", ".join(services)
    apart = plan(settings(), BOTH, POD)
    assert [apart.way_to(server) for server in apart.servers] == list(services)
    by_url = plan(settings(webhook_url="https://10.0.0.7", webhook_port="443"), BOTH, Surroundings())
    assert by_url.way_to(by_url.servers[0]) == "https://10.0.0.7"


def test_configured_port_is_opened_without_hooks() -> None:
    (server,) = plan(settings(webhook_port="443", modules_dir=""), frozenset(), POD).servers
    assert (server.name, server.kinds) == ("webhooks", frozenset())


def test_shared_port_serves_both_kinds_if_modules_are_on() -> None:
    (server,) = plan(settings(webhook_port="443", modules_dir="/modules"), ADMISSION, POD).servers
    assert (server.name, server.kinds) == ("webhooks", BOTH)


def test_a_certificate_is_for_both_services_since_all_servers_share_it() -> None:
    (server,) = plan(settings(), ADMISSION, POD).servers
    assert "hookrunner-validating-svc.operators.svc" in server.names
    assert "hookrunner-conversion-svc.operators.svc" in server.names


def test_by_url_the_certificate_is_for_its_host() -> None:
    planned = plan(settings(webhook_url="https://10.0.0.7:9680"), ADMISSION, Surroundings())
    assert planned.servers[0].names == ("10.0.0.7",)
    assert planned.admission.url == "https://10.0.0.7:9680"
    assert planned.found_at(9680) == planned


def test_in_a_sandbox_one_free_port_of_this_machine_is_enough() -> None:
    planned = plan(settings(sandbox="true"), BOTH, Surroundings())
    (server,) = planned.servers
    assert (server.address, server.port, server.names) == ("127.0.0.1", 0, ("127.0.0.1",))
    assert planned.found_at(4711).conversion.url == "https://127.0.0.1:4711"


def test_outside_of_pods_a_url_or_namespace_is_required() -> None:
    with pytest.raises(StartRefused, match="--webhook-url https://HOST:PORT"):
        plan(settings(), BOTH, Surroundings("default"))
    assert plan(settings(namespace="mine"), BOTH, Surroundings("default")).admission.namespace == "mine"


def test_one_url_leads_to_one_port() -> None:
    url = {"webhook_url": "https://10.0.0.7"}
    with pytest.raises(StartRefused, match="give that port with --webhook-port"):
        plan(settings(**url), BOTH, Surroundings())
    assert len(plan(settings(**url, webhook_port="443"), BOTH, Surroundings()).servers) == 1


def test_certificates_are_in_files_if_there_are_files(tmp_path: Path) -> None:
    cert = tmp_path / "tls.crt"
    flags = {"validating_webhook_server_cert": str(cert)}
    (without,) = plan(settings(**flags), ADMISSION, POD).servers
    assert without.certificates == CertificateSecret("operators", "hookrunner-webhook-certs", own=True)
    cert.touch()
    (server,) = plan(settings(**flags), ADMISSION, POD).servers
    assert isinstance(server.certificates, CertificateFiles)
    (other,) = plan(settings(**flags, webhook_certs="secret:mine"), ADMISSION, POD).servers
    assert other.certificates == CertificateSecret("operators", "mine", own=False)


def test_certificate_files_that_cannot_be_examined_are_chosen(tmp_path: Path) -> None:
    flags = {"validating_webhook_server_cert": str(tmp_path / ("x" * 300))}
    (server,) = plan(settings(**flags), ADMISSION, POD).servers
    assert isinstance(server.certificates, CertificateFiles)


def test_a_predecessors_names_are_kept() -> None:
    planned = plan(load({}, Compat.SHELL, {}), BOTH, POD)
    assert planned.admission.service == "shell-operator-validating-svc"


@each(
    ("flags", "open_ports"),
    [
        ({}, ["--validating-webhook-client-ca", "--conversion-webhook-client-ca"]),
        ({"webhook_port": "443"}, ["--validating-webhook-client-ca"]),
        ({"validating_webhook_client_ca": "/ca"}, ["--conversion-webhook-client-ca"]),
        ({"validating_webhook_client_ca": "/ca", "webhook_port": "443"}, []),
        ({"validating_webhook_listen_address": "127.0.0.1", "conversion_webhook_listen_address": "::1"}, []),
        ({"sandbox": "true"}, []),
    ],
)
def test_ports_that_take_forged_reviews_are_known(flags: dict[str, str], open_ports: list[str]) -> None:
    servers = plan(settings(**flags), BOTH, POD).servers
    assert [server.client_ca_flag for server in servers if server.takes_forged_reviews] == open_ports
