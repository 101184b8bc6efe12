"""The text of a release record: Helm 3 and 4 read and write JSON, packed by gzip, as base64.

    text = packed_to_fit(record)
    document = unpacked(text)

Source: https://helm.sh/docs/topics/advanced/#storage-backends; observed with helm 4.1.
"""

import base64
import binascii
import gzip

import orjson

from hookrunner import log, safe_files
from hookrunner.errors import ReleaseFailed
from hookrunner.releases.records.record import ReleaseRecord
from kubetypes import json_values
from kubetypes.bounds import RELEASE_RECORD, TooLarge
from kubetypes.json_values import JSON

_log = log.get(__name__)
_GZIP = b"\x1f\x8b\x08"

_LARGEST = 1024 * 1024
"""Bytes that the data of a Secret or a ConfigMap may have.
Source: https://kubernetes.io/docs/concepts/configuration/secret/#restriction-data-size"""

MOST_UNPACKED = RELEASE_RECORD.size
"""Bytes of a document. Packed it has 768 KiB at most, because a Secret holds 1 MiB. Manifests shrink to a tenth or a
twentieth, thousands of similar objects to a hundredth; zeros, which are never needed, to a thousandth."""


def packed(document: JSON) -> str:
    """Pack a document as Helm stores it; a Secret has the base64 of this text. Raises ReleaseFailed if it is so large
    that it could not be read again."""
    text = orjson.dumps(document)
    if len(text) > MOST_UNPACKED:
        raise ReleaseFailed(
            f"revision {document['version']} of release {document['name']} has {len(text):,} bytes, and a record may "
            f"have {MOST_UNPACKED:,}: split the module, or make its manifest smaller"
        )
    try:
        json_values.check(text, RELEASE_RECORD)
    except TooLarge as error:
        raise ReleaseFailed(f"revision {document['version']} of release {document['name']} has {error}") from None
    return base64.b64encode(gzip.compress(text, mtime=0)).decode()


def packed_to_fit(record: ReleaseRecord) -> str:
    """The text of a record. If it would be too large, the chart's files other than templates are left out.

    Raises ReleaseFailed if it is too large even then.
    """
    text = packed(record.document)
    if len(text) <= _LARGEST:
        return text
    _log.warn(
        "release record is too large, the chart's files other than templates are left out",
        release=record.name,
        revision=record.revision,
        bytes=len(text),
        allowed=_LARGEST,
    )
    text = packed(record.document | {"chart": record.document["chart"] | {"files": []}})
    if len(text) > _LARGEST:
        what = f"revision {record.revision} of release {record.name} takes {len(text):,} bytes, packed"
        raise ReleaseFailed(
            f"{what}, and a record may have {_LARGEST:,}: split the module, or make its manifest smaller"
        )
    return text


def unpacked(text: str | bytes) -> JSON:
    """Unpack the document of a stored text. Raises ReleaseFailed if it is not a record."""
    return parsed(inflated(text))


def inflated(text: str | bytes) -> bytes:
    """The JSON of a stored text. Raises ReleaseFailed."""
    try:
        raw = base64.b64decode(text, validate=True)
        return safe_files.unpack(raw, MOST_UNPACKED) if raw.startswith(_GZIP) else raw
    except (binascii.Error, ValueError) as error:
        raise _no_record(error) from None


def parsed(text: bytes) -> JSON:
    """The document of this JSON. Raises ReleaseFailed."""
    try:
        document = json_values.loads(text, RELEASE_RECORD)
        document["info"]["status"], document["name"], document["namespace"], int(document["version"])
    except (ValueError, TypeError, KeyError) as error:
        raise _no_record(error) from None
    return document


def _no_record(error: Exception) -> ReleaseFailed:
    return ReleaseFailed(f"not a valid Helm release record: {error or type(error).__name__}")
