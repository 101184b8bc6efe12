"""Turns rendered templates into objects in the order in which Helm installs kinds, Helm hooks, notes and a manifest.

The texts are split as Helm splits them, and each part ends with one newline, which a block scalar at its end may show.
Values mean what they mean to Helm, so `hostNetwork: yes` is true; but a key is the text that was written: `n: 1` does
not become `"false": 1`. Lists are taken apart. Labels are set on objects and hooks, not on what lies inside them.

The manifest is YAML that a person can read and that every YAML parser reads alike: release records keep it, and Helm
reads them with YAML 1.1, where `y`, `1:30` or `1_000` are not texts. So a text is written plain only if it looks like a
word or a path, and quoted as in JSON otherwise.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import orjson

from hookrunner import redaction
from hookrunner.errors import BadManifest
from hookrunner.model.releases import HelmHook
from kubetypes.bounds import DOCUMENT, Tally
from kubetypes.json_values import JSON
from kubetypes.yaml_values import YAML_1_1, BadDocument, documents

_PLAIN = re.compile(r"[A-Za-z/][A-Za-z0-9_./-]*(?:[ :=,@+][A-Za-z0-9_./-]+)*")
_WORDS = re.compile(r"(?:y|n|yes|no|on|off|true|false|null)", re.IGNORECASE)
_UNREADABLE = re.compile(r"[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]")
_BLOCK = re.compile(r"(?=\S)[^\r\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff\ud800-\udfff]*")


def dump(value: JSON) -> str:
    """One document, ending with a newline."""
    lines: list[str] = []
    _write(lines, "", value, "")
    return "\n".join(lines).lstrip(" ") + "\n"


def _write(lines: list[str], head: str, value: JSON, indent: str) -> None:
    """`head` is the beginning of the first line: a key or a dash. The value of a dash begins on the same line."""
    if isinstance(value, dict | list) and value:
        start = f"{head} " if head.endswith("-") else indent
        if head and start == indent:
            lines.append(head)
        for mark, item in _entries(value):
            _write(lines, start + mark, item, indent + "  ")
            start = indent
    elif isinstance(value, str):
        text = _block(value, indent) if "\n" in value else _text(value)
        lines.append(f"{head} {text}")
    else:
        lines.append(f"{head} {orjson.dumps(value).decode()}")


def _entries(value: JSON) -> Iterator[tuple[str, JSON]]:
    if isinstance(value, dict):
        return ((_text(key) + ":", item) for key, item in value.items())
    return (("-", item) for item in value)


@lru_cache(maxsize=4096)
def _text(text: str) -> str:
    if _PLAIN.fullmatch(text) and not _WORDS.fullmatch(text):
        return text
    return _quoted(text)


def _quoted(text: str) -> str:
    """As JSON, except for characters that JSON allows and YAML does not."""
    return _UNREADABLE.sub(lambda match: f"\\u{ord(match[0]):04x}", orjson.dumps(text).decode())


def _block(text: str, indent: str) -> str:
    """The lines unquoted, if every parser reads them alike."""
    if not _BLOCK.fullmatch(text) or text.endswith("\n\n"):
        return _quoted(text)
    mark = "|" if text.endswith("\n") else "|-"
    lines = text.removesuffix("\n").split("\n")
    return "\n".join([mark, *(indent + line if line else "" for line in lines)])


# fmt: off
INSTALL_ORDER = (
    "PriorityClass", "Namespace", "NetworkPolicy", "ResourceQuota", "LimitRange", "PodSecurityPolicy",
    "PodDisruptionBudget", "ServiceAccount", "Secret", "SecretList", "ConfigMap", "StorageClass",
    "PersistentVolume", "PersistentVolumeClaim", "CustomResourceDefinition", "ClusterRole", "ClusterRoleList",
    "ClusterRoleBinding", "ClusterRoleBindingList", "Role", "RoleList", "RoleBinding", "RoleBindingList", "Service",
    "DaemonSet", "Pod", "ReplicationController", "ReplicaSet", "Deployment", "HorizontalPodAutoscaler",
    "StatefulSet", "Job", "CronJob", "IngressClass", "Ingress", "APIService", "MutatingWebhookConfiguration",
    "ValidatingWebhookConfiguration",
)
# fmt: on
"""Kinds in the order in which Helm installs them; others come last, by name. Source: Helm's kind_sorter.go."""

HOOK, WEIGHT, DELETE_POLICY = "helm.sh/hook", "helm.sh/hook-weight", "helm.sh/hook-delete-policy"
EVENTS = frozenset(
    f"{when}-{what}" for when in ("pre", "post") for what in ("install", "delete", "upgrade", "rollback")
)

_BETWEEN = re.compile(r"(?:\A|\n)---[\t\n\f\r ]*")
_RANK = {kind: rank for rank, kind in enumerate(INSTALL_ORDER)}
_NOTES = "NOTES.txt"
_INTEGERS = 2.0**63


@dataclass(frozen=True, slots=True)
class RenderedObject:
    """An object and the path of its template."""

    path: str
    obj: dict[str, Any]

    @property
    def order(self) -> tuple[int, str]:
        kind = str(self.obj["kind"])
        return (_RANK[kind], "") if kind in _RANK else (len(_RANK), kind)

    @property
    def hook(self) -> str | None:
        """Its events, if it is a Helm hook."""
        found: str | None = (self.obj["metadata"].get("annotations") or {}).get(HOOK)
        return found

    def labelled(self, labels: Mapping[str, str]) -> "RenderedObject":
        metadata = self.obj["metadata"]
        metadata = {**metadata, "labels": {**(metadata.get("labels") or {}), **labels}} if labels else metadata
        return RenderedObject(self.path, {**self.obj, "metadata": metadata})


@dataclass(frozen=True, slots=True)
class Manifests:
    """Everything that the templates rendered. `ignored` names hooks of events that Helm does not know."""

    manifest: str
    objects: tuple[JSON, ...]
    hooks: tuple[HelmHook, ...]
    notes: str
    ignored: tuple[str, ...]


def manifests(texts: Mapping[str, str], chart: str, labels: Mapping[str, str]) -> Manifests:
    """`texts` are rendered templates by their path, `chart` is the chart's name. Raises BadManifest, naming template
    and document, for a document that is not an object."""
    tally = Tally(DOCUMENT)
    sources = [source for path in sorted(texts) for source in _sources(path, texts[path], tally)]
    hooks = [source.labelled(labels) for source in sources if source.hook is not None]
    plain = [source.labelled(labels) for source in sources if source.hook is None for source in _split_list(source)]
    plain.sort(key=lambda source: source.order)
    known = sorted((source for source in hooks if _events(source)), key=lambda source: source.order)
    return Manifests(
        manifest="".join(f"---\n# Source: {source.path}\n{dump(source.obj)}" for source in plain),
        objects=tuple(source.obj for source in plain),
        hooks=tuple(map(_hook, known)),
        notes=texts.get(f"{chart}/templates/{_NOTES}", ""),
        ignored=tuple(f"{source.path}: {_name(source)}" for source in hooks if not _events(source)),
    )


def _sources(path: str, text: str, tally: Tally) -> Iterator[RenderedObject]:
    name = path.rsplit("/", 1)[-1]
    if name.startswith("_") or name.endswith(_NOTES):
        return
    parts = [f"{part.rstrip()}\n" for part in _BETWEEN.split(text.lstrip()) if part.strip()]
    for number, part in enumerate(parts, start=1):
        position = f"{path}, document {number}"
        try:
            values = list(documents(part.encode(errors="replace"), YAML_1_1, tally))
        except BadDocument as error:
            raise BadManifest(f"{position}: {error} (counted from the start of the document)") from None
        yield from (
            RenderedObject(path, _checked(position, _with_integers(value))) for value in values if value is not None
        )


def _with_integers(value: JSON) -> JSON:
    """Turns `1e+06`, as Helm writes large numbers, into 1000000: the API server accepts only that as an integer."""
    if isinstance(value, dict):
        return {key: _with_integers(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_with_integers(item) for item in value]
    return int(value) if isinstance(value, float) and value.is_integer() and abs(value) < _INTEGERS else value


def _checked(position: str, value: JSON) -> dict[str, Any]:
    """Refuses what every API server refuses, because its template is known only here."""
    if not isinstance(value, dict):
        raise BadManifest(f"{position}: not an object but {redaction.described(value)}")
    lacking = [key for key in ("apiVersion", "kind") if not isinstance(value.get(key), str) or not value[key]]
    if lacking:
        raise BadManifest(f"{position}: an object needs {' and '.join(lacking)}")
    if _is_list(value):
        return {"metadata": {}} | value
    metadata = value.get("metadata")
    if not isinstance(metadata, dict) or not (metadata.get("name") or metadata.get("generateName")):
        raise BadManifest(f"{position}: {value['kind']} has no metadata.name")
    for key in ("labels", "annotations"):
        if not isinstance(metadata.get(key) or {}, dict):
            raise BadManifest(f"{position}: {value['kind']} {metadata.get('name')}: metadata.{key} is not a mapping")
    return value


def _is_list(value: dict[str, Any]) -> bool:
    return str(value["kind"]).endswith("List") and isinstance(value.get("items"), list)


def _split_list(source: RenderedObject) -> Iterator[RenderedObject]:
    """A List's items, which may leave out what follows from the List's kind; any other object unchanged."""
    if not _is_list(source.obj):
        yield source
        return
    kind = str(source.obj["kind"]).removesuffix("List")
    known = {"apiVersion": source.obj["apiVersion"], "kind": kind} if kind else {}
    for number, item in enumerate(source.obj["items"], start=1):
        whole = {**known, **item} if isinstance(item, dict) else item
        yield from _split_list(
            RenderedObject(source.path, _checked(f"{source.path}, item {number} of a {kind}List", whole))
        )


def _name(source: RenderedObject) -> str:
    return f"{source.obj['kind']} {source.obj['metadata'].get('name', '')}".rstrip()


def _events(source: RenderedObject) -> tuple[str, ...]:
    """Empty if one of them is unknown: Helm then ignores the hook."""
    events = tuple("test" if word == "test-success" else word for word in _words(source.hook))
    return events if all(event in EVENTS or event == "test" for event in events) else ()


def _hook(source: RenderedObject) -> HelmHook:
    annotations = source.obj["metadata"]["annotations"]
    weight = str(annotations.get(WEIGHT, "0"))
    return HelmHook(
        name=str(source.obj["metadata"].get("name", "")),
        kind=str(source.obj["kind"]),
        path=source.path,
        text=dump(source.obj),
        obj=source.obj,
        events=_events(source),
        weight=int(weight) if re.fullmatch(r"[-+]?[0-9]{1,18}", weight) else 0,
        delete_policies=_words(annotations.get(DELETE_POLICY)) or ("before-hook-creation",),
    )


def _words(text: object) -> tuple[str, ...]:
    return tuple(word for part in str(text or "").split(",") if (word := part.strip().lower()))
