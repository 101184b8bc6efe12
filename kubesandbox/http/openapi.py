"""OpenAPI v3: `kubectl explain`, `apply` and `create` ask it what fields there are and whether the server checks them.

Documents of built-in group versions are served as a real API server wrote them. Those of custom kinds are put together
from a real one's document with the names replaced, and the definition's schema as a real API server publishes it.
OpenAPI v2 describes nothing: kubectl asks it about kinds that v3 does not know, and then reports them as unknown.

https://kubernetes.io/docs/concepts/overview/kubernetes-api/#openapi-v3
"""

import hashlib
from collections.abc import Iterable
from functools import cache, lru_cache
from typing import Any

import orjson

from kubesandbox import data
from kubesandbox.kinds import Kind, Kinds
from kubetypes.json_values import JSON
from kubetypes.light_dataclasses import dataclass
from kubetypes.openapi import builtin_kinds, documents

V2_PROTOBUF = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf"
"""The media type of OpenAPI v2 in protobuf. kubectl asks for `…v2@v1.0…`, which is no media type to answer with."""
SCALE = "io.k8s.api.autoscaling."
INTEGER_OR_STRING: list[JSON] = [{"type": "integer"}, {"type": "string"}]
KEPT_IF_TRUE = (
    "nullable",
    "exclusiveMaximum",
    "exclusiveMinimum",
    "uniqueItems",
    "x-kubernetes-preserve-unknown-fields",
    "x-kubernetes-embedded-resource",
    "x-kubernetes-int-or-string",
)


@dataclass(frozen=True, slots=True)
class Document:
    """One group version's document. `path` is `api/v1` or `apis/<group>/<version>`, `digest` is its hash and `ETag`."""

    path: str
    digest: str
    kinds: tuple[Kind, ...]

    @property
    def url(self) -> str:
        """Where clients are sent. A request with another hash is redirected here (301)."""
        return f"/openapi/v3/{self.path}?hash={self.digest}"

    def body(self) -> bytes:
        """The document as JSON."""
        first = self.kinds[0]
        return _custom(self.kinds) if first.custom else documents.document(first.group, first.version)


def index(kinds: Kinds) -> dict[str, JSON]:
    """`/openapi/v3`: where each document is."""
    return {"paths": {one.path: {"serverRelativeURL": one.url} for one in _documents(kinds)}}


def document(kinds: Kinds, path: str) -> Document | None:
    """The document of `/openapi/v3/<path>`; None for an unknown path."""
    return next((one for one in _documents(kinds) if one.path == path), None)


def empty_v2(*, protobuf: bool) -> bytes:
    """`/openapi/v2` as JSON or as `V2_PROTOBUF`: valid, without any path or definition."""
    title, version = "Kubernetes", builtin_kinds.document()["version"]["gitVersion"]
    if not protobuf:
        return orjson.dumps({"swagger": "2.0", "info": {"title": title, "version": version}, "paths": {}})
    # Fields of openapi.v2.Document: 1 swagger, 2 info (1 title, 2 version), 8 paths.
    info = _field(1, title.encode()) + _field(2, version.encode())
    return _field(1, b"2.0") + _field(2, info) + _field(8, b"")


def _field(number: int, content: bytes) -> bytes:
    """A short text or message in protobuf."""
    return bytes((number << 3 | 2, len(content))) + content


def _documents(kinds: Iterable[Kind]) -> list[Document]:
    found: dict[tuple[str, str], list[Kind]] = {}
    for kind in kinds:
        found.setdefault((kind.group, kind.version), []).append(kind)
    return [_document(tuple(several)) for several in found.values()]


def _document(kinds: tuple[Kind, ...]) -> Document:
    first = kinds[0]
    path = f"apis/{first.api_version}" if first.group else f"api/{first.version}"
    digest = hashlib.sha512(_custom(kinds)).hexdigest().upper() if first.custom else _digests()[first.api_version]
    return Document(path, digest, kinds)


@cache
def _digests() -> dict[str, str]:
    groups = builtin_kinds.document()["groups"]
    return {f"{one['group']}/{one['version']}".removeprefix("/"): one["openapi"] for one in groups}


# ── custom kinds ──────────────────────────────────────────────────────────────────────────────────────────────────


@lru_cache(maxsize=64)
def _custom(kinds: tuple[Kind, ...]) -> bytes:
    """The document of a custom group version, kept while its kinds are the same objects."""
    parts = [_part(kind) for kind in kinds]
    whole = parts[0]
    for part in parts[1:]:
        whole["paths"] |= part["paths"]
        whole["components"]["schemas"] |= part["components"]["schemas"]
    return orjson.dumps(whole, option=orjson.OPT_SORT_KEYS)


def _part(kind: Kind) -> dict[str, Any]:
    """The document of one kind alone."""
    assert kind.definition is not None, f"{kind.stored} is no custom kind"
    version = next(one for one in kind.definition["versions"] if one["name"] == kind.version)
    list_kind = kind.definition["names"].get("listKind") or f"{kind.kind}List"
    part: dict[str, Any] = orjson.loads(_renamed(kind, list_kind))
    absent = [f"{{name}}/{name}" for name in ("status", "scale") if name not in kind.subresources]
    part["paths"] = {path: one for path, one in part["paths"].items() if not path.endswith(tuple(absent))}
    schemas: dict[str, Any] = part["components"]["schemas"]
    if "scale" not in kind.subresources:
        schemas = {name: one for name, one in schemas.items() if not name.startswith(SCALE)}
    prefix = f"{_reversed(kind.group)}.{kind.version}."
    declared = version.get("schema", {}).get("openAPIV3Schema", {})
    schemas[prefix + kind.kind] = _object(declared, schemas[prefix + kind.kind])
    for name in (kind.kind, list_kind):
        schemas[prefix + name] |= _selectable(version)
    part["components"]["schemas"] = schemas
    return part


def _renamed(kind: Kind, list_kind: str) -> str:
    """The text of the document with the kind's names in it: DNS names and identifiers, which JSON need not quote."""
    group = kind.group.removesuffix(".k8s.io")
    tokens = {
        "@group@": kind.group,
        "@reversed@": _reversed(kind.group),
        "@tag@": f"{_identifier(group)}_{_identifier(kind.version)}",
        "@operation@": _capital(_identifier(group)) + _capital(_identifier(kind.version)),
        "@version@": kind.version,
        "@plural@": kind.plural,
        "@list@": list_kind,
        "@article@": _article(kind.kind),
        "@kind@": kind.kind,
    }
    text = data.custom_openapi(namespaced=kind.namespaced)
    for token, name in tokens.items():
        text = text.replace(token, name)
    return text


def _reversed(group: str) -> str:
    return ".".join(reversed(group.split(".")))


def _identifier(name: str) -> str:
    """`kd1.example.com` → `kd1ExampleCom`, without a digit in front."""
    first, *others = "".join(one if one.isalnum() else " " for one in name).split()
    return (first if not first[0].isdigit() else first[1:]) + "".join(_capital(other) for other in others)


def _capital(name: str) -> str:
    return name[:1].upper() + name[1:]


def _article(noun: str) -> str:
    """What stands before a kind's name in a description; nothing before what looks like a plural."""
    if noun.endswith("s") and not noun.endswith("ss"):
        return " "
    return " an " if noun[0] in "aeiouAEIOU" else " a "


def _selectable(version: dict[str, Any]) -> dict[str, JSON]:
    """Fields that selectors may name, as an extension of the schema."""
    fields: list[JSON] = [
        {"fieldPath": one["jsonPath"].removeprefix(".")} for one in version.get("selectableFields", ())
    ]
    return {"x-kubernetes-selectable-fields": fields} if fields else {}


def _object(declared: dict[str, Any], template: dict[str, Any]) -> dict[str, Any]:
    """A custom kind's schema: the declared one, with the fields that every object has."""
    common = dict(template["properties"])
    embedded = common.pop("embedded")["properties"]
    schema = _published(declared, embedded)
    extension = "x-kubernetes-group-version-kind"
    return {**schema, "properties": schema.get("properties", {}) | common, extension: template[extension]}


def _published(declared: dict[str, Any], embedded: dict[str, Any]) -> dict[str, Any]:
    """A schema as the API server publishes it: embedded objects get their fields, `int-or-string` both types."""
    schema = {key: value for key, value in declared.items() if value or key not in KEPT_IF_TRUE}
    if schema.get("properties"):
        schema["properties"] = {key: _published(one, embedded) for key, one in schema["properties"].items()}
    for key in ("items", "additionalProperties"):
        if isinstance(schema.get(key), dict):
            schema[key] = _published(schema[key], embedded)
    if schema.get("x-kubernetes-int-or-string"):
        schema |= _both_types(schema)
    if schema.get("x-kubernetes-embedded-resource"):
        required = schema.get("required", [])
        schema["required"] = required + [key for key in ("kind", "apiVersion") if key not in required]
        schema["properties"] = schema.get("properties", {}) | embedded
    return schema


def _both_types(schema: dict[str, Any]) -> dict[str, JSON]:
    """What `int-or-string` adds, unless it is declared: first in `allOf` where there is another `anyOf`."""
    every = schema.get("allOf", [])
    if schema.get("anyOf") == INTEGER_OR_STRING or (every and every[0].get("anyOf") == INTEGER_OR_STRING):
        return {}
    return {"allOf": [{"anyOf": INTEGER_OR_STRING}, *every]} if "anyOf" in schema else {"anyOf": INTEGER_OR_STRING}
