"""Which patch a request's body is, by its content type, and applying it to an object."""

from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

from kubesandbox.kinds import Kind
from kubesandbox.status import NOTHING, Refused, bad_request, unsupported_media_type
from kubesandbox.verbs import bodies
from kubetypes.json_values import JSON
from kubetypes.light_dataclasses import dataclass
from kubetypes.patches import json_patch, merge_patch, strategic
from kubetypes.patches.refusals import PatchRefused

JSON_PATCH = "application/json-patch+json"
MERGE = "application/merge-patch+json"
STRATEGIC = "application/strategic-merge-patch+json"
APPLY = "application/apply-patch+yaml"

FOR_BUILTIN = (JSON_PATCH, MERGE, STRATEGIC, APPLY)
FOR_CUSTOM = (JSON_PATCH, MERGE, APPLY)

REASONS: Mapping[int, str] = {
    HTTPStatus.BAD_REQUEST: "BadRequest",
    HTTPStatus.REQUEST_ENTITY_TOO_LARGE: "RequestEntityTooLarge",
    HTTPStatus.UNPROCESSABLE_ENTITY: "Invalid",
    HTTPStatus.INTERNAL_SERVER_ERROR: "",
}
"""The API's reason words for codes of refused patches; what contradicts a schema has none."""


@dataclass(frozen=True, slots=True)
class Patch:
    """A content type and the parsed body."""

    type: str
    body: JSON

    def applied(self, obj: dict[str, Any], kind: Kind) -> JSON:
        """The object with the patch on it; `obj` stays as it is. Raises Refused 400, 413, 422, 500."""
        try:
            patched = self._applied(obj, kind)
        except PatchRefused as refused:
            raise _as_status(refused) from None
        if bodies.is_too_deep(patched):
            raise bad_request(f"error decoding patch: {bodies.TOO_DEEP_HERE}")
        return patched

    def _applied(self, obj: dict[str, Any], kind: Kind) -> JSON:
        if self.type == JSON_PATCH:
            return json_patch.apply(obj, self.body)
        if self.type == MERGE:
            return merge_patch.apply(obj, self.body)
        return strategic.apply(obj, self.body, kind.schema)


def _as_status(refused: PatchRefused) -> Refused:
    about = NOTHING if refused.code == HTTPStatus.UNPROCESSABLE_ENTITY else None
    return Refused(refused.code, REASONS[refused.code], refused.message, about)


def check_type(content_type: str, kind: Kind) -> None:
    """Raises Refused 415 for patches that the kind cannot take."""
    accepted = FOR_CUSTOM if kind.custom else FOR_BUILTIN
    if content_type not in accepted:
        raise unsupported_media_type(accepted)
