"""One section of the values (`global` or a module's): its layers, their result, and which layer has set each value.

The layers, the later over the earlier (docs/modules.md, Values):

1. static values: the common `values.yaml`, then the module's own
2. defaults of the schema in `config-values.yaml`, for keys that are absent so far
3. the user's config: the ConfigMap, then the Secret
4. defaults of the schema in `values.yaml`, for keys that are absent so far
5. what hooks have patched in memory (`patches`)

Maps are merged key by key, everything else is replaced. Documents are never changed, and share what they can. A section
never changes either: every edit gives a new one or raises, so that a refused edit leaves the last good state.
"""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import field, replace
from typing import NamedTuple, Protocol

import orjson

from hookrunner.errors import BadValues
from hookrunner.model.operations import ValuesOperation
from hookrunner.values import config_sections, patches, pointers
from hookrunner.values.patches import Patches
from hookrunner.values.pointers import Misfit, Pointer
from kubetypes import json_values
from kubetypes.json_values import JSON, written
from kubetypes.light_dataclasses import dataclass


class LayerSchema(Protocol):
    """What layers need of an OpenAPI schema."""

    def defaults(self, value: JSON) -> JSON:
        """The value with its absent defaults."""

    def problems(self, value: JSON, old: JSON = None) -> list[str]:
        """What is wrong with a value; `old` is the previous value, for rules about changes."""


class LayerSchemas(Protocol):
    """A section's schemas; None if its module has no such schema."""

    @property
    def config(self) -> LayerSchema | None:
        """For what a user may set."""

    @property
    def values(self) -> LayerSchema | None:
        """For what hooks and templates see."""

    @property
    def helm(self) -> LayerSchema | None:
        """The same right before templates are rendered."""


class _NoSchemas:
    """No schemas: all values are allowed."""

    config = values = helm = None


NO_SCHEMAS: LayerSchemas = _NoSchemas()


READ_ONLY = "addon"
"""What is known of an instance, in its section: its name, its version."""


@dataclass(frozen=True, slots=True)
class Section:
    """`plain` and `secret` are the config in ConfigMap and Secret, None if they do not name the section; `config` is
    both. `effective` are all layers, `encoded` is their JSON. `checked` says that the schema has accepted the config.
    `misfits` are patches that do not fit the lower layers.

    `key` is its name in documents. Instances of one addon have sections of one key: then `unit` says whose it is,
    `plain` is the instance's spec, and hooks cannot change what stands under `addon`."""

    key: str
    static: JSON
    schemas: LayerSchemas
    plain: JSON = None
    secret: JSON = None
    checked: bool = False
    patches: Patches = field(default_factory=Patches)
    config: JSON = None
    effective: JSON = field(default_factory=dict)
    encoded: bytes = b"{}"
    misfits: tuple[str, ...] = ()
    unit: str = ""

    @property
    def id(self) -> str:
        """What identifies it among all sections."""
        return self.unit or self.key

    def computed(self) -> "Section":
        """The section after its layers have changed."""
        config = _both(self.plain, self.secret)
        base = _stages(self.static, config, self.schemas)[-1]
        whole, misfits = self.patches.reapplied({self.key: base})
        effective = whole[self.key]
        encoded = self._encoded(effective)
        return replace(self, config=config, effective=effective, encoded=encoded, misfits=tuple(misfits))

    def configured(self, plain: JSON, secret: JSON, checks: bool) -> "Section":
        """The section with another config, checked if `checks` and if it is not empty. Raises BadValues."""
        same = json_values.equal(plain, self.plain) and json_values.equal(secret, self.secret)
        config = _both(plain, secret)
        if checks and config and not (same and self.checked):
            self.check(config)
        if same:
            return self if self.checked or not checks else replace(self, checked=True)
        return replace(self, plain=plain, secret=secret, checked=checks).computed()

    def check(self, config: JSON) -> None:
        """Raise BadValues if the schema does not allow this config."""
        schema = self.schemas.config
        if schema is None:
            return
        old = _checked_config(self.config, self.schemas) if self.config is not None else None
        self._refuse(schema.problems(_checked_config(config, self.schemas), old))

    def patched_plain(self, operations: Iterable[ValuesOperation]) -> JSON:
        """The ConfigMap's section after a hook's patch of the config, checked; None if it need not change. Raises
        BadValues."""
        whole = patches.applied({self.key: self.config or {}}, operations, self.key)
        wanted = config_sections.without_nulls(whole[self.key])
        self._encoded(wanted)
        if json_values.equal(wanted, self.config or {}):
            return None
        self.check(wanted)
        try:
            return _less(wanted, self.secret or {}, self.plain, (self.key,))
        except Misfit as error:
            raise BadValues(self.key, [str(error)]) from None

    def patched(self, operations: Iterable[ValuesOperation]) -> "Section":
        """The section after a hook's patch in memory; itself if that changes nothing. Raises BadValues."""
        whole, kept = self.patches.then({self.key: self.effective}, operations, self.key)
        effective = whole[self.key]
        encoded = self._encoded(effective)
        if encoded == self.encoded:
            return self
        if self.schemas.values:
            self._refuse(self.schemas.values.problems(effective, self.effective))
        return replace(self, patches=kept, effective=effective, encoded=encoded)

    def permit(self, operations: Iterable[ValuesOperation]) -> None:
        """Raise BadValues if a hook of the section may not do this: change other sections, remove its own, or change
        what is known of an instance."""
        asked = tuple(operations)
        patches.permitted(asked, self.key)
        read_only = ((self.key,), (self.key, READ_ONLY)) if self.unit else ()
        paths = [operation.path for operation in asked if pointers.tokens(operation.path)[:2] in read_only]
        self._refuse([f"{path}: hooks cannot change /{self.key}/{READ_ONLY}" for path in paths])

    def unpatched(self) -> "Section":
        """The section without what hooks have patched in memory."""
        return replace(self, patches=Patches()).computed()

    def check_for_helm(self) -> None:
        """Raise BadValues if templates must not see these values."""
        if self.schemas.helm:
            self._refuse(self.schemas.helm.problems(self.effective))

    def _refuse(self, problems: list[str]) -> None:
        if problems:
            raise BadValues(self.id, problems)

    def _encoded(self, effective: JSON) -> bytes:
        """Its JSON. The depth is checked as if it were two levels deeper, because it is put into other documents."""
        try:
            return written([[effective]], orjson.OPT_SORT_KEYS)[2:-2]
        except orjson.JSONEncodeError as error:
            raise BadValues(self.id, [f"the values cannot be written as JSON: {error}"]) from None


def merged(low: JSON, high: JSON) -> JSON:
    """One layer over another."""
    if not (isinstance(low, dict) and isinstance(high, dict)):
        return high
    if not (low and high):
        return high or low
    over = {key: merged(low[key], value) if key in low else value for key, value in high.items()}
    return low | over


def _defaulted(schema: LayerSchema | None, value: JSON) -> JSON:
    """A value with the defaults of a schema."""
    return schema.defaults(value) if schema else value


def _stages(static: JSON, config: JSON, schemas: LayerSchemas) -> tuple[JSON, JSON, JSON, JSON]:
    """The section after each of the layers 1 to 4."""
    below = _defaulted(schemas.config, static)
    above = merged(below, config or {})
    return static, below, above, _defaulted(schemas.values, above)


def _checked_config(config: JSON, schemas: LayerSchemas) -> JSON:
    """A user's config as the schema for configs checks it: over the defaults, without static values."""
    return merged(_defaulted(schemas.config, {}), config or {})


def _both(plain: JSON, secret: JSON) -> JSON:
    if plain is None or secret is None:
        return secret if plain is None else plain
    return merged(plain, secret)


def _less(wanted: Mapping[str, JSON], secret: Mapping[str, JSON], plain: JSON, pointer: Pointer) -> JSON:
    """The ConfigMap's section that gives `wanted` under the Secret, whose values it must not repeat. Raises Misfit if
    no ConfigMap can give that."""
    old = plain if isinstance(plain, dict) else {}
    kept = {name: value for name, value in wanted.items() if name not in secret}
    for name, hidden in secret.items():
        wanted_value = wanted.get(name)
        if isinstance(hidden, dict) and isinstance(wanted_value, dict):
            inner = _less(wanted_value, hidden, old.get(name), (*pointer, name))
            kept |= {name: inner} if inner or name in old else {}
        elif name not in wanted or not json_values.equal(wanted_value, hidden):
            raise Misfit(f"{pointers.text((*pointer, name))} is set in the Secret, which hooks cannot change")
        elif name in old:
            kept[name] = old[name]
    return kept


STATIC = "values.yaml"
CONFIG_DEFAULT = "default of config-values.yaml"
CONFIG_MAP = "ConfigMap"
SECRET = "Secret"
VALUES_DEFAULT = "default of values.yaml schema"
PATCH = "patch of a hook"
INSTANCE = "instance"
SPEC = "spec"
SPEC_DEFAULT = "default of spec.yaml"


class Origin(NamedTuple):
    """A value that is not a map (or an empty map), and the layer that has set it. Lists count as a whole."""

    pointer: str
    value: JSON
    layer: str

    def shown(self) -> JSON:
        """As a document for the debug endpoint; values of the Secret are masked."""
        value = "*** from the Secret" if self.layer == SECRET else self.value
        return {"path": self.pointer, "value": value, "layer": self.layer}


def origins(section: Section) -> list[Origin]:
    """All values of a section, in the order of their pointers."""
    static, below, _, _ = _stages(section.static, section.config, section.schemas)
    patched = set(section.patches.places())
    user, default = (SPEC, SPEC_DEFAULT) if section.unit else (CONFIG_MAP, CONFIG_DEFAULT)
    sources = ((SECRET, section.secret), (user, section.plain), (STATIC, static), (default, below))

    def layer(pointer: Pointer) -> str:
        if section.unit and pointer[:1] == (READ_ONLY,):
            return INSTANCE
        whole = (section.key, *pointer)
        if any(whole[: depth + 1] in patched for depth in range(len(whole))):
            return PATCH
        return next((name for name, document in sources if _has(document, pointer)), VALUES_DEFAULT)

    leaves = sorted(_leaves(section.effective, ()), key=lambda leaf: leaf[0])
    return [
        Origin(pointers.text((section.key, *pointer)), value, layer(pointer)) for pointer, value in leaves if pointer
    ]


def _leaves(value: JSON, pointer: Pointer) -> Iterator[tuple[Pointer, JSON]]:
    if not isinstance(value, dict) or not value:
        yield pointer, value
        return
    for key, inner in value.items():
        yield from _leaves(inner, (*pointer, key))


def _has(document: JSON, pointer: Pointer) -> bool:
    with suppress(Misfit):
        pointers.found(document, pointer)
        return True
    return False
