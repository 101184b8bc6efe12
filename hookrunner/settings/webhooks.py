"""The settings of webhooks: the two servers, where their certificates come from, and how reviews get to them.

Flags and defaults of the servers are the predecessor's; `WebhookSettings` is ours.
"""

import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Literal
from urllib.parse import urlsplit

from hookrunner.options import (
    COUNT,
    COUNT_FROM_1,
    MAYBE_PORT,
    MEMORY,
    PATH,
    PATHS,
    PORT,
    SIZE_FROM_1,
    TEXT,
    Compat,
    Memory,
    OptionType,
    setting,
)
from hookrunner.settings.groups import BARE, four_for_each_cpu
from kubetypes.light_dataclasses import dataclass

SECRET = "hookrunner-webhook-certs"
"""Where the certificates are kept that we make ourselves, if no other Secret is named."""

_TITLES = {"validating": "Admission webhooks", "conversion": "Conversion webhooks"}
_SHARED: Mapping[str, tuple[OptionType, str, str]] = {
    "service-name": (
        TEXT,
        "hookrunner-{}-svc",
        "the Service in our namespace, port 443, by which the API server reaches them.",
    ),
    "server-cert": (
        PATH,
        "/{}-certs/tls.crt",
        "server certificate, PEM, with the intermediate ones; read again when it changes. With --webhook-certs files.",
    ),
    "server-key": (PATH, "/{}-certs/tls.key", "the key of that certificate, PEM."),
    "ca": (
        PATH,
        "/{}-certs/ca.crt",
        "the CA that signed the certificate, PEM; it is registered with the webhooks, so that the API server trusts "
        "it.",
    ),
    "client-ca": (
        PATHS,
        "",
        "CAs, PEM; if there are any, only clients with a certificate of these CAs are let in; repeatable.",
    ),
    "listen-address": (TEXT, "0.0.0.0", "address to listen on."),
    "listen-port": (PORT, "", "port to listen on, unless there is a --webhook-port."),
}
"""Settings that each of the servers has: what they take, their default with {} for the server, what they are. A
predecessor's user has the name of the Service in manifests."""


def _of(server: str, name: str, default: str = "") -> tuple[str, OptionType, str, str, tuple[str, ...]]:
    """The option of one of the servers; `default` if that is another for each."""
    kind, usual, text = _SHARED[name]
    flag = f"{server}-webhook-{name}"
    return flag, kind, default or usual.format(server), f"{_TITLES[server]}: {text}", BARE


@dataclass(frozen=True, slots=True)
class ServerSettings:
    """One of the two servers: the Service that leads to it, its certificate in files, and where it listens."""

    service: str
    cert: Path
    key: Path
    ca: Path
    client_cas: tuple[Path, ...]
    address: str
    port: int


@dataclass(frozen=True, slots=True)
class ValidatingSettings(ServerSettings):
    """The admission webhook server, of validating and mutating webhooks. `configuration` is the name that their two
    registrations have in the cluster."""

    service: str = setting(
        *_of("validating", "service-name"), compat=("shell-operator-validating-svc", "hookrunner-validating-svc")
    )
    cert: Path = setting(*_of("validating", "server-cert"))
    key: Path = setting(*_of("validating", "server-key"))
    ca: Path = setting(*_of("validating", "ca"))
    client_cas: tuple[Path, ...] = setting(*_of("validating", "client-ca"))
    address: str = setting(*_of("validating", "listen-address"))
    port: int = setting(*_of("validating", "listen-port", "9680"))
    configuration: str = setting(
        "validating-webhook-configuration-name",
        TEXT,
        "hookrunner-hooks",
        "Admission webhooks: name of their registrations, which no other program in the cluster may use. Under "
        "--compat shell-operator `-hooks` is added to it.",
        BARE,
        compat=("shell-operator-hooks", "hookrunner-hooks"),
    )

    def under(self, compat: Compat | None) -> "ValidatingSettings":
        """With the name of the registration as that program makes it of the setting."""
        return replace(self, configuration=f"{self.configuration}-hooks") if compat is Compat.SHELL else self


@dataclass(frozen=True, slots=True)
class ConversionSettings(ServerSettings):
    """The conversion webhook server."""

    service: str = setting(
        *_of("conversion", "service-name"), compat=("shell-operator-conversion-svc", "hookrunner-conversion-svc")
    )
    cert: Path = setting(*_of("conversion", "server-cert"))
    key: Path = setting(*_of("conversion", "server-key"))
    ca: Path = setting(*_of("conversion", "ca"))
    client_cas: tuple[Path, ...] = setting(*_of("conversion", "client-ca"))
    address: str = setting(*_of("conversion", "listen-address"))
    port: int = setting(*_of("conversion", "listen-port", "9681"))


@dataclass(frozen=True, slots=True)
class CertificateSource:
    """Where certificates come from: `files` of each server's settings, `self` for those that we make and keep in the
    Secret, `secret` for those that another program (cert-manager) keeps in it; `auto` is `files` for a server whose
    files are there, and `self` otherwise."""

    kind: Literal["auto", "files", "self", "secret"]
    secret: str = SECRET


_NAME = r"[a-z0-9](?:[-a-z0-9.]{0,251}[a-z0-9])?"


def _source(text: str) -> CertificateSource:
    if text in ("", "files"):
        return CertificateSource("files" if text else "auto")
    if not (named := re.fullmatch(rf"(self)(?::({_NAME}))?|(secret):({_NAME})", text)):
        raise ValueError(text)
    return CertificateSource("self", named[2] or SECRET) if named[1] else CertificateSource("secret", named[4])


def _url(text: str) -> str:
    """Source: https://kubernetes.io/docs/reference/access-authn-authz/extensible-admission-controllers/#url"""
    if not text:
        return ""
    url = urlsplit(text)
    host = f"[{url.hostname}]" if ":" in (url.hostname or "") else url.hostname
    base = f"https://{host}" + (f":{url.port}" if url.port is not None else "")
    if not re.fullmatch(r"[][a-z0-9.:-]+", host or "") or text.lower().removesuffix("/") != base:
        raise ValueError(text)
    return base


CERTS = OptionType("SOURCE", "nothing, `files`, `self`, `self:<Secret>` or `secret:<Secret>`", _source)
URL = OptionType(
    "URL", "https:// and a host, with a port or without, and nothing after it: https://10.0.0.7:9680", _url
)


@dataclass(frozen=True, slots=True)
class WebhookSettings:
    """What both servers share. `port` None is each on its own; `url` "" is by their Services; `concurrency` is how many
    reviews are worked on at once, `queue` how many more may wait."""

    certs: CertificateSource = setting(
        "webhook-certs",
        CERTS,
        "",
        "Webhooks: where certificates come from. `files`: those of --validating-webhook-server-cert and the like. "
        f"`self`: made and renewed by us, kept in the Secret {SECRET} or the one that is named. `secret:<Secret>`: "
        "a Secret that cert-manager writes. Without it: files if they are there, else self.",
    )
    port: int | None = setting(
        "webhook-port",
        MAYBE_PORT,
        "",
        "Webhooks: one port for both kinds, on the address, with the files and the client CAs of admission webhooks.",
    )
    url: str = setting(
        "webhook-url",
        URL,
        "",
        "Webhooks: how the API server reaches us where no Service does, outside the cluster. It has to lead to the "
        "port that we listen on, --webhook-port; with both kinds it takes that flag.",
    )
    concurrency: int = setting(
        "webhook-concurrency",
        COUNT_FROM_1,
        "4 for each CPU",
        "Webhooks: how many reviews of each kind, admission and conversion, run a hook at once.",
        found=four_for_each_cpu,
    )
    queue: int = setting(
        "webhook-queue", COUNT, "1000", "Webhooks: how many reviews may wait; above it the answer is 429."
    )
    memory: Memory = setting(
        "webhook-memory",
        MEMORY,
        "33%",
        "Webhooks: memory for the bodies of all reviews that are answered or wait, one half as they came and one "
        "for what is parsed; above it the answer is 429. A share is of the memory limit of our control group, or "
        "of 2Gi if it has none.",
    )
    admission_body: int = setting(
        "webhook-admission-body",
        SIZE_FROM_1,
        "5Mi",
        "Webhooks: the largest admission review; above it, or if parsing it would take more than four times as "
        "much, the answer is 413.",
    )
    conversion_body: int = setting(
        "webhook-conversion-body",
        SIZE_FROM_1,
        "64Mi",
        "Webhooks: the largest conversion review, which may have all objects of a kind; above it the answer is 413. "
        "Half of --webhook-memory is a limit, too.",
    )
