"""The components of addons: what is kept of an object that belongs to one. Pure.

    judge_component(obj, now)              # its health, with its addons and conditions: for `KindHealth`
    Component("apps/v1", ObjectKey("kube-system", "Deployment", "coredns"), health)

Of an object only this is kept: a cluster may have thousands of them, and an `Addon` shows no more.
"""

import re
from collections.abc import Mapping
from datetime import datetime
from functools import lru_cache
from typing import NamedTuple

import orjson

from hookrunner.model.addons import DISCOVERY_LABEL
from hookrunner.model.resources import ObjectKey
from hookrunner.releases.health.object_health import health_of
from hookrunner.releases.health.object_status import ObjectHealth, field_of
from kubetypes.json_values import JSON, written
from kubetypes.light_dataclasses import dataclass

_NAME = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
"""What an object can be called: https://kubernetes.io/docs/concepts/overview/working-with-objects/names/"""
CONDITION_FIELDS = ("type", "status", "reason", "message", "lastTransitionTime")
MOST_ADDONS = 20
"""Of one object: who may label it could otherwise have ten thousand objects of the kind `Addon` written."""
MOST_CONDITIONS = 10
LONGEST_MESSAGE = 256
"""Of an object's conditions, so that its controller cannot make an `Addon` too large."""


@dataclass(frozen=True, slots=True)
class ComponentHealth(ObjectHealth):
    """The health of an object that has more to show: the addons whose labels it has, and its conditions as
    `keep_conditions` made them; empty for none."""

    addons: tuple[str, ...] = ()
    conditions: bytes = b""


class Component(NamedTuple):
    """An object of an addon."""

    api_version: str
    key: ObjectKey
    health: ObjectHealth

    @property
    def identity(self) -> tuple[str, ObjectKey]:
        """API group and key: the same for each version in which an object is named."""
        return self.api_version.rpartition("/")[0], self.key

    @property
    def conditions(self) -> list[JSON]:
        """The object's conditions, as a reference has them."""
        text = self.health.conditions if isinstance(self.health, ComponentHealth) else b""
        rows = orjson.loads(text) if text else ()
        return [{key: value for key, value in zip(CONDITION_FIELDS, row, strict=True) if value} for row in rows]

    def __str__(self) -> str:
        place = f"{self.key.namespace}/" if self.key.namespace else ""
        return f"{self.key.kind} {place}{self.key.name}"


def judge_component(obj: JSON, now: datetime) -> ObjectHealth:
    """The health of a complete object, or of its metadata alone."""
    health = health_of(obj, now)
    addons, conditions = addons_of(obj["metadata"]), keep_conditions(field_of(obj, "status", "conditions"))
    if not (addons or conditions):
        return health
    return ComponentHealth(health.status, health.reason, health.message, addons=addons, conditions=conditions)


def addons_of(metadata: JSON) -> tuple[str, ...]:
    """The addons whose labels an object has, sorted. A label may have a name that no object can have (`My_Addon`,
    `a..b`): that counts as none, and so do all beyond the first `MOST_ADDONS`."""
    labels = metadata.get("labels") or ()
    names = (label.removeprefix(DISCOVERY_LABEL) for label in labels if label.startswith(DISCOVERY_LABEL))
    return _shared(tuple(sorted(filter(_NAME.fullmatch, names))[:MOST_ADDONS]))


@lru_cache(maxsize=256)
def _shared(addons: tuple[str, ...]) -> tuple[str, ...]:
    """One tuple for all objects of the same addons."""
    return addons


def keep_conditions(entries: JSON) -> bytes:
    """The values of an object's conditions as JSON, each in the order of `CONDITION_FIELDS`: with their keys they would
    take 50 bytes more, and parsed ones six times as much. Empty for none, and for what is no list.

    What changes without need, such as the time of a heartbeat, is left out: it would cost a write each time.
    """
    conditions = entries[:MOST_CONDITIONS] if isinstance(entries, list) else ()
    rows = [[_text(entry.get(key)) for key in CONDITION_FIELDS] for entry in conditions if isinstance(entry, Mapping)]
    return written(rows) if rows else b""


def _text(value: JSON) -> str:
    return value[:LONGEST_MESSAGE] if isinstance(value, str) else ""
