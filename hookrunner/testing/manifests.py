"""Objects from files that people write: YAML or JSON, several documents, `List` kinds, standard input."""

import glob
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

from hookrunner.errors import BadInput
from hookrunner.hooks import documents
from hookrunner.manifests.yaml_positions import readable_positions
from kubetypes.json_values import JSON
from kubetypes.yaml_values import BadDocument

STDIN = "-"


def load(patterns: Iterable[str], directory: Path) -> tuple[JSON, ...]:
    """The objects of all files that these paths or globs name, relative to a directory. Raises BadInput."""
    return tuple(obj for pattern in patterns for path in _paths(pattern, directory) for obj in _objects_of(path))


def load_one(pattern: str, directory: Path) -> JSON:
    """The only object of a file. Raises BadInput."""
    loaded = load([pattern], directory)
    if len(loaded) != 1:
        raise BadInput(f"{pattern}: one object is wanted here, {len(loaded)} are in it")
    return loaded[0]


def mapping(path: str) -> JSON:
    """The one mapping in a file, such as values. Raises BadInput."""
    try:
        text = Path(path).read_bytes()
        values = documents.every(text)[0] if text.strip() else [{}]
    except OSError as error:
        raise BadInput(f"{path}: {error.strerror}") from None
    except BadDocument as error:
        raise BadInput(f"{path}: {error}") from None
    if len(values) != 1 or not isinstance(values[0], dict):
        raise BadInput(f"{path}: one document with keys and values is wanted here")
    return values[0]


def objects(text: bytes, source: str) -> list[JSON]:
    """The objects in a text; `source` names it in errors. Raises BadInput with the line."""
    try:
        documents_read = documents.every(text)[0]
    except BadDocument as error:
        raise BadInput(f"{source}: document {error.number}: {error}") from None
    kept = [(number, document) for number, document in enumerate(documents_read) if document is not None]
    for number, document in kept:
        if problem := complaint(document):
            raise BadInput(f"{source}:{_line(text, number)}: {problem}")
    return [obj for _, document in kept for obj in _listed(document)]


def complaint(document: JSON) -> str:
    """Why a value is no API object; empty if it is one."""
    if not isinstance(document, dict):
        return f"an API object is a mapping with apiVersion, kind and metadata, not {str(document)[:40]!r}"
    if not isinstance(document.get("kind"), str) or not document["kind"]:
        return "`kind` is missing: write for example `kind: ConfigMap`"
    if isinstance(document.get("items"), list) and document["kind"].endswith("List"):
        return next((problem for item in document["items"] if (problem := complaint(item))), "")
    metadata = document.get("metadata")
    if not isinstance(metadata, dict) or not isinstance(metadata.get("name"), str) or not metadata["name"]:
        return f"`metadata.name` of this {document['kind']} is missing, or is no text"
    return ""


def _paths(pattern: str, directory: Path) -> list[str]:
    if pattern == STDIN:
        return [STDIN]
    named = (directory / pattern).exists()  # be it with brackets in its name
    names = [pattern] if named else sorted(glob.glob(pattern, root_dir=directory, recursive=True))
    if not names:
        raise BadInput(f"{pattern}: no such file (looked in {directory})")
    return [inner for path in names for inner in _inside(directory / path)]


def _inside(path: Path) -> Iterator[str]:
    """A directory stands for the manifests in it."""
    if not path.is_dir():
        yield str(path)
        return
    yield from (str(file) for file in sorted(path.iterdir()) if file.suffix in (".yaml", ".yml", ".json"))


def _objects_of(path: str) -> list[JSON]:
    try:
        text = sys.stdin.buffer.read() if path == STDIN else Path(path).read_bytes()
    except OSError as error:
        raise BadInput(f"{path}: {error.strerror}") from None
    contents = objects(text, "standard input" if path == STDIN else path)
    if not contents and path == STDIN:
        raise BadInput("standard input: no object came in")
    return contents


def _listed(document: JSON) -> list[JSON]:
    """The items of a list, as `kubectl get -o yaml` writes it, else the object itself."""
    if isinstance(document.get("items"), list) and document["kind"].endswith("List"):
        return [obj for item in document["items"] for obj in _listed(item)]
    return [document]


def _line(text: bytes, number: int) -> int:
    """The line in which a document begins; 1 for JSON that YAML does not understand."""
    starts = [position.start[0] + 1 for path, position in readable_positions(text) if not path]
    return starts[number] if number < len(starts) else 1
