"""Objects of packages, in as few words as possible."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from hookrunner.manifests.program_runner import ProgramLimits, ProgramRunner
from hookrunner.model.sourced_objects import SourcedObject
from hookrunner.process.child import Patience
from hookrunner.process.children import Children
from kubetypes.json_values import JSON


def sourced(kind: str, name: str, namespace: str = "", api_version: str = "v1", **content: JSON) -> SourcedObject:
    """An object of the file `<name>.yaml`; `content` are its top-level fields."""
    metadata = {"name": name, **({"namespace": namespace} if namespace else {}), **content.pop("metadata", {})}
    return SourcedObject(f"{name}.yaml", {"apiVersion": api_version, "kind": kind, "metadata": metadata, **content})


def pods_of(kind: str, api_version: str, *path: str, **pod: JSON) -> SourcedObject:
    """A workload named `a`, whose Pod's spec is at a path."""
    spec: JSON = pod
    for key in reversed(path):
        spec = {key: spec}
    return sourced(kind, "a", api_version=api_version, **spec)


@pytest.fixture
def runner(tmp_path: Path) -> Iterator[ProgramRunner]:
    """Programs have a minute, 256 MiB of memory and 64 KiB of output. Nothing of them is left at the end."""
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    yield ProgramRunner(Children(Patience(kill=0.2)), scratch, ProgramLimits(60, 256 << 20, 64 << 10))
    assert list(scratch.iterdir()) == []
