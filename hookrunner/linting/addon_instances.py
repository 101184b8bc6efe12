"""Instances with which packages of an addon are built: one that sets nothing, that of `example.yaml`, those of the test
cases that expect objects. And what two instances in one namespace would do to each other.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path

from hookrunner import safe_files
from hookrunner.addons.instance_fields import read_instance, require_kind
from hookrunner.errors import BadInput
from hookrunner.model.addons import Addon, Instance
from hookrunner.model.sourced_objects import SourcedObject, VersionlessId
from kubetypes.json_values import JSON
from kubetypes.yaml_values import YAML_1_2, BadDocument, documents

_EXAMPLE = "example.yaml"
_CASES, _IN, _ERROR = "tests", ".in.yaml", ".error"


def default_instance(addon: Addon) -> Instance:
    """An instance that sets nothing."""
    kind = addon.object
    metadata = {"name": "default"} | ({"namespace": "default"} if kind.namespaced else {})
    return read_instance(addon, {"apiVersion": kind.api_version, "kind": kind.kind, "metadata": metadata, "spec": {}})


def example_instance(addon: Addon) -> Instance:
    """The instance of example.yaml. Raises BadInput, BadDocument, OSError."""
    return _read(addon, addon.directory / _EXAMPLE)


def sample_instances(addon: Addon) -> Iterator[Instance]:
    """All of them that can be read, the one that sets nothing first."""
    yield default_instance(addon)
    cases = sorted((addon.directory / _CASES).glob(f"*{_IN}"))
    failing = {path.name.removesuffix(_ERROR) for path in (addon.directory / _CASES).glob(f"*{_ERROR}")}
    for path in (addon.directory / _EXAMPLE, *cases):
        if path.name.removesuffix(_IN) not in failing:
            try:
                instance = _read(addon, path)
            except (BadInput, BadDocument, OSError):
                continue
            if not instance.problems:
                yield instance


def _read(addon: Addon, path: Path) -> Instance:
    document = next(documents(safe_files.read(path), YAML_1_2), None)
    require_kind(addon, document)
    return read_instance(addon, document)


def named_like(addon: Addon, instance: Instance, name: str) -> Instance:
    """The same instance under another name."""
    metadata = {**instance.document["metadata"], "name": name}
    return read_instance(addon, {**instance.document, "metadata": metadata})


def shared_objects(one: Sequence[JSON], other: Sequence[JSON]) -> list[VersionlessId]:
    """The objects that both instances have."""
    first, second = (dict.fromkeys(SourcedObject("", obj).identity for obj in objects) for objects in (one, other))
    return [identity for identity in first if identity in second]
