"""Modules as they would be in a cluster, without asking one: from their files, and from files with what users
configure.

Everything is decided by the code that decides it in a cluster. What only runs there is left out: no global hook has
patched anything, and only modules are on that the files turn on. Templates see a stock Kubernetes.

What a user configures is a manifest of a ConfigMap or a Secret, or plain sections:

    ingressNginxEnabled: true        a file of sections: what would be under `data`, as text or as plain YAML
    ingressNginx: {replicas: 2}
"""

import base64
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, field
from pathlib import Path

from hookrunner import redaction
from hookrunner.errors import BadInput, BadModule, BadValues
from hookrunner.hooks import documents
from hookrunner.model.modules import GLOBAL, Decision, Module
from hookrunner.model.releases import Capabilities, RenderRequest
from hookrunner.model.status import ModuleDump
from hookrunner.modules.enabled import Asks, Facts, Recalculation, ScriptValues
from hookrunner.modules.shelf import Shelf
from hookrunner.shapes import suggestion
from hookrunner.values import config_sections
from hookrunner.values.config_sections import Config
from hookrunner.values.section import Origin
from hookrunner.values.section_store import SectionStore
from kubetypes.json_values import JSON
from kubetypes.light_dataclasses import dataclass
from kubetypes.openapi import builtin_kinds
from kubetypes.yaml_values import BadDocument


@dataclass(frozen=True, slots=True)
class Configured:
    """The ConfigMap's part and the Secret's, None without one."""

    plain: Config = field(default_factory=Config)
    secret: Config | None = None


@dataclass(frozen=True, slots=True)
class Offline:
    """Modules with their values. `refused` has, by key, why what is configured cannot be used."""

    shelf: Shelf
    store: SectionStore
    configured: Configured
    refused: Mapping[str, BadValues]

    def module(self, name: str) -> Module:
        """The module of this name. Raises BadInput for an unknown name, BadModule if it cannot be loaded, BadValues if
        its values, or the global ones, cannot be used."""
        module = next((module for module in self.shelf.modules if module.name == name), None)
        if module is None:
            names = [module.name for module in self.shelf.modules]
            hint = suggestion(name, names) or (
                f"; there are {', '.join(names)}" if names else "; no modules were found"
            )
            raise BadInput(f"there is no module '{name}'{hint}")
        if module.problem:
            raise BadModule(f"module {name}: {module.problem}")
        for key in (GLOBAL, module.key):
            if key in self.refused:
                raise self.refused[key]
        return module

    def key(self, section: str) -> str:
        """The key of a module, by its name, or of the global section. Raises as `module`."""
        if section != GLOBAL:
            return self.module(section).key
        if GLOBAL in self.refused:
            raise self.refused[GLOBAL]
        return GLOBAL

    def values(self, section: str, whole: bool = False) -> JSON:
        """The effective values; `whole` adds the global section. Raises as `module`."""
        key = self.key(section)
        return self.store.document(key) if whole else self.store.effective(key)

    def config(self, section: str, whole: bool = False) -> JSON:
        """What the user has set, None for nothing. Raises as `module`."""
        key = self.key(section)
        return self.store.config_document(key) if whole else self.store.config(key)

    def explain(self, section: str) -> list[Origin]:
        """Which layer has set each value. Raises as `module`."""
        return self.store.explain(self.key(section))

    def order(self, name: str, namespace: str, labels: Mapping[str, str], capabilities: Capabilities) -> RenderRequest:
        """What to render for a first install of its chart. Raises as `module`, and BadValues for values that are
        unfit for templates."""
        module = self.module(name)
        self.store.for_helm(module.key)
        return RenderRequest(
            directory=module.directory,
            name=module.name,
            namespace=module.traits.namespace or namespace,
            values=self.store.document(module.key),
            capabilities=capabilities,
            install=True,
            labels=labels,
            quotes=True,
        )

    async def decisions(self, chain: Sequence[str], kubernetes: str, scripts: Asks) -> dict[str, Decision]:
        """Whether each module would be on, by name, and why."""
        modules = self.shelf.modules
        invalid = {key: str(error) for key, error in self.refused.items()}
        invalid |= {module.key: module.problem for module in modules if module.problem}
        plain, secret = self.configured.plain, self.configured.secret or Config()
        flags, unread = {**plain.enabled, **secret.enabled}, plain.bad_flags | secret.bad_flags
        facts = Facts(self.shelf.loaded.statics.enabled, {}, flags, invalid, frozenset(), kubernetes, unread)
        documents = {
            module.key: ScriptValues(self.store.config_document(module.key), self.store.document(module.key))
            for module in modules
            if module.script
        }
        return await Recalculation(chain, facts, documents, scripts).decisions(modules)


def offline(shelf: Shelf, configured: Configured) -> Offline:
    """The modules with these values; what is configured is validated for all of them, also for those that are off."""
    store = SectionStore(shelf.loaded.statics.sections, shelf.schemas)
    keys = frozenset(module.key for module in shelf.modules)
    adopted = store.adopt(configured.plain, configured.secret, keys)
    return Offline(shelf, store, configured, adopted.refused)


def list_rows(shelf: Shelf, decisions: Mapping[str, Decision]) -> list[JSON]:
    """The modules as `module list` shows them, in their order, then the directories that cannot be one. What depends on
    a cluster is empty."""
    decided = [(module, decisions[module.name]) for module in shelf.modules]
    return [
        *(_row(module, str(decision.choice), decision.by, decision.reason) for module, decision in decided),
        *(
            _row(module, "rejected", "", f"{module.directory}: {module.problem}")
            for module in shelf.loaded.found.rejected
        ),
    ]


def _row(module: Module, state: str, by: str, reason: str) -> JSON:
    dump = ModuleDump(
        name=module.name,
        weight=module.weight,
        version=module.traits.version,
        state=state,
        by=by,
        phase="",
        ready=False,
        reason=reason,
        revision=0,
        since=0.0,
        last_success=0.0,
        lacks=module.compiled,
    )
    return asdict(dump)


def stock_capabilities(version: str = "", more: Iterable[str] = ()) -> Capabilities:
    """The API versions of a Kubernetes without CRDs, and `more`: `group/version` or `group/version/Kind`, where the
    kind adds its version. `version` is used as given (`v1.33.1`, or `1.33` for short); empty is ours."""
    known = str(builtin_kinds.document()["version"]["gitVersion"])
    named = {name for given in more for name in _with_its_version(given)}
    return Capabilities(_complete_version(version) or known, tuple(sorted({*_builtin_names(), *named})))


def _builtin_names() -> Iterator[str]:
    for group in builtin_kinds.document()["groups"]:
        name = f"{group['group']}/{group['version']}".lstrip("/")
        yield name
        yield from (f"{name}/{kind['kind']}" for kind in group["kinds"])


def _with_its_version(name: str) -> Iterator[str]:
    yield name
    if name.count("/") == 2:
        yield name.rpartition("/")[0]


def _complete_version(version: str) -> str:
    """`1.33` → `v1.33.0`: templates compare versions of three numbers."""
    if not version:
        return ""
    numbers = version.removeprefix("v")
    return f"v{numbers}{'.0' * max(0, 2 - numbers.count('.'))}"


def read_configured(paths: Iterable[Path], as_addon: bool = False) -> Configured:
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


def to_config(document: Mapping[str, JSON]) -> Config:
    """The config of sections in plain YAML."""
    return config_sections.parse({key: _text(value) for key, value in document.items()})


def _documents(path: Path, as_addon: bool) -> list[JSON]:
    """The documents of a file. `global` and the other sections may be read in two dialects, as in the cluster."""
    try:
        text = path.read_bytes()
        shared = documents.every(text, config_sections.dialect(GLOBAL, as_addon))[0]
        own = documents.every(text, config_sections.dialect("", as_addon))[0]
        pairs = zip(own, shared, strict=True)
        return [_with_global(document, other) for document, other in pairs if document is not None]
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
