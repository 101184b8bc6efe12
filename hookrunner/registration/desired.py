"""What the hooks want the API server to send them: entries of webhook configurations and conversions of CRDs.

Every field is written out, also those that the API server would fill in, so that it returns the same.
Source: https://kubernetes.io/docs/reference/kubernetes-api/extend-resources/validating-webhook-configuration-v1/
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field

from hookrunner.model.bindings import Admission, Hook
from hookrunner.model.reviews import admission_path, conversion_path, webhook_id, webhook_name
from hookrunner.settings import Settings
from kubetypes.json_values import JSON
from kubetypes.light_dataclasses import dataclass

_REVIEWS = ("v1", "v1beta1")
_PORT = 443


@dataclass(frozen=True, slots=True)
class Target:
    """Where the API server finds one of our servers: at `url`, or if that is empty at a Service's port 443."""

    url: str
    namespace: str
    service: str

    def __str__(self) -> str:
        return self.url or f"Service {self.namespace}/{self.service}"

    def client_config(self, path: str) -> JSON:
        """The `clientConfig` of a path, without certificates."""
        if self.url:
            return {"url": self.url.rstrip("/") + path}
        return {"service": {"namespace": self.namespace, "name": self.service, "path": path, "port": _PORT}}

    def path(self, client_config: JSON) -> str:
        """The path that a client configuration leads to here, empty if it leads elsewhere."""
        base, url = self.url.rstrip("/"), client_config.get("url", "")
        service = client_config.get("service") or {}
        if base:
            return str(url[len(base) :]) if url.startswith(f"{base}/") else ""
        ours = (service.get("namespace"), service.get("name")) == (self.namespace, self.service)
        return str(service.get("path", "")) if ours else ""


@dataclass(frozen=True, slots=True)
class DesiredRegistrations:
    """What should be registered in the cluster. `configuration` is the name of both webhook configurations.

    `conversions` has the `spec.conversion` by the name of its CRD. `clashes` are bindings that another one displaces,
    as sentences. `incomplete`: not all hooks could be asked, so that nothing is removed except webhooks of the units
    in `sure` ("" for hooks without one), whose hooks are all known.
    """

    configuration: str
    admission: Target
    conversion: Target
    validating: tuple[JSON, ...] = ()
    mutating: tuple[JSON, ...] = ()
    conversions: Mapping[str, JSON] = field(default_factory=dict)
    clashes: tuple[str, ...] = ()
    incomplete: bool = False
    sure: frozenset[str] = frozenset()


def targets(settings: Settings, namespace: str) -> tuple[Target, Target]:
    """Where admission and conversion webhooks of these settings are found, by URL or by Services of the namespace."""
    url = settings.webhooks.url
    services = (settings.validating.service, settings.conversion.service)
    return Target(url, namespace, services[0]), Target(url, namespace, services[1])


def no_registrations(settings: Settings, namespace: str) -> DesiredRegistrations:
    """The desired state of an installation that registers nothing; `namespace` is that of its credentials."""
    return DesiredRegistrations(
        settings.validating.configuration, *targets(settings, own_namespace(settings, namespace))
    )


def own_namespace(settings: Settings, namespace: str) -> str:
    """The namespace of our Services: the user's setting, otherwise the namespace of our credentials."""
    return settings.kube.namespace or namespace or "default"


def desired_registrations(
    hooks: Iterable[Hook], configuration: str, admission: Target, conversion: Target, incomplete: bool = False
) -> DesiredRegistrations:
    """What these hooks ask for. Entries come in the order of the hooks' names.

    One path has one hook: of bindings with the same id the last one counts, as it is the one that answers.
    """
    ordered = sorted(hooks, key=lambda hook: hook.name)
    validating = [(hook, binding) for hook in ordered for binding in hook.config.validating]
    mutating = [(hook, binding) for hook in ordered for binding in hook.config.mutating]
    definitions = sorted({binding.crd for hook in ordered for binding in hook.config.conversions})
    return DesiredRegistrations(
        configuration,
        admission,
        conversion,
        tuple(_entry(hook, binding, admission) for hook, binding in _last(validating)),
        tuple(_entry(hook, binding, admission) | _reinvoked(binding) for hook, binding in _last(mutating)),
        {name: _converted(conversion, name) for name in definitions},
        tuple(_clashes(validating + mutating)),
        incomplete,
    )


_Bindings = Sequence[tuple[Hook, Admission]]


def _last(bindings: _Bindings) -> list[tuple[Hook, Admission]]:
    """The bindings that take effect: the last of each id and of each name, because the API server refuses
    duplicates."""
    by_id = {webhook_id(binding.name, hook.unit): (hook, binding) for hook, binding in bindings}
    return list({webhook_name(binding.name, hook.unit): (hook, binding) for hook, binding in by_id.values()}.values())


def _clashes(bindings: _Bindings) -> Iterator[str]:
    """Bindings of both kinds that displace each other: they share paths, and a path does not name the kind."""
    owners: dict[str, str] = {}
    for hook, binding in bindings:
        owner, path = f"hook '{hook.name}' ({binding.name})", webhook_id(binding.name, hook.unit)
        if path in owners:
            yield f"two webhooks have the path /hooks/{path}: {owners[path]}, {owner}; rename one of them"
        owners[path] = owner


def _entry(hook: Hook, binding: Admission, target: Target) -> JSON:
    conditions = {"matchConditions": list(binding.match_conditions)} if binding.match_conditions else {}
    rules = {"rules": [{"scope": "*"} | rule for rule in binding.rules]} if binding.rules else {}
    return (
        {
            "name": webhook_name(binding.name, hook.unit),
            "clientConfig": target.client_config(admission_path(binding.name, hook.unit)),
            "failurePolicy": binding.failure_policy,
            "matchPolicy": "Equivalent",
            "namespaceSelector": binding.namespace_selector or {},
            "objectSelector": binding.object_selector or {},
            "sideEffects": binding.side_effects,
            "timeoutSeconds": binding.timeout_seconds,
            "admissionReviewVersions": list(_REVIEWS),
        }
        | rules
        | conditions
    )


def _reinvoked(binding: Admission) -> JSON:
    return {"reinvocationPolicy": binding.reinvocation_policy or "Never"}


def _converted(target: Target, definition: str) -> JSON:
    config = target.client_config(conversion_path(definition))
    return {
        "strategy": "Webhook",
        "webhook": {"clientConfig": config, "conversionReviewVersions": list(_REVIEWS)},
    }
