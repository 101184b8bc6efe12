"""An object stored in one version of its kind, read in another.

Where the conversion is `None` only `apiVersion` changes; where it is `Webhook`, `webhooks/` asks for it in between.
https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definition-versioning/
"""

import re
from dataclasses import replace
from weakref import WeakKeyDictionary

from kubesandbox.kinds import Kind
from kubesandbox.schemas import Schema
from kubesandbox.structural import defaults, prune
from kubetypes.json_values import JSON

KUBE_LIKE = re.compile(r"v(\d+)(?:(alpha|beta)(\d+))?", re.ASCII)


def as_version(obj: JSON, kind: Kind) -> JSON:
    """A stored object as the kind's version shows it, if the conversion is `None`.

    On every read it is pruned and defaulted by the schema of the version in which it is stored, then pruned by that of
    the version in which it is shown. A new object, though parts of it may be shared with `obj`.
    """
    found = known(obj, kind)
    if obj["apiVersion"] == kind.api_version:
        return found
    return fitted({**found, "apiVersion": kind.api_version}, kind)


def known(obj: JSON, kind: Kind) -> JSON:
    """A stored object by the schema that its version has today."""
    return _read(obj, _schema(obj["apiVersion"], kind))


def fitted(obj: JSON, kind: Kind) -> JSON:
    """A converted object without what the kind's version does not know."""
    return prune.pruned(obj, kind.schema)[0]


def in_version(kind: Kind, name: str) -> Kind:
    """A kind in another version of its definition, which need not be served; as it is if there is no such version."""
    schema = _schema(f"{kind.group}/{name}", kind)
    if name == kind.version or schema is None:
        return kind
    return replace(kind, version=name, schema=schema, converted=WeakKeyDictionary())


def _read(obj: JSON, schema: Schema | None) -> JSON:
    return obj if schema is None else defaults.defaulted(prune.pruned(obj, schema)[0], schema)


def _schema(api_version: str, kind: Kind) -> Schema | None:
    """The schema of a version of a kind, None if the definition no longer has that version."""
    if api_version == kind.api_version:
        return kind.schema
    name = api_version.rpartition("/")[2]
    versions = (kind.definition or {}).get("versions", ())
    raw = next((one.get("schema") for one in versions if one["name"] == name), None)
    return None if raw is None else Schema(raw["openAPIV3Schema"])


def priority(version: str) -> tuple[int, int, int, str]:
    """A key that sorts versions as discovery does: `v10`, `v2`, `v1`, `v2beta1`, `v1alpha1`, then other names.

    https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definition-versioning/#version-priority
    """
    found = KUBE_LIKE.fullmatch(version)
    if found is None:
        return 3, 0, 0, version
    return ("", "beta", "alpha").index(found[2] or ""), -int(found[1]), -int(found[3] or 0), ""
