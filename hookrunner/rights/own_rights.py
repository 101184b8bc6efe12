"""The rights that hookrunner needs for itself, as its flags say: its ConfigMap, records, Events, definitions, instances
of addons, webhooks. What it can do without is not among them: each such request is refused once and then left
(docs/rights.md).

docs/security.md and the templates of the chart have the same for the chart's values.
"""

from collections.abc import Iterable, Iterator, Sequence

from hookrunner.addons.offer.generic_kinds import GENERIC, make_definition
from hookrunner.cloud.rights import rights_of
from hookrunner.discovery.addon_kind import ADDONS
from hookrunner.discovery.addon_kind import make_definition as make_addon_definition
from hookrunner.instances.protection.protection_policy import policy_name
from hookrunner.model.addons import Addon
from hookrunner.model.bindings import Hook
from hookrunner.model.rights import READS, Reason, Right
from hookrunner.packages.host_credentials import CredentialsSecret, open_credentials
from hookrunner.registration.admission_policies import BINDING, POLICY
from hookrunner.rights.hook_rights import WATCH
from hookrunner.settings import AddonsSettings, CertificateSource, Settings
from kubetypes.json_values import JSON
from kubetypes.light_dataclasses import dataclass

_CRDS = ("apiextensions.k8s.io",), ("customresourcedefinitions",)
_CONFIGURATIONS = ("admissionregistration.k8s.io",)
_RECORDS = (*READS, "create", "update", "delete")


@dataclass(frozen=True, slots=True)
class Installation:
    """What hookrunner is to run: `hooks` are all, those of modules and addons too; `namespaces` are those of modules'
    releases, `definitions` those in their `crds/`."""

    hooks: Sequence[Hook] = ()
    namespaces: Sequence[str] = ()
    definitions: Sequence[JSON] = ()
    addons: Sequence[Addon] = ()


def own_rights(settings: Settings, namespace: str, installed: Installation) -> Iterator[Right]:
    """The rights in a cluster where hookrunner runs in this namespace."""
    if settings.modules.on or settings.addons.on:
        yield from _module_rights(settings, namespace, installed)
    if settings.addons.on:
        yield from _addon_rights(installed.addons)
        yield from _protection_rights(namespace)
        yield from _account_rights(settings.addons)
        yield from _login_rights(settings.addons.credentials)
    if settings.addons.generic_sources:
        yield from _generic_rights()
    if settings.discovery.on:
        yield from _discovery_rights(settings.discovery.kinds)
    yield from _webhook_rights(settings, namespace, installed.hooks)
    if settings.cloud.on:
        yield from rights_of(settings)


def _module_rights(settings: Settings, namespace: str, installed: Installation) -> Iterator[Right]:
    modules = settings.modules
    config = _need("the ConfigMap that users edit")
    yield Right(("",), ("configmaps",), (*READS, "patch"), (modules.config_map,), namespace, needs=config)
    yield Right(("",), ("configmaps",), ("create",), (), namespace, needs=config)
    if modules.config_secret:
        secret = _need("the Secret of --config-secret")
        yield Right(("",), ("secrets",), READS, (modules.config_secret,), namespace, needs=secret)
    for place in dict.fromkeys((namespace, *installed.namespaces)):
        records = _need("records of releases")
        yield Right(("",), (f"{modules.helm_driver}s",), _RECORDS, (), place, needs=records)
    if modules.helm_driver != "secret":
        yield Right(("",), ("secrets",), ("list",), (), namespace, needs=_need("records that an earlier driver kept"))
    served = _need("which kinds the cluster serves, for charts")
    yield Right(*_CRDS, WATCH, needs=served)
    yield Right(("apiregistration.k8s.io",), ("apiservices",), WATCH, needs=served)
    yield Right(("",), ("events",), ("create", "patch"), (), namespace, needs=_need("Events on the ConfigMap"))
    yield from _definition_rights(installed.definitions, "crds/ of modules")


def _definition_rights(definitions: Iterable[JSON], why: str) -> Iterator[Right]:
    names = tuple(dict.fromkeys(str(definition["metadata"]["name"]) for definition in definitions))
    if names:
        yield Right(*_CRDS, ("get", "update"), names, needs=_need(why))
        yield Right(*_CRDS, ("create",), needs=_need(why))
        status = tuple(f"{plural}/status" for plural in _CRDS[1])
        yield Right(_CRDS[0], status, ("update",), names, needs=_need(why))


def _addon_rights(addons: Iterable[Addon]) -> Iterator[Right]:
    """Instances are written in all namespaces: those outside of --addon-namespaces get the phase Conflict, and their
    finalizer is removed when they are deleted."""
    for addon in addons:
        resource = addon.object.resource
        group, plural = (resource.group,), resource.plural
        yield Right(group, (plural,), WATCH, needs=_need(f"instances of {addon.name}"))
        yield Right(group, (plural,), ("get", "patch"), needs=_need(f"finalizers of instances of {addon.name}"))
        yield Right(group, (f"{plural}/status",), ("patch",), needs=_need(f"status of instances of {addon.name}"))
        yield Right(group, (f"{plural}/finalizers",), ("update",), needs=_need("owner references of what they install"))
        yield Right(("",), ("events",), ("create", "patch"), needs=_need("Events on instances"))
        if addon.object.crd != "external":
            yield from _definition_rights([{"metadata": {"name": addon.object.crd_name}}], f"the kind of {addon.name}")


def _protection_rights(namespace: str) -> Iterator[Right]:
    need, plurals = _need("spec.protect of instances"), (POLICY.plural, BINDING.plural)
    yield Right(_CONFIGURATIONS, plurals, (*WATCH, "update", "delete"), (policy_name(namespace),), needs=need)
    yield Right(_CONFIGURATIONS, plurals, ("create",), needs=need)


def _account_rights(addons: AddonsSettings) -> Iterator[Right]:
    """Where instances need not name an account, who lets them grants the use of that account alone (docs/rights.md)."""
    if addons.accounts == "require":
        account = Right(("",), ("serviceaccounts",), ("get", "impersonate"), needs=_need("accounts of instances"))
        place = Right(("",), ("namespaces",), ("get",), needs=_need("whether the namespace of an account is deleted"))
        for right in (account, place):
            yield from right.in_namespaces(addons.namespaces)


def _login_rights(credentials: str) -> Iterator[Right]:
    source = open_credentials(credentials, None)
    if isinstance(source, CredentialsSecret):
        need = _need("the Secret of --addon-credentials")
        yield Right(("",), ("secrets",), ("get",), (source.name,), source.namespace, needs=need)


def _generic_rights() -> Iterator[Right]:
    """Those for the kinds that its objects name are not known before: users state them with these kinds."""
    kind = GENERIC.object
    yield Right((kind.group,), (kind.plural,), READS, needs=_need("objects of Generic"))
    yield Right((kind.group,), (f"{kind.plural}/status",), ("patch",), needs=_need("statuses of Generics"))
    yield from _definition_rights([make_definition()], "the kind Generic")


def _discovery_rights(kinds: Iterable[str]) -> Iterator[Right]:
    """Those for objects of releases are the releases' own: drift needs them, too."""
    group, listed = (ADDONS.group,), _need("the list of what is installed")
    yield Right(group, (ADDONS.plural,), (*WATCH, "create", "patch", "delete"), needs=listed)
    yield Right(group, (f"{ADDONS.plural}/status",), ("patch",), needs=listed)
    yield from _definition_rights([make_addon_definition()], "the kind Addon")
    for kind in kinds:
        plural, _, group_of_kind = kind.partition(".")
        yield Right((group_of_kind,), (plural,), WATCH, needs=_need("objects of --discovery-kinds"))


def _webhook_rights(settings: Settings, namespace: str, hooks: Sequence[Hook]) -> Iterator[Right]:
    """A port that is named is open, with a certificate, also while no hook needs it."""
    reviews = {review for hook in hooks for review in hook.config.reviews}
    if reviews:
        yield from _configuration_rights(settings.validating.configuration, hooks)
    crds = tuple(dict.fromkeys(binding.crd for hook in hooks for binding in hook.config.conversions))
    if crds:
        yield Right(*_CRDS, WATCH, needs=_need("conversions that no hook declares any more"))
        yield Right(*_CRDS, (*WATCH, "update"), crds, needs=_need("conversions by hooks"))
    if reviews or settings.webhooks.port is not None:
        yield from _certificate_rights(settings.webhooks.certs, namespace)


def _certificate_rights(certificates: CertificateSource, namespace: str) -> Iterator[Right]:
    secret, need = certificates.secret, _need("certificates of webhooks")
    own = certificates.kind not in ("files", "secret")
    if certificates.kind != "files":
        yield Right(("",), ("secrets",), (*WATCH, *(["update"] if own else [])), (secret,), namespace, needs=need)
    if own:
        yield Right(("",), ("secrets",), ("create",), (), namespace, needs=need)


def _configuration_rights(name: str, hooks: Sequence[Hook]) -> Iterator[Right]:
    """Both kinds are read and repaired: what hooks no longer declare has to be found and removed."""
    plurals = {
        "validatingwebhookconfigurations": any(hook.config.validating for hook in hooks),
        "mutatingwebhookconfigurations": any(hook.config.mutating for hook in hooks),
    }
    yield Right(_CONFIGURATIONS, tuple(plurals), (*WATCH, "update", "delete"), (name,), needs=_need("webhooks"))
    if created := tuple(plural for plural, declared in plurals.items() if declared):
        yield Right(_CONFIGURATIONS, created, ("create",), needs=_need("webhooks of hooks"))


def _need(why: str) -> tuple[Reason, ...]:
    return (Reason("hookrunner", why),)
