"""What a release is made from, as one text: equal digests mean that there is nothing to do (design.md §4.1)."""

import hashlib
from collections.abc import Mapping

import orjson

from hookrunner.model.releases import Capabilities
from hookrunner.model.resources import JSON


def digest(fingerprint: str, values: JSON, capabilities: Capabilities | None, labels: Mapping[str, str]) -> str:
    """40 hex digits. `capabilities` are None for a chart that does not read them (`files.Scan`), so that
    a new CRD is nobody's business."""
    versions = None if capabilities is None else [capabilities.kube_version, list(capabilities.api_versions)]
    parts = [fingerprint, values, versions, dict(labels)]
    return hashlib.sha1(orjson.dumps(parts, option=orjson.OPT_SORT_KEYS), usedforsecurity=False).hexdigest()


def together(digest: str, manifest: str) -> str:
    """The digest of a chart whose templates look into the cluster: what they found shows in the manifest only."""
    return hashlib.sha1(f"{digest}\0{manifest}".encode(), usedforsecurity=False).hexdigest()
