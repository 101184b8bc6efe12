"""Which patch a request's body is, by its content type, and applying it to an object."""

from dataclasses import dataclass
from typing import Any

from kubesandbox.kinds import Kind
from kubesandbox.patches import json_patch, merge_patch, strategic
from kubesandbox.status import bad_request, unsupported_media_type
from kubesandbox.verbs import bodies
from kubetypes.json_values import JSON

JSON_PATCH = "application/json-patch+json"
MERGE = "application/merge-patch+json"
STRATEGIC = "application/strategic-merge-patch+json"
APPLY = "application/apply-patch+yaml"

FOR_BUILTIN = (JSON_PATCH, MERGE, STRATEGIC, APPLY)
FOR_CUSTOM = (JSON_PATCH, MERGE, APPLY)


@dataclass(frozen=True, slots=True)
class Patch:
    """A content type and the parsed body."""

    type: str
    body: JSON

    def applied(self, obj: dict[str, Any], kind: Kind) -> JSON:
        """The object with the patch on it; `obj` stays as it is. Raises Refused 400, 413, 422."""
        patched = self._applied(obj, kind)
        if bodies.is_too_deep(patched):
            raise bad_request(f"error decoding patch: {bodies.TOO_DEEP_HERE}")
        return patched

    def _applied(self, obj: dict[str, Any], kind: Kind) -> JSON:
        if self.type == JSON_PATCH:
            return json_patch.apply(obj, self.body)
        if self.type == MERGE:
            return merge_patch.apply(obj, self.body)
        return strategic.apply(obj, self.body, kind.schema)


def check_type(content_type: str, kind: Kind) -> None:
    """Raises Refused 415 for patches that the kind cannot take."""
    accepted = FOR_CUSTOM if kind.custom else FOR_BUILTIN
    if content_type not in accepted:
        raise unsupported_media_type(accepted)
