"""Addons directories as dictionaries, and addons and instances as values."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from hookrunner.addons.files.addon_file import to_addon
from hookrunner.model.addons import Addon
from kubetypes.json_values import JSON
from tests.trees import MakeTree, tree

__all__ = ["MakeTree", "tree"]


def addon(name: str = "coredns", kind: str = "CoreDNS", *, of: Mapping[str, JSON] | None = None, **keys: Any) -> Addon:
    """An addon that is only a value: `of` has further keys of `object`, `keys` those of the file."""
    document = {"object": {"kind": kind, "plural": kind.lower(), **(of or {})}, **keys}
    return to_addon(document, Path("/addons") / name, Path("/addons"))


def instance_of(spec: JSON, namespace: str = "kube-system", name: str = "default", **metadata: JSON) -> JSON:
    """An object of the kind CoreDNS."""
    place = {"namespace": namespace} if namespace else {}
    return {
        "apiVersion": "addons.x-k8s.io/v1alpha1",
        "kind": "CoreDNS",
        "metadata": {"name": name, **place, **metadata},
        "spec": spec,
    }
