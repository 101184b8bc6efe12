"""Which value wins, and that every predecessor's name leads somewhere. How texts are read: `test_options.py`.

Level: pure."""

import os
from dataclasses import fields, is_dataclass
from pathlib import Path

import pytest

from hookrunner.errors import BadSetting
from hookrunner.options import Compat
from hookrunner.settings import CertificateSource, EngineSettings, Settings, WebSettings, load, options
from tests.tables import each

OURS = "hookrunner"

# Every flag of shell-operator with its variable.
SHELL_OPERATOR = """\
hooks-dir SHELL_OPERATOR_HOOKS_DIR
tmp-dir SHELL_OPERATOR_TMP_DIR
listen-address SHELL_OPERATOR_LISTEN_ADDRESS
listen-port SHELL_OPERATOR_LISTEN_PORT
prometheus-metrics-prefix SHELL_OPERATOR_PROMETHEUS_METRICS_PREFIX
namespace SHELL_OPERATOR_NAMESPACE
kube-context KUBE_CONTEXT
kube-config KUBE_CONFIG
kube-server KUBE_SERVER
kube-client-qps KUBE_CLIENT_QPS
kube-client-burst KUBE_CLIENT_BURST
object-patcher-kube-client-qps OBJECT_PATCHER_KUBE_CLIENT_QPS
object-patcher-kube-client-burst OBJECT_PATCHER_KUBE_CLIENT_BURST
object-patcher-kube-client-timeout OBJECT_PATCHER_KUBE_CLIENT_TIMEOUT
validating-webhook-configuration-name VALIDATING_WEBHOOK_CONFIGURATION_NAME
validating-webhook-service-name VALIDATING_WEBHOOK_SERVICE_NAME
validating-webhook-server-cert VALIDATING_WEBHOOK_SERVER_CERT
validating-webhook-server-key VALIDATING_WEBHOOK_SERVER_KEY
validating-webhook-ca VALIDATING_WEBHOOK_CA
validating-webhook-client-ca VALIDATING_WEBHOOK_CLIENT_CA
validating-webhook-failure-policy VALIDATING_WEBHOOK_FAILURE_POLICY
validating-webhook-listen-port VALIDATING_WEBHOOK_LISTEN_PORT
validating-webhook-listen-address VALIDATING_WEBHOOK_LISTEN_ADDRESS
conversion-webhook-service-name CONVERSION_WEBHOOK_SERVICE_NAME
conversion-webhook-server-cert CONVERSION_WEBHOOK_SERVER_CERT
conversion-webhook-server-key CONVERSION_WEBHOOK_SERVER_KEY
conversion-webhook-ca CONVERSION_WEBHOOK_CA
conversion-webhook-client-ca CONVERSION_WEBHOOK_CLIENT_CA
conversion-webhook-listen-port CONVERSION_WEBHOOK_LISTEN_PORT
conversion-webhook-listen-address CONVERSION_WEBHOOK_LISTEN_ADDRESS
log-level LOG_LEVEL
log-type LOG_TYPE
log-no-time LOG_NO_TIME
log-proxy-hook-json LOG_PROXY_HOOK_JSON
debug-unix-socket DEBUG_UNIX_SOCKET
debug-http-addr DEBUG_HTTP_SERVER_ADDR
debug-keep-tmp-files DEBUG_KEEP_TMP_FILES
debug-kubernetes-api DEBUG_KUBERNETES_API
""".splitlines()


# Those that addon-operator adds, with the names of its documents.
ADDON_OPERATOR = """\
modules-dir ADDON_OPERATOR_MODULES_DIR
modules-dir MODULES_DIR
global-hooks-dir ADDON_OPERATOR_GLOBAL_HOOKS_DIR
global-hooks-dir GLOBAL_HOOKS_DIR
unnumbered-modules-order ADDON_OPERATOR_UNNUMBERED_MODULES_ORDER
unnumbered-modules-order UNNUMBERED_MODULES_ORDER
tmp-dir ADDON_OPERATOR_TMP_DIR
namespace ADDON_OPERATOR_NAMESPACE
listen-address ADDON_OPERATOR_LISTEN_ADDRESS
listen-port ADDON_OPERATOR_LISTEN_PORT
prometheus-metrics-prefix ADDON_OPERATOR_PROMETHEUS_METRICS_PREFIX
config-map ADDON_OPERATOR_CONFIG_MAP
shell-chroot-dir ADDON_OPERATOR_SHELL_CHROOT_DIR
strict-check-values-mode-enabled ADDON_OPERATOR_STRICT_CHECK_VALUES_MODE_ENABLED
strict-check-values-mode-enabled STRICT_CHECK_VALUES_MODE_ENABLED
applied-module-extenders ADDON_OPERATOR_APPLIED_MODULE_EXTENDERS
crd-extra-labels ADDON_OPERATOR_CRD_EXTRA_LABELS
crd-filters ADDON_OPERATOR_CRD_FILTER_PREFIXES
helm-history-max HELM_HISTORY_MAX
helm-timeout HELM_TIMEOUT
helm-ignore-release HELM_IGNORE_RELEASE
helm-driver HELM_DRIVER
helm-monitor-kube-client-qps HELM_MONITOR_KUBE_CLIENT_QPS
helm-monitor-kube-client-burst HELM_MONITOR_KUBE_CLIENT_BURST
admission-server-listen-port ADDON_OPERATOR_ADMISSION_SERVER_LISTEN_PORT
admission-server-certs-dir ADDON_OPERATOR_ADMISSION_SERVER_CERTS_DIR
admission-server-enabled ADDON_OPERATOR_ADMISSION_SERVER_ENABLED
use-nelm USE_NELM
ha ADDON_OPERATOR_HA
""".splitlines()


@each("row", [*SHELL_OPERATOR, *ADDON_OPERATOR])
def test_every_flag_and_variable_of_a_predecessor_is_known(row: str) -> None:
    flag, variable = row.split()
    assert variable in {option.flag: option.variables for option in options()}[flag]


@each(
    ("flags", "environ", "port"),
    [
        ({}, {}, 9115),
        ({}, {"SHELL_OPERATOR_LISTEN_PORT": "1"}, 1),
        ({}, {"SHELL_OPERATOR_LISTEN_PORT": "1", "ADDON_OPERATOR_LISTEN_PORT": "2"}, 2),
        ({}, {"ADDON_OPERATOR_LISTEN_PORT": "2", "HOOKRUNNER_LISTEN_PORT": "3"}, 3),
        ({"listen-port": "4"}, {"HOOKRUNNER_LISTEN_PORT": "3"}, 4),
        ({}, {"HOOKRUNNER_LISTEN_PORT": "", "SHELL_OPERATOR_LISTEN_PORT": "1"}, 1),
    ],
)
def test_flag_beats_our_variable_beats_the_predecessors_beats_the_default(
    flags: dict[str, str], environ: dict[str, str], port: int
) -> None:
    assert load(flags, OURS, environ).web.port == port


@each(
    ("compat", "port", "prefix", "tmp_dir", "run"),
    [
        (Compat.SHELL, 9115, "shell_operator_", "/tmp/shell-operator", "/var/run/shell-operator"),
        (Compat.ADDON, 9650, "addon_operator_", "/tmp/addon-operator", "/var/run/addon-operator"),
    ],
)
def test_a_predecessors_defaults_come_by_its_program_name(
    compat: Compat, port: int, prefix: str, tmp_dir: str, run: str
) -> None:
    settings = load({}, str(compat), {})
    assert settings == load({"compat": compat}, OURS, {}) == load({}, OURS, {"HOOKRUNNER_COMPAT": compat})
    assert (settings.compat, settings.log.type) == (compat, "json")
    assert (settings.web.port, settings.web.metrics_prefix) == (port, prefix)
    sockets = (Path(run, "debug.socket"), Path(tmp_dir, "debug.socket"))
    assert (settings.hooks.tmp_dir, settings.web.debug_sockets) == (Path(tmp_dir), sockets)


def test_the_flag_compat_beats_the_program_name() -> None:
    assert load({"compat": "addon-operator"}, "shell-operator", {}).compat is Compat.ADDON


@each(
    ("flags", "environ", "words"),
    [
        ({"listen-port": "http"}, {}, ["--listen-port", "'http'", "a port number"]),
        ({}, {"LOG_LEVEL": "loud"}, ["LOG_LEVEL", "'loud'", "trace, debug, info, warn"]),
        ({}, {"HOOKRUNNER_SHUTDOWN_GRACE": "5"}, ["HOOKRUNNER_SHUTDOWN_GRACE", "'5'", "30s"]),
        ({"compat": "kopf"}, {}, ["--compat", "'kopf'", "shell-operator"]),
    ],
)
def test_a_bad_value_is_refused_by_its_name_value_and_what_is_allowed(
    flags: dict[str, str], environ: dict[str, str], words: list[str]
) -> None:
    with pytest.raises(BadSetting) as refused:
        load(flags, OURS, environ)
    assert all(word in str(refused.value) for word in words)


DEAD = ["--kube-server", "LOG_NO_TIME", "VALIDATING_WEBHOOK_FAILURE_POLICY", "USE_NELM", "--shell-chroot-dir"]


@each("given", DEAD)
def test_settings_without_effect_are_accepted_with_a_warning(given: str) -> None:
    flags, environ = ({given[2:]: "x"}, {}) if given.startswith("--") else ({}, {given: "x"})
    (warning,) = load(flags, OURS, environ).warnings
    assert warning.startswith(f"{given} has no effect")


@each(("word", "exported"), [("no", False), ("yes", True), ("false", False), ("true", True)])
def test_queue_action_metrics_are_left_out_by_the_predecessors_flag(word: str, exported: bool) -> None:
    assert load({}, OURS, {"QUEUE_ACTIONS_METRICS": word}).web.queue_actions is exported


def test_the_debug_socket_is_looked_for_in_three_places() -> None:
    sockets = load({}, OURS, {"XDG_RUNTIME_DIR": "/run/user/7"}).web.debug_sockets
    assert [str(path) for path in sockets[:2]] == [
        "/var/run/hookrunner/debug.socket",
        "/run/user/7/hookrunner/debug.socket",
    ]
    assert sockets[2] == load({}, OURS, {}).hooks.tmp_dir / "debug.socket"


def test_the_temp_dir_is_one_for_each_user() -> None:
    assert load({}, OURS, {}).hooks.tmp_dir.name == f"hookrunner-{os.getuid()}"


def test_hooks_inherit_the_environment_and_no_repr_shows_it() -> None:
    settings = load({}, OURS, {"PASSWORD": "hunter2"})
    assert settings.hooks.environ == {"PASSWORD": "hunter2"}
    assert "hunter2" not in repr(settings)


def test_groups_have_their_defaults_without_a_loader() -> None:
    assert (WebSettings().port, EngineSettings().shutdown_grace) == (9115, 25)
    assert Settings(log=load({}, OURS, {}).log).kube == load({}, OURS, {}).kube


def test_every_field_of_every_group_has_a_flag() -> None:
    groups = [field.type for field in fields(Settings) if isinstance(field.type, type) and is_dataclass(field.type)]
    bare = {f.name for group in groups for f in fields(group) if "option" not in f.metadata}
    assert bare == {"default", "derived", "environ", "optional", "run_directory", "text"}


def test_no_two_settings_share_a_flag_or_a_variable() -> None:
    names = [name for option in options() for name in (option.flag, *option.also, *option.variables)]
    assert len(names) == len(set(names))


@each(
    ("flags", "program", "name"),
    [
        ({}, OURS, "hookrunner-hooks"),
        ({}, "shell-operator", "shell-operator-hooks-hooks"),
        ({}, "addon-operator", "hookrunner-hooks"),
        ({"validating-webhook-configuration-name": "mine"}, OURS, "mine"),
        ({"validating-webhook-configuration-name": "mine"}, "shell-operator", "mine-hooks"),
    ],
)
def test_the_registration_of_webhooks_has_the_predecessors_name_only_in_its_place(
    flags: dict[str, str], program: str, name: str
) -> None:
    assert load(flags, program, {}).validating.configuration == name


def test_both_webhook_servers_have_the_same_settings_each_its_own() -> None:
    settings = load({"conversion-webhook-client-ca": "/a.crt,/b.crt"}, OURS, {"VALIDATING_WEBHOOK_LISTEN_PORT": "1"})
    assert (settings.validating.port, settings.conversion.port) == (1, 9681)
    assert (settings.validating.service, settings.conversion.service) == (
        "hookrunner-validating-svc",
        "hookrunner-conversion-svc",
    )
    assert (settings.validating.client_cas, settings.conversion.client_cas) == ((), (Path("/a.crt"), Path("/b.crt")))
    assert settings.conversion.key == Path("/conversion-certs/tls.key")


@each(
    ("text", "source"),
    [
        ("", CertificateSource("auto", "hookrunner-webhook-certs")),
        ("files", CertificateSource("files")),
        ("self", CertificateSource("self", "hookrunner-webhook-certs")),
        ("self:ours", CertificateSource("self", "ours")),
        ("secret:cert-manager.made", CertificateSource("secret", "cert-manager.made")),
    ],
)
def test_certificates_of_webhooks_come_from_where_the_flag_says(text: str, source: CertificateSource) -> None:
    assert load({"webhook-certs": text}, OURS, {}).webhooks.certs == source


@each("text", ["secret", "secret:", "self:", "Self", "files:/certs", "secret:Upper", "secret:a/b"])
def test_other_sources_of_certificates_are_refused_with_those_that_there_are(text: str) -> None:
    with pytest.raises(BadSetting, match=r"--webhook-certs: .*`self:<Secret>` or `secret:<Secret>`"):
        load({"webhook-certs": text}, OURS, {})


@each(
    ("text", "url"),
    [
        ("https://10.0.0.7:9680", "https://10.0.0.7:9680"),
        ("https://Hooks.example.com/", "https://hooks.example.com"),
        ("https://[fd00::7]:9680", "https://[fd00::7]:9680"),
        ("", ""),
    ],
)
def test_the_url_of_webhooks_is_a_base(text: str, url: str) -> None:
    assert load({"webhook-url": text}, OURS, {}).webhooks.url == url


@each(
    "text",
    [
        "http://host:9680",
        "host:9680",
        "https://",
        "https://:9680",
        "https://host:",
        "https://host:port",
        "https://host:70000",
        "https://host/path",
        "https://host//",
        "https://host?a=b",
        "https://host#a",
        "https://user@host",
        "https://ho st",
        "https://[fd00",
    ],
)
def test_a_url_that_the_api_server_could_not_take_as_a_base_is_refused(text: str) -> None:
    with pytest.raises(BadSetting, match=r"--webhook-url: .* it takes https:// and a host"):
        load({"webhook-url": text}, OURS, {})


def test_webhooks_have_bounds_by_default() -> None:
    webhooks = load({}, OURS, {}).webhooks
    assert (webhooks.port, webhooks.concurrency, webhooks.queue) == (None, 4 * (os.cpu_count() or 1), 1000)
    assert load({"webhook-port": "9443", "webhook-concurrency": "1"}, OURS, {}).webhooks.port == 9443


@each(
    ("flags", "address"),
    [
        ({}, "0.0.0.0"),
        ({"sandbox": "true"}, "127.0.0.1"),
        ({"sandbox": "true", "listen-address": "0.0.0.0"}, "0.0.0.0"),
        ({"sandbox": "true", "compat": "addon-operator"}, "127.0.0.1"),
    ],
)
def test_with_a_sandbox_only_this_machine_reaches_the_metrics(flags: dict[str, str], address: str) -> None:
    assert load(flags, "hookrunner", {}).web.address == address
