"""The CRDs that a module brings in `crds/` (addon-operator.md §6.9). They are applied before any chart, not by Helm."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from hookrunner import regular_files
from hookrunner.errors import BadChart
from hookrunner.model.resources import JSON
from hookrunner.yaml_values import YAML_1_2, BadDocument, documents

_VERSION, _KIND = "apiextensions.k8s.io/v1", "CustomResourceDefinition"


def crds(directory: Path, skip_prefixes: Sequence[str]) -> list[JSON]:
    """All of them, in the order of their files. Files whose name begins with one of `skip_prefixes` are left out.

    Raises BadChart for what is no CRD, naming file and document.
    """
    files = sorted((directory / "crds").rglob("*.yaml"))
    return [crd for file in files if not file.name.startswith(tuple(skip_prefixes)) for crd in _of(file)]


def _of(file: Path) -> Iterator[JSON]:
    try:
        for number, document in enumerate(documents(regular_files.read(file), YAML_1_2), start=1):
            if document is None:
                continue
            if not _is_crd(document):
                raise BadChart(f"{file}, document {number}: only {_KIND} of {_VERSION} may be in crds/")
            yield document
    except BadDocument as error:
        raise BadChart(f"{file}, document {error.number}: {error}") from None
    except OSError as error:
        raise BadChart(f"{file}: {error.strerror}") from None


def _is_crd(document: JSON) -> bool:
    if not isinstance(document, dict):
        return False
    metadata = document.get("metadata")
    named = isinstance(metadata, dict) and bool(metadata.get("name"))
    return named and document.get("apiVersion") == _VERSION and document.get("kind") == _KIND
