"""The schemas of a section's values, from its files in `openapi/`.

    schemas = load(directory, "ingressNginx")
    config = schemas.config.defaults(config) if schemas.config else config

Own code, because no library reads such schemas as addon-operator does (docs/decisions.md). Words for true and
false are those of YAML 1.1, as in `values.yaml`; keys are always the text that was written.
"""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from hookrunner import safe_files
from hookrunner.errors import BadModule
from hookrunner.model.modules import GLOBAL
from hookrunner.values.schemas.node import Node, cycles
from hookrunner.values.schemas.schema import CheckMode, SectionSchema
from hookrunner.values.schemas.schema_reader import RULES, Reader, SchemaDocuments
from hookrunner.values.schemas.slips import FOR_HELM, Slip
from kubetypes import cel, yaml_values
from kubetypes.json_values import JSON
from kubetypes.light_dataclasses import dataclass

CONFIG, VALUES = "openapi/config-values.yaml", "openapi/values.yaml"
SPEC = "openapi/spec.yaml"
"""In an addon, in place of CONFIG."""
_ENABLED_MODULES = "enabledModules"
_NO_CEL = f"{RULES} are rules in CEL, and the library that checks them is missing: pip install 'hookrunner[cel]'"


@dataclass(frozen=True, slots=True)
class Schemas:
    """The schemas of a section: as users write it, as hooks and charts see it, and right before its chart is rendered.

    None allows anything. The author of the files should correct `slips`.
    """

    config: SectionSchema | None = None
    values: SectionSchema | None = None
    helm: SectionSchema | None = None
    slips: tuple[Slip, ...] = ()


class _Document(NamedTuple):
    """A file, the schema in it, and the mistakes that addon-operator overlooks."""

    raw: dict[str, JSON]
    root: Node
    slips: list[Slip]


def load(directory: Path, section: str) -> Schemas:
    """Load the schemas in the directory of a module, or of the global hooks. `section` is its key in values, or
    `global`.

    Raises BadModule, which names the file and everything that is wrong with it.
    """
    config, values = _document(directory, CONFIG), _document(directory, VALUES)
    known = _ENABLED_MODULES if section == GLOBAL else ""
    own = None if config is None else _with_property(config.root, known)
    whole = None if values is None else _with_property(_extended(values, config), known)
    return _schemas(own, whole, config, values)


def load_of_addon(directory: Path, known: str) -> Schemas:
    """Load the schemas of an addon's instances: of their fields in `openapi/spec.yaml`, and of what hooks and templates
    see, which are these fields, those in `openapi/values.yaml`, and under the key `known` what is known of the
    instance. Rules in CEL are those of the kind's definition (`addons/files/definition_rules.py`). Raises BadModule."""
    spec, values = _document(directory, SPEC), _document(directory, VALUES)
    own = None if spec is None else spec.root
    whole = own if values is None else values.root if spec is None else _merged(values, spec)
    return _schemas(own, None if whole is None else _with_property(whole, known), spec, values)


def _schemas(own: Node | None, whole: Node | None, *files: _Document | None) -> Schemas:
    return Schemas(
        None if own is None else SectionSchema(own, CheckMode()),
        None if whole is None else SectionSchema(whole, CheckMode()),
        None if whole is None else SectionSchema(whole, CheckMode(helm=True)),
        tuple(slip for document in files if document for slip in document.slips),
    )


def _document(directory: Path, name: str) -> _Document | None:
    """Read a schema file; None if it is missing or empty."""
    raw = _raw(directory / name)
    if raw is None:
        return None
    reader = Reader(SchemaDocuments(directory, name, raw), name)
    try:
        root = reader.root()
    except RecursionError:
        raise BadModule(f"{directory / name}: nested too deeply") from None
    if problems := reader.problems or cycles(reader.nodes) or _uncheckable(reader.nodes):
        raise BadModule(f"{directory / name}: {'; '.join(problems)}")
    return _Document(raw, root, reader.slips)


def _uncheckable(nodes: Sequence[Node]) -> list[str]:
    """Rules that cannot be checked. Values that a module's author forbids must not pass, so the schema is refused."""
    with_rules = [node for node in nodes if node.rules]
    return [] if cel.available() else [f"{node.at}: {_NO_CEL}" for node in with_rules[:1]]


def _raw(path: Path) -> JSON:
    try:
        read = [
            document
            for document in yaml_values.documents(safe_files.read(path), yaml_values.YAML_1_1)
            if document is not None
        ]
    except FileNotFoundError:
        return None
    except OSError as error:
        raise BadModule(f"{path}: cannot be read: {error.strerror}") from None
    except yaml_values.BadDocument as error:
        raise BadModule(f"{path}: {error}") from None
    if len(read) > 1 or not all(isinstance(document, dict) for document in read):
        raise BadModule(f"{path}: must hold one schema, which is an object such as `type: object`")
    return read[0] if read else None


def _extended(values: _Document, config: _Document | None) -> Node:
    """`x-extend`: the config schema, for everything that the values schema does not define itself."""
    extends = values.raw.get("x-extend")
    if config is None or not isinstance(extends, dict) or extends.get("schema") is None:
        return values.root
    return _merged(values, config)


def _merged(values: _Document, config: _Document) -> Node:
    """The values schema, with what only the config schema defines."""
    root, parent = values.root, config.root
    return replace(
        root,
        required=tuple(dict.fromkeys((*parent.required, *root.required))),
        properties={**parent.properties, **root.properties},
        patterns={**parent.patterns, **root.patterns},
        rules=root.rules if RULES in values.raw else parent.rules,
        required_for_helm=root.required_for_helm if FOR_HELM in values.raw else parent.required_for_helm,
    )


def _with_property(root: Node, name: str) -> Node:
    """Add a property that the schema need not define, with any value: `enabledModules` of the global section, `addon`
    of an instance's. No name adds nothing."""
    if not name or name in root.properties:
        return root
    given = Node(f"{root.place}/properties/{name}", additional=True)
    return replace(root, properties={**root.properties, name: given})
