"""Addons directories as dictionaries, and addons and instances as values."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from hookrunner.addons.files.addon_file import to_addon
from hookrunner.model.addons import Addon
from kubetypes.json_values import JSON

MakeTree = Callable[[Mapping[str, str]], Path]


@pytest.fixture
def tree(tmp_path: Path) -> MakeTree:
    """Makes files in an addons directory: paths with their texts. A path that ends in `/` is an empty directory, one
    that ends in `*` an executable file."""

    def make(files: Mapping[str, str]) -> Path:
        for name, text in files.items():
            path = tmp_path / name.removesuffix("*")
            (path if name.endswith("/") else path.parent).mkdir(parents=True, exist_ok=True)
            if not name.endswith("/"):
                path.write_text(text)
                path.chmod(0o755 if name.endswith("*") else 0o644)
        return tmp_path

    return make


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
