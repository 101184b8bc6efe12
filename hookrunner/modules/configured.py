"""What a user configures, from files instead of the cluster: manifests of a ConfigMap or a Secret, or plain sections.

ingressNginxEnabled: true        a file of sections: what would be under `data`, as text or as plain YAML
ingressNginx: {replicas: 2}
"""

import base64
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from hookrunner import redaction
from hookrunner.errors import BadInput
from hookrunner.hooks import documents
from hookrunner.model.modules import GLOBAL
from hookrunner.values import config_sections
from hookrunner.values.config_sections import Config
from kubetypes.json_values import JSON
from kubetypes.yaml_values import BadDocument


@dataclass(frozen=True, slots=True)
class Configured:
    """The ConfigMap's part and the Secret's, None without one."""

    plain: Config = field(default_factory=Config)
    secret: Config | None = None


def read(paths: Iterable[Path], as_addon: bool = False) -> Configured:
    """Read all files; of a key in several files the last one counts. `as_addon`: they are read as addon-operator reads
    them. Raises BadInput."""
    plain: dict[str, str] = {}
    secret: dict[str, str] = {}
    for path in paths:
        for document in _documents(path, as_addon):
            if not isinstance(document, dict):
                kind = redaction.described(document)
                raise BadInput(f"{path}: a ConfigMap, a Secret or sections are wanted, not {kind}")
            hidden = document.get("kind") == "Secret"
            (secret if hidden else plain).update(_data(document, path))
    return Configured(
        config_sections.parse(plain, as_addon), config_sections.parse(secret, as_addon) if secret else None
    )


def of(document: Mapping[str, JSON]) -> Config:
    """The config of sections in plain YAML."""
    return config_sections.parse({key: _text(value) for key, value in document.items()})


def _documents(path: Path, as_addon: bool) -> list[JSON]:
    """The documents of a file. `global` and the other sections may be read in two dialects, as in the cluster."""
    try:
        text = path.read_bytes()
        shared = documents.every(text, config_sections.dialect(GLOBAL, as_addon))[0]
        found = documents.every(text, config_sections.dialect("", as_addon))[0]
        return [_with_global(one, other) for one, other in zip(found, shared, strict=True) if one is not None]
    except OSError as error:
        raise BadInput(f"{path}: cannot be read: {error.strerror}") from None
    except BadDocument as error:
        raise BadInput(f"{path}: document {error.number}: {error}") from None


def _with_global(document: JSON, other: JSON) -> JSON:
    """The document with the global section of the other."""
    if isinstance(document, dict) and GLOBAL in document:
        return document | {GLOBAL: other[GLOBAL]}
    return document


def _data(document: dict[str, JSON], path: Path) -> dict[str, str]:
    """Texts by key, as they would be in the cluster."""
    match document.get("kind"), document.get("data") or {}, document.get("stringData") or {}:
        case "ConfigMap", dict() as data, _:
            return {key: _text(value) for key, value in data.items()}
        case "Secret", dict() as data, dict() as plain:
            return {key: _decoded(key, value, path) for key, value in data.items()} | {
                key: _text(value) for key, value in plain.items()
            }
        case ("ConfigMap" | "Secret") as kind, _, _:
            raise BadInput(f"{path}: `data` of the {kind} must be a mapping of sections to texts")
        case None | {}, _, _:
            return {key: _text(value) for key, value in document.items()}
        case kind, _, _:
            raise BadInput(f"{path}: a ConfigMap or a Secret is wanted, or a file of sections, not a {kind}")


def _text(value: JSON) -> str:
    """A text as the ConfigMap would have it; anything else as YAML."""
    return value if isinstance(value, str) else config_sections.written(value).removesuffix("...\n")


def _decoded(key: str, value: JSON, path: Path) -> str:
    try:
        return base64.b64decode(str(value), validate=True).decode()
    except ValueError as error:
        raise BadInput(f"{path}: `data.{key}` of the Secret is not a text in base64: {error}") from None
