"""Seeds: manifests that are in the sandbox from the beginning, in any order.

Definitions and namespaces go first, owners before what they own: an owner gets a new uid here, and what it owns in the
seeds refers to it by its name.
"""

import asyncio
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from kubesandbox.errors import BadFile
from kubesandbox.kinds import Kind
from kubesandbox.query.requests import Place, WriteParameters
from kubesandbox.status import Refused
from kubesandbox.store import Key
from kubesandbox.verbs.api import Api
from kubesandbox.verbs.bodies import Body
from kubetypes import yaml_values
from kubetypes.yaml_values import BadDocument

FIRST = ("CustomResourceDefinition", "Namespace")
SUFFIXES = (".yaml", ".yml", ".json")
SERVED_WITHIN = 200
OPTIONS = WriteParameters(manager="seed", validation="Strict")


async def plant(api: Api, files: Sequence[Path]) -> None:
    """Create every object of the files (a directory stands for those in it). Namespaces that are missing are made.

    An object that is there already (from a data file) is left as it is. Raises BadFile naming file and object.
    """
    read = [(path, obj) for path in _files(files) for obj in _objects(path)]
    owners = {_called(obj): _owners(obj) for _, obj in read}
    for path, obj in sorted(read, key=lambda pair: _rank(pair[1], owners)):
        await _create(api, path, obj)


Called = tuple[str, str]
"""Kind and name, which is enough to bring objects into an order."""


def _called(obj: dict[str, Any]) -> Called:
    return obj["kind"], str((obj.get("metadata") or {}).get("name", ""))


def _owners(obj: dict[str, Any]) -> list[dict[str, Any]]:
    found = (obj.get("metadata") or {}).get("ownerReferences")
    return [one for one in found if isinstance(one, dict)] if isinstance(found, list) else []


def _rank(obj: dict[str, Any], owners: dict[Called, list[dict[str, Any]]]) -> int:
    if obj["kind"] in FIRST:
        return FIRST.index(obj["kind"])
    rank, level, seen = len(FIRST), {_called(obj)}, set[Called]()
    while level := level - seen:
        rank, seen = rank + 1, seen | level
        level = {(str(one.get("kind")), str(one.get("name"))) for each in level for one in owners.get(each, ())}
    return rank


def _files(paths: Sequence[Path]) -> Iterator[Path]:
    for path in paths:
        if path.is_dir():
            yield from sorted(file for file in path.rglob("*") if file.suffix in SUFFIXES and file.is_file())
        else:
            yield path


def _objects(path: Path) -> Iterator[dict[str, Any]]:
    try:
        for document in yaml_values.documents(path.read_bytes(), yaml_values.YAML_1_1):
            yield from _unpacked(path, document)
    except BadDocument as error:
        raise BadFile(f"seed {path}, document {error.number}: {error}") from None
    except OSError as error:
        raise BadFile(f"seed {path} cannot be read: {error.strerror}; give a file of manifests") from None


def _unpacked(path: Path, document: Any) -> Iterator[dict[str, Any]]:
    """An object, or those of a `List`; an empty document is nothing."""
    if document is None:
        return
    said = document if isinstance(document, dict) else {}
    texts = isinstance(said.get("kind"), str) and isinstance(said.get("apiVersion"), str)
    if not texts or not isinstance(said.get("metadata") or {}, dict):
        raise BadFile(f"seed {path}: a document is no Kubernetes object: it needs apiVersion, kind and metadata")
    if document["kind"].endswith("List") and isinstance(document.get("items"), list):
        for item in document["items"]:
            yield from _unpacked(path, item)
    else:
        yield document


async def _create(api: Api, path: Path, obj: dict[str, Any]) -> None:
    meta = obj.get("metadata") or {}
    name = meta.get("name", meta.get("generateName", ""))
    kind = await _kind(api, obj)
    if kind is None:
        raise BadFile(f"seed {path}: {obj['kind']} '{name}': the sandbox serves no {obj['apiVersion']} {obj['kind']}")
    namespace = (meta.get("namespace") or "default") if kind.namespaced else ""
    body = {**obj, "metadata": {key: value for key, value in meta.items() if key != "resourceVersion"}}
    if _owners(obj):
        body["metadata"]["ownerReferences"] = [_identified(api, one, namespace) for one in _owners(obj)]
    where = Place(kind.group, kind.version, kind.plural, namespace)
    try:
        if namespace:
            _make_namespace(api, namespace)
        api.create(kind, where, OPTIONS, Body(body))
        if "status" in obj and "status" in kind.subresources:
            api.modify(kind, _below(where, name), OPTIONS, lambda old: old | {"status": obj["status"]})
    except Refused as refused:
        if refused.reason != "AlreadyExists":
            raise BadFile(f"seed {path}: {refused.message}") from None


def _identified(api: Api, owner: dict[str, Any], namespace: str) -> dict[str, Any]:
    """A reference with the uid that its owner has here; as it was, if there is no such owner."""
    kind = api.kinds.of_kind(str(owner.get("apiVersion")), str(owner.get("kind")))
    key = Key(kind.kept, namespace if kind.namespaced else "", str(owner.get("name"))) if kind else None
    stored = api.store.get(key) if key else None
    return owner | {"uid": stored.json()["metadata"]["uid"]} if stored else owner


def _below(where: Place, name: str) -> Place:
    return Place(where.group, where.version, where.plural, where.namespace, name, "status")


async def _kind(api: Api, obj: dict[str, Any]) -> Kind | None:
    """A definition that came just before takes a moment to be served."""
    for _ in range(SERVED_WITHIN):
        if (kind := api.kinds.of_kind(obj["apiVersion"], obj["kind"])) is not None:
            return kind
        await asyncio.sleep(0)
    return None


def _make_namespace(api: Api, name: str) -> None:
    kind = api.kinds.get("", "v1", "namespaces")
    assert kind is not None
    try:
        api.create(kind, Place("", "v1", "namespaces"), OPTIONS, Body({"metadata": {"name": name}}))
    except Refused as refused:
        if refused.reason != "AlreadyExists":
            raise
