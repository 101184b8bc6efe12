"""How texts become objects of manifests, and Lists are taken apart.

Documents are split as Helm does. Each ends with one newline, which a block scalar at its end may show. Values mean what
they mean to Helm, so `hostNetwork: yes` is true; but a key is the text that was written: `n: 1` does not become
`"false": 1`. https://helm.sh/docs/topics/charts_hooks/ has the annotation of hooks.
"""

import re
from collections.abc import Iterable, Iterator, Mapping

from hookrunner import redaction
from hookrunner.errors import BadManifest
from hookrunner.model.sourced_objects import SourcedObject
from kubetypes.bounds import DOCUMENT, Tally
from kubetypes.json_values import JSON, with_integers
from kubetypes.yaml_values import YAML_1_1, BadDocument, documents

_BETWEEN = re.compile(r"(?:\A|\n)---[\t\n\f\r ]*")


def read_objects(texts: Mapping[str, str]) -> tuple[SourcedObject, ...]:
    """The objects of all texts, sorted by path, Lists as they are. Raises BadManifest, naming path and document, for a
    document that is not an object with a name or a List."""
    tally = Tally(DOCUMENT)
    return tuple(source for path in sorted(texts) for source in _documents(path, texts[path], tally))


def split_lists(sources: Iterable[SourcedObject]) -> tuple[SourcedObject, ...]:
    """The objects, each List replaced by its items, which may leave out what follows from the List's kind. Raises
    BadManifest for an item that is no object with a name."""
    return tuple(item for source in sources for item in _split_list(source))


def _documents(path: str, text: str, tally: Tally) -> Iterator[SourcedObject]:
    parts = [f"{part.rstrip()}\n" for part in _BETWEEN.split(text.lstrip()) if part.strip()]
    for number, part in enumerate(parts, start=1):
        position = f"{path}, document {number}"
        try:
            values = list(documents(part.encode(errors="replace"), YAML_1_1, tally))
        except BadDocument as error:
            raise BadManifest(f"{position}: {error} (counted from the start of the document)") from None
        # Helm writes large numbers as `1e+06`: the API server accepts only 1000000 as an integer.
        yield from (
            SourcedObject(path, _checked(position, with_integers(value))) for value in values if value is not None
        )


def _checked(position: str, value: JSON) -> dict[str, JSON]:
    """Refuses what every API server refuses, because its template is known only here."""
    if not isinstance(value, dict):
        raise BadManifest(f"{position}: not an object but {redaction.described(value)}")
    lacking = [key for key in ("apiVersion", "kind") if not isinstance(value.get(key), str) or not value[key]]
    if lacking:
        raise BadManifest(f"{position}: an object needs {' and '.join(lacking)}")
    if _is_list(value):
        return {**value, "metadata": value["metadata"] if isinstance(value.get("metadata"), dict) else {}}
    metadata = value.get("metadata")
    if not isinstance(metadata, dict) or not (metadata.get("name") or metadata.get("generateName")):
        raise BadManifest(f"{position}: {value['kind']} has no metadata.name")
    for key in ("name", "namespace"):
        if not isinstance(metadata.get(key) or "", str):
            raise BadManifest(f"{position}: metadata.{key} of a {value['kind']} is no text; put it in quotes")
    for key in ("labels", "annotations"):
        if not isinstance(metadata.get(key) or {}, dict):
            raise BadManifest(f"{position}: {value['kind']} {metadata.get('name')}: metadata.{key} is not a mapping")
    return value


def _is_list(value: dict[str, JSON]) -> bool:
    return str(value["kind"]).endswith("List") and isinstance(value.get("items"), list)


def _split_list(source: SourcedObject) -> Iterator[SourcedObject]:
    if not _is_list(source.obj):
        yield source
        return
    kind = str(source.obj["kind"]).removesuffix("List")
    known = {"apiVersion": source.obj["apiVersion"], "kind": kind} if kind else {}
    for number, item in enumerate(source.obj["items"], start=1):
        whole = {**known, **item} if isinstance(item, dict) else item
        yield from _split_list(
            SourcedObject(source.path, _checked(f"{source.path}, item {number} of a {kind}List", whole))
        )
