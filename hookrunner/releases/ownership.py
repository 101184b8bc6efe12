"""Whose an object is: what Helm writes on everything that belongs to a release, and what we read from it.

Source: https://helm.sh/docs/topics/charts_hooks/ and the checks of `helm install` before it takes an object over.
"""

import base64

from hookrunner.errors import ReleaseFailed
from hookrunner.model.resources import JSON, Resource
from hookrunner.releases.ordering import Identity

MANAGER = "helm"
"""The field manager of everything that we apply, as for Helm and addon-operator (addon-operator.md §6.3)."""

NAME = "meta.helm.sh/release-name"
NAMESPACE = "meta.helm.sh/release-namespace"
MANAGED_BY = {"app.kubernetes.io/managed-by": "Helm"}
POLICY = "helm.sh/resource-policy"

ADOPT = "hookrunner.io/adopt"
"""On an object in a template, "true": take it over if it is there already and belongs to no release, or to one that has
no record any more."""

RECREATE = "hookrunner.io/recreate"
"""On an object in a template, "true": delete and create it if a field is to change that cannot be changed."""


def owned(obj: JSON, resource: Resource, identity: Identity) -> JSON:
    """The object of a manifest as it is sent: marked as ours, its namespace written out."""
    metadata = {key: value for key, value in obj["metadata"].items() if key != "namespace"}
    if resource.namespaced:
        metadata["namespace"] = obj["metadata"].get("namespace") or identity.namespace
    marks = {NAME: identity.name, NAMESPACE: identity.namespace}
    metadata["labels"] = (metadata.get("labels") or {}) | MANAGED_BY
    metadata["annotations"] = (metadata.get("annotations") or {}) | marks
    return plain(obj) | {"metadata": metadata}


def plain(obj: JSON) -> JSON:
    """The same object as the server keeps it: `stringData` of a Secret is `data`. An apply would own the former, and
    keys that leave it would stay in the latter."""
    texts = obj.get("stringData")
    if (
        obj.get("kind") != "Secret"
        or not isinstance(texts, dict)
        or not all(isinstance(v, str) for v in texts.values())
    ):
        return obj
    data = {key: base64.b64encode(text.encode()).decode() for key, text in texts.items()}
    rest = {key: value for key, value in obj.items() if key != "stringData"}
    return rest | {"data": (obj.get("data") or {}) | data}


def owner(metadata: JSON) -> Identity | None:
    """The release that an object in the cluster belongs to."""
    annotations = metadata.get("annotations") or {}
    name = annotations.get(NAME)
    return Identity(name, annotations.get(NAMESPACE, "")) if name else None


def check_unowned(identity: Identity, allowed: bool) -> None:
    """Raise ReleaseFailed unless `identity` is allowed to take over an object that belongs to no release."""
    if not allowed:
        raise ReleaseFailed(f"it is there already and belongs to no release: delete it, or {ways_to_adopt(identity)}")


def ways_to_adopt(identity: Identity) -> str:
    """How to allow that an object is taken over, for a person."""
    return (
        f"take it over by `hookrunner module adopt {identity.name}`, by the annotation"
        f' {ADOPT}: "true" in the template, or by `adopt: true` in module.yaml'
    )


def written(metadata: JSON) -> bool:
    """Has a release ever written the object that is there? That it was in a manifest does not tell: an attempt that
    failed because it is not ours had it, too."""
    return any(entry.get("manager") == MANAGER for entry in metadata.get("managedFields") or ())


def marked(metadata: JSON, annotation: str) -> bool:
    """Is this annotation "true" there?"""
    return str((metadata.get("annotations") or {}).get(annotation)).lower() == "true"


def kept(metadata: JSON) -> bool:
    """Is the object to stay when its release goes (https://helm.sh/docs/howto/charts_tips_and_tricks/)?"""
    return str((metadata.get("annotations") or {}).get(POLICY)).strip().lower() == "keep"
