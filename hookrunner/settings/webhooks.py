"""The settings of the webhook servers and of their registration (shell-operator.md §11.2)."""

from dataclasses import dataclass
from pathlib import Path

from hookrunner.options import (
    PATH,
    PATHS,
    PORT,
    TEXT,
    Option,
    setting,
)
from hookrunner.settings.groups import BARE


@dataclass(frozen=True, slots=True)
class ValidatingSettings:
    """The admission webhook server and its registration."""

    configuration: str = setting(
        Option(
            "validating-webhook-configuration-name",
            TEXT,
            "hookrunner-hooks",
            "Admission webhooks: name of the registration.",
            BARE,
            compat=("shell-operator-hooks", "hookrunner-hooks"),
        )
    )
    service: str = setting(
        Option(
            "validating-webhook-service-name",
            TEXT,
            "hookrunner-validating-svc",
            "Admission webhooks: the Service that leads to them.",
            BARE,
            compat=("shell-operator-validating-svc", "hookrunner-validating-svc"),
        )
    )
    cert: Path = setting(
        Option(
            "validating-webhook-server-cert",
            PATH,
            "/validating-certs/tls.crt",
            "Admission webhooks: server certificate.",
            BARE,
        )
    )
    key: Path = setting(
        Option("validating-webhook-server-key", PATH, "/validating-certs/tls.key", "Admission webhooks: its key.", BARE)
    )
    ca: Path = setting(
        Option("validating-webhook-ca", PATH, "/validating-certs/ca.crt", "Admission webhooks: the CA behind it.", BARE)
    )
    client_cas: tuple[Path, ...] = setting(
        Option(
            "validating-webhook-client-ca",
            PATHS,
            "",
            "Admission webhooks: CAs whose clients are let in; repeatable.",
            BARE,
        )
    )
    address: str = setting(
        Option("validating-webhook-listen-address", TEXT, "0.0.0.0", "Admission webhooks: address to listen on.", BARE)
    )
    port: int = setting(
        Option("validating-webhook-listen-port", PORT, "9680", "Admission webhooks: port to listen on.", BARE)
    )


@dataclass(frozen=True, slots=True)
class ConversionSettings:
    """The conversion webhook server."""

    service: str = setting(
        Option(
            "conversion-webhook-service-name",
            TEXT,
            "hookrunner-conversion-svc",
            "Conversion webhooks: the Service that leads to them.",
            BARE,
            compat=("shell-operator-conversion-svc", "hookrunner-conversion-svc"),
        )
    )
    cert: Path = setting(
        Option(
            "conversion-webhook-server-cert",
            PATH,
            "/conversion-certs/tls.crt",
            "Conversion webhooks: server certificate.",
            BARE,
        )
    )
    key: Path = setting(
        Option(
            "conversion-webhook-server-key", PATH, "/conversion-certs/tls.key", "Conversion webhooks: its key.", BARE
        )
    )
    ca: Path = setting(
        Option(
            "conversion-webhook-ca", PATH, "/conversion-certs/ca.crt", "Conversion webhooks: the CA behind it.", BARE
        )
    )
    client_cas: tuple[Path, ...] = setting(
        Option(
            "conversion-webhook-client-ca",
            PATHS,
            "",
            "Conversion webhooks: CAs whose clients are let in; repeatable.",
            BARE,
        )
    )
    address: str = setting(
        Option("conversion-webhook-listen-address", TEXT, "0.0.0.0", "Conversion webhooks: address to listen on.", BARE)
    )
    port: int = setting(
        Option("conversion-webhook-listen-port", PORT, "9681", "Conversion webhooks: port to listen on.", BARE)
    )
