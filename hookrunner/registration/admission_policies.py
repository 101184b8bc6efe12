"""A ValidatingAdmissionPolicy of ours, or its binding: an object whose spec is written as a whole.

Unlike a webhook configuration it has no parts of others: what someone else adds to the spec, or leaves out, is undone.
Fields that are not known here may be those of newer API servers, and stay.

Source: https://kubernetes.io/docs/reference/access-authn-authz/validating-admission-policy/
"""

from hookrunner.model.resources import Resource
from hookrunner.registration.webhook_objects import (
    ADMISSION_API,
    MANAGED_BY,
    US,
    TrustedCertificates,
    content_digest,
    is_same,
)
from kubetypes.json_values import JSON
from kubetypes.light_dataclasses import dataclass

POLICY = Resource(ADMISSION_API, "ValidatingAdmissionPolicy", "validatingadmissionpolicies", False)
BINDING = Resource(ADMISSION_API, "ValidatingAdmissionPolicyBinding", "validatingadmissionpolicybindings", False)

_KNOWN = frozenset(
    {"failurePolicy", "matchConstraints", "matchConditions", "variables", "validations", "auditAnnotations"}
    | {"paramKind", "policyName", "validationActions", "paramRef", "matchResources"}
)


@dataclass(frozen=True, slots=True)
class AdmissionPolicy:
    """The desired state of a policy or a binding (`webhook_objects.Registration`). `spec` has every field that the API
    server would fill in; None removes the object, if it is ours."""

    resource: Resource
    name: str
    spec: JSON | None = None

    @property
    def digest(self) -> str:
        return content_digest(self.spec) if self.spec else ""

    def merged(self, existing: JSON | None, trust: TrustedCertificates) -> JSON | None:
        if self.spec is None:
            return None if existing is None or self.is_undeclared(existing) else existing
        if existing is None:
            head = {"apiVersion": self.resource.api_version, "kind": self.resource.kind}
            return head | {"metadata": {"name": self.name, "labels": {MANAGED_BY: US}}, "spec": self.spec}
        metadata = existing["metadata"]
        labels = (metadata.get("labels") or {}) | {MANAGED_BY: US}
        present = existing.get("spec") or {}
        known = {key: value for key, value in present.items() if key in _KNOWN}
        spec = present if is_same(known, self.spec) else self.spec
        return existing | {"metadata": metadata | {"labels": labels}, "spec": spec}

    def is_undeclared(self, existing: JSON) -> bool:
        """Is it ours although none is desired?"""
        labels = existing["metadata"].get("labels") or {}
        return self.spec is None and labels.get(MANAGED_BY) == US
