"""kubectl's change from client-side to server-side apply, the part of it that the API server does.

What the annotation `kubectl.kubernetes.io/last-applied-configuration` states, and is still so, belongs to kubectl: its
server-side apply may take that over without force. The annotation is kept up to date as long as it is there.

https://kubernetes.io/docs/reference/using-api/server-side-apply/#migration-between-client-side-and-server-side-apply
"""

from collections.abc import Mapping

import orjson

from kubesandbox.fields.checks import problems
from kubesandbox.fields.compare import changes
from kubesandbox.fields.elements import written
from kubesandbox.fields.merge import owned
from kubesandbox.fields.shapes import shape_of
from kubesandbox.kinds import Kind
from kubetypes.field_sets import Fields, difference
from kubetypes.json_values import JSON

KUBECTL = "kubectl"
ANNOTATION = "kubectl.kubernetes.io/last-applied-configuration"


def not_inherited(fought: Mapping[str, Fields], live: JSON, kind: Kind, manager: str) -> dict[str, Fields]:
    """The conflicts that remain after those over fields that kubectl has applied before."""
    inherited = _inherited(live, kind) if manager == KUBECTL else {}
    left = {who: difference(fields, inherited) for who, fields in fought.items()}
    return {who: fields for who, fields in left.items() if fields}


def _inherited(live: JSON, kind: Kind) -> Fields:
    """What the annotation states and the object still has."""
    config = _last(live)
    if (config.get("apiVersion"), config.get("kind")) != (kind.api_version, kind.kind) or problems(config, kind):
        return {}
    shape = shape_of(kind)
    fields = owned(config, shape)
    for gone in changes(config, live, shape):
        fields = difference(fields, gone)
    return fields


def _last(live: JSON) -> dict[str, JSON]:
    try:
        config = orjson.loads(_annotation(live))
    except ValueError:
        return {}
    return config if isinstance(config, dict) else {}


def _annotation(obj: JSON) -> str:
    return str(((obj.get("metadata") or {}).get("annotations") or {}).get(ANNOTATION, ""))


def refreshed(obj: JSON, config: JSON) -> JSON:
    """The object with the annotation, if it has one, set to what was applied."""
    if not _annotation(obj):
        return obj
    metadata = {
        key: value for key, value in config.get("metadata", {}).items() if key != "annotations" or value is not None
    }
    if "annotations" in metadata:
        metadata["annotations"] = {key: value for key, value in metadata["annotations"].items() if key != ANNOTATION}
    text = f"{written({**config, 'metadata': metadata})}\n"
    annotations = {**obj["metadata"]["annotations"], ANNOTATION: text}
    return {**obj, "metadata": {**obj["metadata"], "annotations": annotations}}
