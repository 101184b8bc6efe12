"""The digest of all that a release is made from (`inputs_digest`). Equal digests mean that nothing need be rendered,
compared or written.

Modules and instances of addons share these functions, and digests stand on release records, so a change here is one of
every recorded digest: each release is then rendered and compared once (and gets no new revision, if the objects are
equal).
"""

import hashlib
from collections.abc import Mapping

import orjson

from hookrunner.charts import characters
from hookrunner.model.releases import Capabilities
from kubetypes import json_values
from kubetypes.json_values import JSON

_DIGITS = 40
"""Hex digits of the digest of an attempt."""


def inputs_digest(fingerprint: str, values: JSON, capabilities: Capabilities | None, labels: Mapping[str, str]) -> str:
    """The digest of everything that a release is made from. `fingerprint` stands for the files.

    `capabilities` are None for a chart that does not read them (`Scan`), so that a new CRD does not change its digest.
    Values whose texts were read otherwise in 0.2.0 have another digest, so that objects made of a text are deleted.
    """
    versions = None if capabilities is None else [capabilities.kube_version, list(capabilities.api_versions)]
    parts = [fingerprint, values, versions, dict(labels), *(["characters"] if characters.has_any(values) else [])]
    return hashlib.sha1(orjson.dumps(parts, option=orjson.OPT_SORT_KEYS), usedforsecurity=False).hexdigest()


def digest_with_manifest(digest: str, manifest: str) -> str:
    """The digest of a chart whose templates look things up in the cluster: the result shows in the manifest only."""
    return hashlib.sha1(f"{digest}\0{manifest}".encode(), usedforsecurity=False).hexdigest()


def fingerprint_of(parts: JSON) -> str:
    """One text for all that describes a package, in place of the fingerprint of a chart's files."""
    return hashlib.sha256(json_values.canonical(parts)).hexdigest()


def attempt_digest(digest: str, asked: JSON) -> str:
    """The digest of one attempt to reach inputs of this digest. `asked` is what says whether to try again: it changes
    no object."""
    return hashlib.sha256(digest.encode() + json_values.canonical(asked)).hexdigest()[:_DIGITS]
