"""Labels on the objects of an addon: those of `addon.yaml`, and the one that names the instance.

They go on `metadata.labels` of each object, in place of its own of the same name; selectors and templates of Pods stay
as they are, so a workload still finds its Pods.
"""

import hashlib
from collections.abc import Iterable, Mapping

from hookrunner.manifests.sourced_object import SourcedObject

LONGEST_VALUE = 63
"""Characters of a label's value. https://kubernetes.io/docs/concepts/overview/working-with-objects/labels/"""
_DIGITS = 10


def set_labels(sources: Iterable[SourcedObject], labels: Mapping[str, str]) -> tuple[SourcedObject, ...]:
    """The objects with these labels."""
    return tuple(source.labelled(labels) for source in sources)


def label_value(name: str) -> str:
    """An object's name as the value of a label: beyond 63 characters it is cut, and a part of its SHA-256 added."""
    if len(name) <= LONGEST_VALUE:
        return name
    digest = hashlib.sha256(name.encode()).hexdigest()[:_DIGITS]
    return f"{name[: LONGEST_VALUE - _DIGITS - 1].rstrip('.-_')}.{digest}"
