"""Which webhook servers are needed, where they listen, how the API server finds them and where their certificates come
from: decided from the settings and from what the hooks declare. Pure, except for a check whether certificate files
exist.
"""

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from hookrunner import safe_files
from hookrunner.certificates.issuing import service_names, url_names
from hookrunner.errors import StartRefused
from hookrunner.model.bindings import Hook, ReviewKind
from hookrunner.registration.desired import Target, own_namespace, targets
from hookrunner.settings import ConversionSettings, Settings, ValidatingSettings
from kubetypes.foreign_pages import is_loopback
from kubetypes.light_dataclasses import dataclass

LOOPBACK = "127.0.0.1"
_BOTH: frozenset[ReviewKind] = frozenset({"admission", "conversion"})


@dataclass(frozen=True, slots=True)
class Surroundings:
    """In which surroundings the program runs: the namespace of its credentials, and whether those are a pod's."""

    namespace: str = ""
    in_pod: bool = False


@dataclass(frozen=True, slots=True)
class CertificateFiles:
    """Certificates in files."""

    cert: Path
    key: Path
    ca: Path

    def __str__(self) -> str:
        return f"{self.cert}, {self.key}, {self.ca}"


@dataclass(frozen=True, slots=True)
class CertificateSecret:
    """Certificates in a Secret; `own`: issued by us."""

    namespace: str
    name: str
    own: bool

    def __str__(self) -> str:
        return f"Secret {self.namespace}/{self.name}"


@dataclass(frozen=True, slots=True)
class ServerPlan:
    """One port. `flag` is the one by which the user would change it; `names` are those that its certificate must cover,
    as far as they are known before it listens."""

    kinds: frozenset[ReviewKind]
    address: str
    port: int
    flag: str
    client_cas: tuple[Path, ...]
    certificates: CertificateFiles | CertificateSecret
    names: tuple[str, ...]

    @property
    def name(self) -> str:
        """For logs and metrics."""
        return next(iter(self.kinds)) if len(self.kinds) == 1 else "webhooks"

    @property
    def takes_forged_reviews(self) -> bool:
        """May clients of other machines send reviews without a certificate?"""
        return not (self.client_cas or is_loopback(self.address))

    @property
    def client_ca_flag(self) -> str:
        """The flag that would refuse them."""
        return f"--{'conversion' if self.flag.startswith('--conversion-') else 'validating'}-webhook-client-ca"


@dataclass(frozen=True, slots=True)
class WebhookPlan:
    """The servers, and where the API server finds each kind. In a sandbox that is a port of this machine, known only
    when the server listens."""

    servers: tuple[ServerPlan, ...]
    admission: Target
    conversion: Target
    by_port: bool = False

    def way_to(self, server: ServerPlan) -> str:
        """The addresses by which the API server reaches a server, for a person."""
        targets = {"admission": self.admission, "conversion": self.conversion}
        return ", ".join(dict.fromkeys(str(targets[kind]) for kind in sorted(server.kinds)))

    def found_at(self, port: int) -> "WebhookPlan":
        """The plan with the port on which the server listens, where that matters."""
        if not self.by_port:
            return self
        url = f"https://{LOOPBACK}:{port}"
        return replace(self, admission=replace(self.admission, url=url), conversion=replace(self.conversion, url=url))


def kinds(hooks: Iterable[Hook]) -> frozenset[ReviewKind]:
    """The kinds of reviews that the hooks answer."""
    return frozenset(kind for hook in hooks for kind in hook.config.reviews)


def plan(settings: Settings, wanted: frozenset[ReviewKind], where: Surroundings) -> WebhookPlan:
    """Plan the servers. Raises StartRefused if the API server could not find us."""
    url, sandbox = settings.webhooks.url, settings.sandbox.enabled
    settings = _in_sandbox(settings) if sandbox and not url else settings
    namespace = own_namespace(settings, where.namespace)
    if not (url or sandbox):
        _check_service(settings, where)
    servers = _servers(settings, wanted, namespace)
    if url and len(servers) > 1:
        raise StartRefused(
            "--webhook-url leads to one port, and hooks declare both admission and conversion webhooks: "
            "give that port with --webhook-port"
        )
    return WebhookPlan(servers, *targets(settings, namespace), by_port=sandbox and not url)


def _in_sandbox(settings: Settings) -> Settings:
    """One port on the loopback address, any free one unless the user names one: no Service leads here."""
    webhooks = replace(settings.webhooks, port=settings.webhooks.port or 0)
    return replace(settings, webhooks=webhooks, validating=replace(settings.validating, address=LOOPBACK))


def _check_service(settings: Settings, where: Surroundings) -> None:
    if not (where.in_pod or settings.kube.namespace):
        raise StartRefused(
            "hooks declare webhooks, and this process is in no pod: say how the API server reaches it with "
            "--webhook-url https://HOST:PORT (and --webhook-port PORT), or name the namespace of the Services that "
            "lead here with --namespace"
        )


def _servers(settings: Settings, wanted: frozenset[ReviewKind], namespace: str) -> tuple[ServerPlan, ...]:
    shared_port = settings.webhooks.port
    if shared_port is not None:
        # Modules may come with any kind of webhook, and a port is opened only once.
        serves = _BOTH if settings.modules.on else wanted
        return (_server(settings, serves, namespace, settings.validating, (shared_port, "--webhook-port")),)
    servers = []
    if "admission" in wanted:
        port = (settings.validating.port, "--validating-webhook-listen-port")
        servers.append(_server(settings, frozenset({"admission"}), namespace, settings.validating, port))
    if "conversion" in wanted:
        port = (settings.conversion.port, "--conversion-webhook-listen-port")
        servers.append(_server(settings, frozenset({"conversion"}), namespace, settings.conversion, port))
    return tuple(servers)


def _server(
    settings: Settings,
    serves: frozenset[ReviewKind],
    namespace: str,
    own: ValidatingSettings | ConversionSettings,
    port: tuple[int, str],
) -> ServerPlan:
    source = settings.webhooks.certs
    files = CertificateFiles(own.cert, own.key, own.ca)
    use_files = source.kind == "files" or (source.kind == "auto" and safe_files.may_exist(own.cert))
    secret = CertificateSecret(namespace, source.secret, source.kind != "secret")
    return ServerPlan(
        serves,
        own.address,
        *port,
        own.client_cas,
        files if use_files else secret,
        _names(settings, namespace),
    )


def _names(settings: Settings, namespace: str) -> tuple[str, ...]:
    """One certificate is for both kinds of webhook, since replicas and both servers share it."""
    if settings.webhooks.url:
        return url_names(settings.webhooks.url)
    if settings.sandbox.enabled:
        return (LOOPBACK,)
    services = (settings.validating.service, settings.conversion.service)
    return tuple(name for service in services for name in service_names(service, namespace))
