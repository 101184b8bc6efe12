"""The objects that lead the API server to us: webhook configurations and CRDs. Our part of each, merged with the rest.

`merged` returns the desired object, or None if it should not exist. If that equals the live object, it is in sync. What
others have written stays. Whether this process may write is another question (`reconcile.Claim`).
"""

import base64
import binascii
import hashlib
import re
from collections.abc import Sequence
from typing import Protocol, TypeAlias

from hookrunner.model.resources import Resource
from hookrunner.model.reviews import ADMISSION, unit_of
from hookrunner.registration.desired import DesiredRegistrations, Target
from kubetypes import json_values
from kubetypes.json_values import JSON
from kubetypes.light_dataclasses import dataclass

MANAGED_BY = "app.kubernetes.io/managed-by"
US = "hookrunner"
CONVERSION = "hookrunner.io/conversion"
"""The label of CRDs whose conversion we have set: by it we find those that no hook names any more."""

_INJECTED = ("inject-ca-from", "inject-ca-from-secret", "inject-apiserver-ca")
"""Annotations of cert-manager.io by which it fills in every `caBundle` of an object:
https://cert-manager.io/docs/concepts/ca-injector/"""

_OPTIONAL = frozenset({"rules", "matchConditions"})
"""The fields of an entry that only some of our entries have."""

ADMISSION_API = "admissionregistration.k8s.io/v1"
VALIDATING = Resource(ADMISSION_API, "ValidatingWebhookConfiguration", "validatingwebhookconfigurations", False)
MUTATING = Resource(ADMISSION_API, "MutatingWebhookConfiguration", "mutatingwebhookconfigurations", False)
CONFIGURATIONS = (VALIDATING, MUTATING)
DEFINITION = Resource("apiextensions.k8s.io/v1", "CustomResourceDefinition", "customresourcedefinitions", False)

_CERTIFICATE = re.compile(rb"-----BEGIN CERTIFICATE-----(.*?)-----END CERTIFICATE-----", re.DOTALL)


@dataclass(frozen=True, slots=True)
class TrustedCertificates:
    """The certificates to publish in a `caBundle`. `exact`: no others are trusted beside them.

    Otherwise present ones for the same address stay: they belong to a replica that has newer or older ones
    than we, and its requests would fail if each of us removed the other's. A bundle is a set: neither order nor the
    text between certificates counts. `certificates/` judges whether a certificate is still valid.
    """

    certificates: tuple[bytes, ...] = ()
    exact: bool = False

    def bundle(self, present: str) -> str:
        """The `caBundle` to put in place of `present`; `present` itself if it is equal."""
        current = _in_bundle(present)
        desired = self.certificates if self.exact else tuple(dict.fromkeys(self.certificates + current))
        return present if set(current) == set(desired) else base64.b64encode(b"".join(map(_pem, desired))).decode()


class Registration(Protocol):
    """The desired content of one object."""

    @property
    def resource(self) -> Resource: ...

    @property
    def name(self) -> str: ...

    @property
    def digest(self) -> str:
        """The digest of the desired content, without the certificates; empty if nothing is desired."""
        ...

    def merged(self, existing: JSON | None, trust: TrustedCertificates) -> JSON | None:
        """The desired object; None if it should not exist."""
        ...

    def is_undeclared(self, existing: JSON) -> bool:
        """Does it contain something that we wrote and no hook declares?"""
        ...


@dataclass(frozen=True, slots=True)
class WebhookConfiguration:
    """A webhook configuration with our entries. `keep`: our entries that no hook declares stay, except those whose
    unit is in `sure`."""

    resource: Resource
    name: str
    target: Target
    entries: tuple[JSON, ...]
    keep: bool = False
    sure: frozenset[str] = frozenset()

    @property
    def digest(self) -> str:
        return content_digest(self.entries) if self.entries else ""

    def merged(self, existing: JSON | None, trust: TrustedCertificates) -> JSON | None:
        if existing is None:
            return self._new(trust) if self.entries else None
        present = existing.get("webhooks") or []
        entries = self._entries(present, trust, _injected(existing))
        labels = existing["metadata"].get("labels") or {}
        if not entries and labels.get(MANAGED_BY) == US:
            return None
        metadata = existing["metadata"]
        if self.entries:
            metadata = metadata | {"labels": {MANAGED_BY: US} | labels}
        elif entries != present and labels.get(MANAGED_BY) == US:
            metadata = without(metadata, "labels", MANAGED_BY)
        return existing | {"metadata": metadata} | ({"webhooks": entries} if entries != present else {})

    def is_undeclared(self, existing: JSON) -> bool:
        """Does it have our entries although no hook declares them?"""
        names = {entry["name"] for entry in self.entries}
        present = existing.get("webhooks") or []
        return any(self._path(entry) and entry["name"] not in names for entry in present)

    def _new(self, trust: TrustedCertificates) -> JSON:
        head = {"apiVersion": self.resource.api_version, "kind": self.resource.kind}
        metadata = {"name": self.name, "labels": {MANAGED_BY: US}}
        return head | {"metadata": metadata, "webhooks": self._entries([], trust, False)}

    def _entries(self, present: Sequence[JSON], trust: TrustedCertificates, injected: bool) -> list[JSON]:
        """Our entries take the places of the present ones of their names; new ones come last."""
        before = {entry["name"]: entry for entry in present}
        ours = [_reconciled_entry(before.get(entry["name"]), entry, trust, injected) for entry in self.entries]
        names, places = {entry["name"] for entry in ours}, iter(ours)
        kept = (entry for entry in present if entry["name"] in names or self._stays(self._path(entry)))
        return [next(places) if entry["name"] in names else entry for entry in kept] + list(places)

    def _stays(self, path: str) -> bool:
        """Does an entry with this path stay although no hook declares it?"""
        return not path or (self.keep and unit_of(path) not in self.sure)

    def _path(self, entry: JSON) -> str:
        """Our path that an entry leads to, empty if it leads elsewhere."""
        path = self.target.path(entry["clientConfig"])
        return path if path.startswith(ADMISSION) else ""


@dataclass(frozen=True, slots=True)
class CrdConversion:
    """A CRD and its desired conversion; without one, ours is removed if it still leads to us."""

    name: str
    target: Target
    conversion: JSON | None
    resource: Resource = DEFINITION

    @property
    def digest(self) -> str:
        return content_digest(self.conversion) if self.conversion else ""

    def merged(self, existing: JSON | None, trust: TrustedCertificates) -> JSON | None:
        """A CRD that does not exist yet is not created."""
        if existing is None:
            return None
        spec, metadata = existing["spec"], existing["metadata"]
        present = spec.get("conversion") or {"strategy": "None"}
        labels = metadata.get("labels") or {}
        if self.conversion:
            wanted = _converted(present, self.conversion, trust, _injected(existing))
            metadata = metadata | {"labels": labels | {CONVERSION: US}}
        elif CONVERSION in labels and self.target.path((present.get("webhook") or {}).get("clientConfig") or {}):
            wanted = {"strategy": "None"}
            metadata = without(metadata, "labels", CONVERSION)
        else:
            return existing
        return existing | {"metadata": metadata, "spec": spec | {"conversion": wanted}}

    def is_undeclared(self, existing: JSON) -> bool:
        """Does it have our conversion although no hook declares it?"""
        return self.conversion is None and self.merged(existing, TrustedCertificates()) != existing


WebhookObject: TypeAlias = WebhookConfiguration | CrdConversion
"""An object that leads the API server to one of our servers, its `target`."""


def certificates(pem: bytes) -> tuple[bytes, ...]:
    """The certificates in PEM text, each once, as base64 only."""
    return tuple(dict.fromkeys(b"".join(text.split()) for text in _CERTIFICATE.findall(pem)))


def registrations(desired: DesiredRegistrations) -> list[WebhookObject]:
    """The objects of the desired registrations: always both configurations, even if no hook needs them any more."""
    name, target, doubt = desired.configuration, desired.admission, (desired.incomplete, desired.sure)
    return [
        WebhookConfiguration(VALIDATING, name, target, desired.validating, *doubt),
        WebhookConfiguration(MUTATING, name, target, desired.mutating, *doubt),
        *(CrdConversion(crd, desired.conversion, conversion) for crd, conversion in desired.conversions.items()),
    ]


def without(metadata: JSON, part: str, *keys: str) -> JSON:
    """The metadata without some labels or annotations, and without a map that would be empty."""
    left = {key: value for key, value in (metadata.get(part) or {}).items() if key not in keys}
    rest = {key: value for key, value in metadata.items() if key != part}
    return rest | ({part: left} if left else {})


def content_digest(wanted: JSON) -> str:
    """A short text that is the same for equal values."""
    return hashlib.sha256(json_values.canonical(wanted)).hexdigest()[:16]


def _injected(existing: JSON) -> bool:
    annotations = existing["metadata"].get("annotations") or {}
    return any(f"cert-manager.io/{name}" in annotations for name in _INJECTED)


def _reconciled_entry(present: JSON | None, wanted: JSON, trust: TrustedCertificates, injected: bool) -> JSON:
    """One entry: the present one if it is in sync. Fields that we do not know may be those of newer servers."""
    client = _trusting((present or {}).get("clientConfig") or {}, wanted["clientConfig"], trust, injected)
    entry = wanted | {"clientConfig": client}
    known = {key: value for key, value in (present or {}).items() if key in entry or key in _OPTIONAL}
    return present if present is not None and is_same(known, entry) else entry


def _converted(present: JSON, wanted: JSON, trust: TrustedCertificates, injected: bool) -> JSON:
    before = (present.get("webhook") or {}).get("clientConfig") or {}
    client = _trusting(before, wanted["webhook"]["clientConfig"], trust, injected)
    conversion = wanted | {"webhook": wanted["webhook"] | {"clientConfig": client}}
    return present if is_same(present, conversion) else conversion


def _trusting(present: JSON, wanted: JSON, trust: TrustedCertificates, injected: bool) -> JSON:
    """The address with the certificates to trust. Certificates of another address are dropped."""
    bundle = present.get("caBundle", "")
    if not injected:
        same_address = is_same({key: value for key, value in present.items() if key != "caBundle"}, wanted)
        bundle = trust.bundle(bundle if same_address else "")
    return wanted | ({"caBundle": bundle} if bundle else {})


def is_same(one: JSON, other: JSON) -> bool:
    """Are they equal for the API server, which leaves out what is empty?"""
    return json_values.equal(_filled(one), _filled(other))


def _filled(value: JSON) -> JSON:
    if isinstance(value, dict):
        pairs = ((key, _filled(inner)) for key, inner in value.items())
        return {key: inner for key, inner in pairs if inner not in (None, {}, [], "")}
    return [_filled(inner) for inner in value] if isinstance(value, list) else value


def _in_bundle(text: str) -> tuple[bytes, ...]:
    try:
        return certificates(base64.b64decode(text))
    except binascii.Error:
        return ()


def _pem(certificate: bytes) -> bytes:
    """Lines of 64 characters (RFC 7468 §2)."""
    lines = [certificate[start : start + 64] for start in range(0, len(certificate), 64)]
    return b"\n".join([b"-----BEGIN CERTIFICATE-----", *lines, b"-----END CERTIFICATE-----", b""])
