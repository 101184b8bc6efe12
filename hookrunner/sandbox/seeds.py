"""Seeds: manifests that are in the sandbox from the beginning, in any order; definitions and namespaces go first."""

import asyncio
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from hookrunner import yaml_values
from hookrunner.errors import BadConfig
from hookrunner.sandbox.api import Api
from hookrunner.sandbox.bodies import Body
from hookrunner.sandbox.kinds import Kind
from hookrunner.sandbox.requests import Place, WriteOptions
from hookrunner.sandbox.status import Refused
from hookrunner.yaml_values import BadDocument

FIRST = ("CustomResourceDefinition", "Namespace")
SUFFIXES = (".yaml", ".yml", ".json")
SERVED_WITHIN = 200
OPTIONS = WriteOptions(manager="seed", validation="Strict")


async def plant(api: Api, files: Sequence[Path]) -> None:
    """Create every object of the files (a directory stands for those in it). Namespaces that are missing are made.

    An object that is there already (from a data file) is left as it is. Raises BadConfig naming file and object.
    """
    read = [(path, obj) for path in _files(files) for obj in _objects(path)]
    for path, obj in sorted(read, key=lambda pair: FIRST.index(pair[1]["kind"]) if pair[1]["kind"] in FIRST else 9):
        await _create(api, path, obj)


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
        raise BadConfig(f"seed {path}, document {error.number}: {error}") from None
    except OSError as error:
        raise BadConfig(f"seed {path} cannot be read: {error.strerror}; give a file of manifests") from None


def _unpacked(path: Path, document: Any) -> Iterator[dict[str, Any]]:
    """An object, or those of a `List`; an empty document is nothing."""
    if document is None:
        return
    if not isinstance(document, dict) or not isinstance(document.get("kind"), str) or "apiVersion" not in document:
        raise BadConfig(f"seed {path}: a document is no Kubernetes object: it needs apiVersion, kind and metadata")
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
        raise BadConfig(f"seed {path}: {obj['kind']} '{name}': the sandbox serves no {obj['apiVersion']} {obj['kind']}")
    namespace = (meta.get("namespace") or "default") if kind.namespaced else ""
    body = {**obj, "metadata": {key: value for key, value in meta.items() if key != "resourceVersion"}}
    where = Place(kind.group, kind.version, kind.plural, namespace)
    try:
        if namespace:
            _make_namespace(api, namespace)
        api.create(kind, where, OPTIONS, Body(body))
        if "status" in obj and "status" in kind.subresources:
            api.modify(kind, _below(where, name), OPTIONS, lambda old: old | {"status": obj["status"]})
    except Refused as refused:
        if refused.reason != "AlreadyExists":
            raise BadConfig(f"seed {path}: {refused.message}") from None


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
