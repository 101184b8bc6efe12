"""Packages of plain YAML files: placeholders replaced, documents read.

Large packages are read in a process (`large_texts.py`), for which this file imports little."""

from collections.abc import Mapping

from hookrunner.errors import BadManifest
from hookrunner.manifests.placeholders import PlaceholderValues
from hookrunner.manifests.sourced_object import read_objects
from hookrunner.model.sourced_objects import SourcedObject


def read_plain(manifests: Mapping[str, bytes], values: PlaceholderValues) -> tuple[SourcedObject, ...]:
    """The objects of plain files, Lists as they are. Raises MissingValue, BadManifest."""
    files = values.replace_in_yaml(manifests)
    return read_objects({path: _decoded(path, data) for path, data in files.items()})


def _decoded(path: str, data: bytes) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError:
        raise BadManifest(f"{path}: is not UTF-8; write it again, or name it under `data` in package.yaml") from None
