"""Which value wins: the layers of one section, the later over the earlier (docs/modules.md, Values).

1. static values: the common `values.yaml`, then the module's own
2. defaults of the schema in `config-values.yaml`, for keys that are absent so far
3. the user's config: the ConfigMap, then the Secret
4. defaults of the schema in `values.yaml`, for keys that are absent so far
5. what hooks have patched in memory (`patches`)

Maps are merged key by key, everything else is replaced. Documents are never changed, and share what they can.
"""

from typing import Protocol

from hookrunner.model.resources import JSON


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


def merged(low: JSON, high: JSON) -> JSON:
    """One layer over another."""
    if not (isinstance(low, dict) and isinstance(high, dict)):
        return high
    if not (low and high):
        return high or low
    over = {key: merged(low[key], value) if key in low else value for key, value in high.items()}
    return low | over


def defaulted(schema: LayerSchema | None, value: JSON) -> JSON:
    """A value with the defaults of a schema."""
    return schema.defaults(value) if schema else value


def stages(static: JSON, config: JSON, schemas: LayerSchemas) -> tuple[JSON, JSON, JSON, JSON]:
    """The section after each of the layers 1 to 4."""
    below = defaulted(schemas.config, static)
    above = merged(below, config or {})
    return static, below, above, defaulted(schemas.values, above)


def checked_config(config: JSON, schemas: LayerSchemas) -> JSON:
    """A user's config as the schema for configs checks it: over the defaults, without static values."""
    return merged(defaulted(schemas.config, {}), config or {})
