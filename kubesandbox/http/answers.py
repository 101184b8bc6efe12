"""In which form an answer is wanted, and writing it: objects, lists, tables, metadata alone; JSON or YAML.

Lists are put together from bodies that are JSON already. https://kubernetes.io/docs/reference/using-api/api-concepts/
has the media types (`#receiving-resources-as-tables`, `#metadata-only-fetches`).
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from http import HTTPStatus
from typing import Any

import orjson
import yaml

from kubesandbox.columns import tables
from kubesandbox.kinds import Kind
from kubesandbox.status import NOTHING, Refused, bad_request, not_acceptable
from kubesandbox.verbs import bodies
from kubesandbox.verbs.reading import Page
from kubesandbox.verbs.watching import Event
from kubetypes.light_dataclasses import dataclass

OFFERED = (
    "application/json, application/yaml, application/vnd.kubernetes.protobuf, application/json;stream=watch, "
    "application/vnd.kubernetes.protobuf;stream=watch"
)
TABLE, PARTIAL, PARTIAL_LIST = "Table", "PartialObjectMetadata", "PartialObjectMetadataList"
INCLUDE = ("", "None", "Metadata", "Object")


@dataclass(frozen=True, slots=True)
class Form:
    """The form of an answer. `shape` is "" for whole objects; `include` is what a table's rows carry."""

    shape: str = ""
    version: str = "v1"
    yaml: bool = False
    pretty: bool = False
    include: str = "Metadata"

    @property
    def content_type(self) -> str:
        """Of the answer."""
        return "application/yaml" if self.yaml else "application/json"


@dataclass(frozen=True, slots=True)
class Media:
    """One entry of an `Accept` header."""

    type: str
    parameters: Mapping[str, str]


def accepted(header: str) -> list[Media]:
    """What a client takes, in its order, the preferred first."""
    found = []
    for entry in header.split(",") if header.strip() else ["*/*"]:
        kind, *rest = (part.strip() for part in entry.split(";"))
        parameters = dict(part.partition("=")[::2] for part in rest)
        found.append(Media(kind.lower(), parameters))
    return sorted(found, key=lambda media: -_quality(media))


def _quality(media: Media) -> float:
    try:
        return float(media.parameters.get("q", "1"))
    except ValueError:
        return 1.0


def form(accept: str, query: Mapping[str, str], user_agent: str, lists: bool) -> Form:
    """The first form that the client takes and we have, for a list or for single objects. Raises Refused 406, 400."""
    include = query.get("includeObject", "")
    if include not in INCLUDE:
        raise bad_request(f"unrecognized includeObject value: {include!r}")
    strange = False
    for media in accepted(accept):
        shape, version = media.parameters.get("as", ""), media.parameters.get("v", "v1")
        if media.type not in ("application/json", "application/yaml", "application/*", "*/*"):
            continue
        if shape not in ("", TABLE, PARTIAL_LIST if lists else PARTIAL) or (shape and version not in ("v1", "v1beta1")):
            strange = True
            continue
        as_yaml = media.type == "application/yaml"
        return Form(shape, version, as_yaml, _pretty(query, user_agent), include or "Metadata")
    if strange:
        raise not_acceptable(bodies.ACCEPTED)
    message = f"406: Not Acceptable\n\nAvailable representations: {OFFERED}"
    raise Refused(HTTPStatus.NOT_ACCEPTABLE, "NotAcceptable", message, NOTHING)


def form_of_refusals(accept: str) -> Form:
    """Refusals are whole objects, in YAML for who takes that first."""
    return Form(yaml=accepted(accept)[0].type == "application/yaml")


def _pretty(query: Mapping[str, str], user_agent: str) -> bool:
    """People at a terminal or in a browser get lines, programs do not."""
    if "pretty" in query:
        return query["pretty"] in ("", "1", "true")
    return user_agent.startswith(("curl", "Wget", "Mozilla/5.0"))


def dumped(form: Form, value: Any) -> bytes:
    """A value in the client's format."""
    if form.yaml:
        return yaml.dump(value, Dumper=yaml.CSafeDumper, sort_keys=False, allow_unicode=True).encode()
    option = orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE if form.pretty else orjson.OPT_APPEND_NEWLINE
    return orjson.dumps(value, option=option)


def one(form: Form, kind: Kind, body: bytes, now: datetime) -> bytes:
    """An object in the form that is wanted."""
    if form == PLAIN:
        return body + b"\n"
    obj = orjson.loads(body)
    if form.shape == TABLE:
        return dumped(form, _table(form, kind, [obj], obj["metadata"].get("resourceVersion", ""), now))
    return dumped(form, _partial(form, obj) if form.shape else obj)


PLAIN = Form()


def listed(form: Form, kind: Kind, page: Page, now: datetime) -> bytes:
    """A list in the form that is wanted."""
    metadata: dict[str, Any] = {"resourceVersion": str(page.revision)}
    if page.token:
        metadata["continue"] = page.token
        metadata |= {"remainingItemCount": page.remaining} if page.remaining is not None else {}
    if form == PLAIN:
        return _joined(kind, page.bodies, metadata)
    if form.shape == TABLE:
        objects = [orjson.loads(body) for body in page.bodies]
        table = _table(form, kind, objects, "", now)
        return dumped(form, table | {"metadata": metadata})
    if form.shape:
        items = [_partial(form, orjson.loads(body)) for body in page.bodies]
        api = {"kind": PARTIAL_LIST, "apiVersion": f"meta.k8s.io/{form.version}"}
        # A real API server has a nil slice here where there is no object; in no other form of a list.
        return dumped(form, api | {"metadata": metadata, "items": items or None})
    return dumped(form, orjson.loads(_joined(kind, page.bodies, metadata)))


def _joined(kind: Kind, bodies: Sequence[bytes], metadata: dict[str, Any]) -> bytes:
    """The list as text. Items of built-in kinds are written without kind and apiVersion, as Go writes them."""
    name = list_kind(kind)
    head = orjson.dumps({"kind": name, "apiVersion": kind.api_version, "metadata": metadata})[:-1]
    if not kind.custom:
        typed = orjson.dumps({"kind": kind.kind, "apiVersion": kind.api_version})[:-1] + b","
        bodies = [b"{" + body.removeprefix(typed) if body.startswith(typed) else body for body in bodies]
    return b'%b,"items":[%b]}\n' % (head, b",".join(bodies))


def list_kind(kind: Kind) -> str:
    """`PodList`, or as a definition names it."""
    names = (kind.definition or {}).get("names", {})
    return str(names.get("listKind") or f"{kind.kind}List")


def event(form: Form, kind: Kind, event: Event, now: datetime, first: bool) -> bytes:
    """One line of a watch. Only the first table of a stream names its columns."""
    if not form.shape or event.type == "ERROR":
        return b'{"type":"%b","object":%b}\n' % (event.type.encode(), event.body)
    obj = orjson.loads(event.body)
    if form.shape == TABLE:
        shown = _event_table(form, kind, event, obj, now)
        if not first:
            shown["columnDefinitions"] = None
    else:
        shown = _partial(form, obj)
    return orjson.dumps({"type": event.type, "object": shown}, option=orjson.OPT_APPEND_NEWLINE)


def _event_table(form: Form, kind: Kind, event: Event, obj: dict[str, Any], now: datetime) -> dict[str, Any]:
    version = obj["metadata"].get("resourceVersion", "")
    if event.type == "BOOKMARK":
        return _table(form, kind, [], version, now) | {"metadata": obj["metadata"]}
    return _table(form, kind, [obj], version, now)


def _table(form: Form, kind: Kind, objects: list[dict[str, Any]], version: str, now: datetime) -> dict[str, Any]:
    table = tables.table(kind, objects, now, form.include)
    table["apiVersion"] = f"meta.k8s.io/{form.version}"
    table["metadata"] = {"resourceVersion": version} if version else table.get("metadata", {})
    return table


def _partial(form: Form, obj: dict[str, Any]) -> dict[str, Any]:
    return {"kind": PARTIAL, "apiVersion": f"meta.k8s.io/{form.version}", "metadata": obj["metadata"]}


# ── warnings ──────────────────────────────────────────────────────────────────────────────────────────────────────────

# Warnings for a client, as headers of the answer.
#
# https://kubernetes.io/docs/reference/using-api/api-concepts/#warnings


CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")
MOST_OF_ALL, MOST_OF_EACH = 4096, 256
"""Characters that all warnings of an answer may have; if they have more, characters that each may have."""


def warning_headers(texts: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Each text once, quoted; a header holds no control characters, so texts with some are dropped."""
    said = [text for text in dict.fromkeys(texts) if text and not CONTROL.search(text)]
    most = MOST_OF_EACH if sum(map(len, said)) > MOST_OF_ALL else None
    for text in said:
        yield "Warning", f"299 - {json.dumps(text[:most], ensure_ascii=False)}"
