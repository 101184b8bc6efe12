"""Every way in which the sandbox refuses a request, as the Kubernetes API words it: a `Status` object.

https://kubernetes.io/docs/reference/kubernetes-api/common-definitions/status/ has the fields; reasons and messages are
those of apimachinery, compared with a real API server by the contract suite.
"""

import re
from collections.abc import Sequence
from dataclasses import asdict
from http import HTTPStatus

import orjson

from kubetypes.json_values import JSON
from kubetypes.light_dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Cause:
    """One thing that is wrong: a reason (`FieldValueRequired`, …), a sentence, a path such as `spec.ports[0].name`."""

    reason: str
    message: str
    field: str = ""

    def json(self) -> dict[str, JSON]:
        """As it stands in `details.causes`."""
        said = {"reason": self.reason, "message": self.message, "field": self.field}
        return {key: value for key, value in said.items() if value}


@dataclass(frozen=True, slots=True)
class About:
    """What a refusal is about: group and plural of the resource (the kind's name, where its content is invalid)."""

    group: str = ""
    kind: str = ""
    name: str = ""
    uid: str = ""

    @property
    def qualified(self) -> str:
        """`deployments.apps`, `pods`."""
        return f"{self.kind}.{self.group}" if self.group else self.kind


NOTHING = About()


class Refused(Exception):
    """A request is refused; `json()` is the answer's body, `code` its HTTP status.

    `retry_after` is in seconds, `token` lets a list go on that has expired.
    """

    def __init__(
        self, code: int, reason: str, message: str, about: About | None = None, causes: Sequence[Cause] = ()
    ) -> None:
        self.code = int(code)  # a name of a code is not for YAML
        self.reason = reason
        self.message = message
        self.about = about
        self.causes = causes
        self.retry_after = 0
        self.token = ""
        super().__init__(message)

    def json(self) -> dict[str, JSON]:
        """The `Status` object."""
        about = asdict(self.about) if self.about else {}
        details: dict[str, JSON] = {key: value for key, value in about.items() if value}
        if self.causes:
            details["causes"] = [cause.json() for cause in self.causes]
        if self.retry_after:
            details["retryAfterSeconds"] = self.retry_after
        metadata = {"continue": self.token} if self.token else {}
        said = {
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": metadata,
            "status": "Failure",
            "message": self.message,
        }
        why = {"reason": self.reason} if self.reason else {}
        # An empty one stands where the API's own error has one.
        shown = {"details": details} if details or self.about else {}
        return said | why | shown | {"code": self.code}


def bad_request(message: str) -> Refused:
    """400."""
    return Refused(HTTPStatus.BAD_REQUEST, "BadRequest", message)


def no_such_path() -> Refused:
    """404 for a path that is no resource's."""
    return Refused(HTTPStatus.NOT_FOUND, "NotFound", "the server could not find the requested resource", NOTHING)


class NoPage(Refused):
    """404 for a path that means nothing at all: a line of text is the answer."""

    def __init__(self) -> None:
        super().__init__(HTTPStatus.NOT_FOUND, "NotFound", "404 page not found")


def not_found(about: About) -> Refused:
    """404 for an object."""
    return Refused(HTTPStatus.NOT_FOUND, "NotFound", f'{about.qualified} "{about.name}" not found', about)


def already_exists(about: About, *, ending: bool = False) -> Refused:
    """409: the name is taken, perhaps by an object that is about to go."""
    message = f'{"object is being deleted: " * ending}{about.qualified} "{about.name}" already exists'
    return Refused(HTTPStatus.CONFLICT, "AlreadyExists", message, about)


def conflict(about: About, why: str) -> Refused:
    """409: written on top of something newer, or a precondition does not hold."""
    message = f'Operation cannot be fulfilled on {about.qualified} "{about.name}": {why}'
    return Refused(HTTPStatus.CONFLICT, "Conflict", message, about)


STALE = "the object has been modified; please apply your changes to the latest version and try again"


def invalid(about: About, causes: Sequence[Cause]) -> Refused:
    """422: the content breaks rules. `about.kind` is the kind's name here (`Deployment`), not the plural."""
    said = [f"{cause.field}: {cause.message}" if cause.field else cause.message for cause in causes]
    said = list(dict.fromkeys(said))  # each sentence once, as Go's aggregates have it
    text = said[0] if len(said) == 1 else f"[{', '.join(said)}]"
    message = f'{about.qualified} "{about.name}" is invalid: {text}'
    return Refused(HTTPStatus.UNPROCESSABLE_ENTITY, "Invalid", message, about, causes)


def forbidden(about: About, why: str) -> Refused:
    """403."""
    message = f'{about.qualified} "{about.name}" is forbidden: {why}'
    return Refused(HTTPStatus.FORBIDDEN, "Forbidden", message, about)


def expired(message: str) -> Refused:
    """410: the history does not reach back that far."""
    return Refused(HTTPStatus.GONE, "Expired", message)


def method_not_allowed() -> Refused:
    """405."""
    message = "the server does not allow this method on the requested resource"
    return Refused(HTTPStatus.METHOD_NOT_ALLOWED, "MethodNotAllowed", message, NOTHING)


def unsupported_media_type(accepted: Sequence[str]) -> Refused:
    """415."""
    message = "the body of the request was in an unknown format - accepted media types include: " + ", ".join(accepted)
    return Refused(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, "UnsupportedMediaType", message)


def not_acceptable(accepted: Sequence[str]) -> Refused:
    """406."""
    message = "only the following media types are accepted: " + ", ".join(accepted)
    return Refused(HTTPStatus.NOT_ACCEPTABLE, "NotAcceptable", message)


def not_done_here(what: str) -> Refused:
    """501: a real API server does this, the sandbox does not, and says so."""
    return Refused(HTTPStatus.NOT_IMPLEMENTED, "NotImplemented", f"the sandbox does not do this: {what}")


# ── causes ────────────────────────────────────────────────────────────────────────────────────────────────────────


def required(field: str, why: str = "") -> Cause:
    """A field that must be there is missing."""
    return Cause("FieldValueRequired", f"Required value{f': {why}' if why else ''}", field)


def wrong(field: str, value: JSON, why: str) -> Cause:
    """A field has a value that breaks a rule. The value is shown as Go's `field.Error` shows it."""
    return Cause("FieldValueInvalid", f"Invalid value: {shown(value)}: {why}", field)


def unsupported(field: str, value: JSON, allowed: Sequence[str]) -> Cause:
    """A field's value is not one of the supported ones."""
    choices = ", ".join(f'"{one}"' for one in allowed)
    return Cause("FieldValueNotSupported", f"Unsupported value: {shown(value)}: supported values: {choices}", field)


def duplicate(field: str, value: JSON) -> Cause:
    """A list holds a value twice."""
    return Cause("FieldValueDuplicate", f"Duplicate value: {shown(value)}", field)


def forbidden_field(field: str, why: str) -> Cause:
    """A field may not be set, or not be changed, here."""
    return Cause("FieldValueForbidden", f"Forbidden: {why}", field)


def too_long(field: str, limit: int) -> Cause:
    """A text is longer than it may be."""
    return Cause("FieldValueTooLong", f"Too long: may not be more than {limit} bytes", field)


GO_ESCAPES = re.compile(r"\\u00([01][0-9a-f])|\x7f")


def _as_go(match: re.Match[str]) -> str:
    """Go's words for control characters, where JSON has others."""
    code = match[1] or "7f"
    return {"07": "\\a", "0b": "\\v"}.get(code, f"\\x{code}")


def shown(value: JSON) -> str:
    """A value in a message: texts quoted, numbers bare, objects and lists as compact JSON."""
    if isinstance(value, str):
        return GO_ESCAPES.sub(_as_go, orjson.dumps(value).decode())
    if value is None:
        return "null"
    return orjson.dumps(value, option=orjson.OPT_SORT_KEYS).decode()
