"""An object stored in one version of its kind, read in another. The conversion is `None`: only `apiVersion` changes.

https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definition-versioning/
"""

import re

from hookrunner.model.resources import JSON
from hookrunner.sandbox.kinds import Kind
from hookrunner.sandbox.structural import defaults, prune

KUBE_LIKE = re.compile(r"v(\d+)(?:(alpha|beta)(\d+))?", re.ASCII)


def as_version(obj: JSON, kind: Kind) -> JSON:
    """A stored object as the kind's version shows it: pruned by that version's schema; defaulted by it, as on every read,
    if it was stored in that version.

    A new object, though parts of it may be shared with `obj`.
    """
    shown, _ = prune.pruned({**obj, "apiVersion": kind.api_version}, kind.schema)
    return defaults.defaulted(shown, kind.schema) if obj["apiVersion"] == kind.api_version else shown


def priority(version: str) -> tuple[int, int, int, str]:
    """A key that sorts versions as discovery does: `v10`, `v2`, `v1`, `v2beta1`, `v1alpha1`, then other names.

    https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definition-versioning/#version-priority
    """
    found = KUBE_LIKE.fullmatch(version)
    if found is None:
        return 3, 0, 0, version
    return ("", "beta", "alpha").index(found[2] or ""), -int(found[1]), -int(found[3] or 0), ""
