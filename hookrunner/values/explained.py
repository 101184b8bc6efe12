"""Where each value of a section comes from: for the person who wonders why it is not what they set."""

from collections.abc import Iterator
from contextlib import suppress
from typing import NamedTuple

from hookrunner.model.resources import JSON
from hookrunner.values import layers, pointers
from hookrunner.values.pointers import Misfit, Pointer
from hookrunner.values.section import Section

STATIC = "values.yaml"
CONFIG_DEFAULT = "default of config-values.yaml"
CONFIG_MAP = "ConfigMap"
SECRET = "Secret"
VALUES_DEFAULT = "default of values.yaml schema"
PATCH = "patch of a hook"


class Origin(NamedTuple):
    """A value that is no map (or an empty one inside), and the layer that has set it. Lists count as a whole."""

    pointer: str
    value: JSON
    layer: str

    def shown(self) -> JSON:
        """As a document for whoever asks; what the Secret has set is not for everybody."""
        value = "*** from the Secret" if self.layer == SECRET else self.value
        return {"path": self.pointer, "value": value, "layer": self.layer}


def origins(section: Section) -> list[Origin]:
    """All values of a section, in the order of their pointers."""
    static, below, _, _ = layers.stages(section.static, section.config, section.schemas)
    patched = set(section.patches.places())
    said = ((SECRET, section.secret), (CONFIG_MAP, section.plain), (STATIC, static), (CONFIG_DEFAULT, below))

    def layer(place: Pointer) -> str:
        whole = (section.key, *place)
        if any(whole[: depth + 1] in patched for depth in range(len(whole))):
            return PATCH
        return next((name for name, document in said if _has(document, place)), VALUES_DEFAULT)

    leaves = sorted(_leaves(section.effective, ()), key=lambda leaf: leaf[0])
    return [Origin(pointers.text((section.key, *place)), value, layer(place)) for place, value in leaves if place]


def _leaves(value: JSON, place: Pointer) -> Iterator[tuple[Pointer, JSON]]:
    if not isinstance(value, dict) or not value:
        yield place, value
        return
    for key, inner in value.items():
        yield from _leaves(inner, (*place, key))


def _has(document: JSON, place: Pointer) -> bool:
    with suppress(Misfit):
        pointers.found(document, place)
        return True
    return False
