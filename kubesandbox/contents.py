"""The objects of a sandbox for who lives in the same process: read, and put in unchecked.

For tools that show what a change does to objects which need not be complete.
"""

from typing import Any
from uuid import uuid4

from kubesandbox.errors import ObjectRefused
from kubesandbox.kinds import Kind, Kinds
from kubesandbox.status import Refused
from kubesandbox.store import Key, Store
from kubesandbox.verbs import rules

__all__ = ["Key", "SandboxContents"]

Object = dict[str, Any]


class SandboxContents:
    """What a store holds."""

    def __init__(self, store: Store, kinds: Kinds) -> None:
        self._store = store
        self._kinds = kinds

    def serves(self, obj: Object) -> bool:
        """Whether the object's kind is served. One whose definition has just been put in may take a moment."""
        return self._kinds.of_kind(obj["apiVersion"], obj["kind"]) is not None

    def key(self, obj: Object) -> Key:
        """Where the object is kept, or would be. Raises `ObjectRefused` for a kind that is not served."""
        kind = self._kind(obj)
        namespace = str((obj.get("metadata") or {}).get("namespace") or "")
        return Key(kind.stored, namespace if kind.namespaced else "", obj["metadata"]["name"])

    def put(self, obj: Object) -> None:
        """Put an object in as if it had been there always: with the API's defaults, but unchecked. Raises
        `ObjectRefused` for a kind that is not served and for values of another type than the kind's fields have."""
        kind = self._kind(obj)
        metadata = {"uid": str(uuid4()), "creationTimestamp": "2026-01-01T00:00:00Z"} | obj["metadata"]
        body = {**obj, "metadata": metadata}
        if kind.stored == "namespaces":  # which has these in every cluster
            metadata["labels"] = {"kubernetes.io/metadata.name": metadata["name"]} | (metadata.get("labels") or {})
            body = {"spec": {"finalizers": ["kubernetes"]}, "status": {"phase": "Active"}} | body
        try:
            decoded, _ = rules.decoded(kind, body, "Ignore")
        except Refused as refused:
            raise ObjectRefused(f"{obj['kind']} {metadata['name']}: {refused.message}") from None
        self._store.put(self.key(obj), rules.defaulted(kind, decoded))

    def all(self) -> dict[Key, Object]:
        """Every object as it is stored."""
        return {one.key: one.json() for name in self._store.resources() for one in self._store.select(name)}

    def _kind(self, obj: Object) -> Kind:
        kind = self._kinds.of_kind(obj.get("apiVersion", "v1"), obj["kind"])
        if kind is None:
            name = f"{obj.get('apiVersion', 'v1')} {obj['kind']}"
            raise ObjectRefused(f"{obj['metadata']['name']}: there is no kind {name}; is its apiVersion right?")
        return kind
