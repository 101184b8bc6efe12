"""Which labels a Node gets from its machine: type, zone and region under their names of today and of old, and those
that the provider adds.

    problems = invalid_labels(metadata)
    labels = initial_labels(node, metadata, beta=True)
    labels = corrected_labels(node)                  # of a Node that is initialised
    labels = synced_labels(node, metadata, last, beta=True)

Each is what a merge patch has to set, empty if nothing differs; a label is never removed. Functions of values.
Sources: https://kubernetes.io/docs/reference/labels-annotations-taints/ and
https://kubernetes.io/docs/concepts/overview/working-with-objects/labels/#syntax-and-character-set
"""

import re
from collections.abc import Iterator, Mapping

from hookrunner.cloud.answers import InstanceMetadata
from hookrunner.cloud.nodes.cloud_node import CloudNode
from hookrunner.cloud.shown_texts import Mask, quoted

TYPE, ZONE, REGION = (
    "node.kubernetes.io/instance-type",
    "topology.kubernetes.io/zone",
    "topology.kubernetes.io/region",
)
BETA_NAMES = {
    TYPE: "beta.kubernetes.io/instance-type",
    ZONE: "failure-domain.beta.kubernetes.io/zone",
    REGION: "failure-domain.beta.kubernetes.io/region",
}
"""The names of old, which older charts and volumes still select by."""

_RESERVED = re.compile(r"(^|\.)(kubernetes|k8s)\.io/")
_NAME = re.compile(r"[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?")
_PREFIX = re.compile(r"(?=.{1,253}\Z)[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
_RULE = "63 letters, digits, '-', '_' or '.' at most, a letter or digit at both ends"


def invalid_labels(metadata: InstanceMetadata, mask: Mask = str) -> Iterator[str]:
    """What is wrong with labels that the API server would refuse, each as a sentence that people may see. Reserved ones
    are not looked at, since they are not written."""
    for what, value in {
        "instanceType": metadata.instance_type,
        "zone": metadata.zone,
        "region": metadata.region,
    }.items():
        if not _is_value(value):
            yield f"{what} {quoted(value, mask)} is no value of a label: {_RULE}"
    for key, value in metadata.additional_labels.items():
        if _RESERVED.search(key):
            continue
        if not _is_key(key):
            yield f"{quoted(key, mask)} is no name of a label"
        if not _is_value(value):
            yield f"label {quoted(key, mask)}: {quoted(value, mask)} is no value of a label: {_RULE}"


def reserved_labels(metadata: InstanceMetadata) -> list[str]:
    """The provider's labels that belong to Kubernetes, and are not written."""
    return [key for key in metadata.additional_labels if _RESERVED.search(key)]


def initial_labels(node: CloudNode, metadata: InstanceMetadata, beta: bool) -> dict[str, str]:
    """The labels of a Node that is initialised now: its machine's place replaces other values, the provider's own
    labels do not."""
    return _placed(node, metadata, beta) | {
        key: value for key, value in _additional(metadata) if key not in node.labels
    }


def corrected_labels(node: CloudNode) -> dict[str, str]:
    """The labels of today that differ from those of old, which are the truth as long as they are there."""
    pairs = ((name, node.labels.get(beta)) for name, beta in BETA_NAMES.items())
    return {name: value for name, value in pairs if value is not None and node.labels.get(name) != value}


def synced_labels(node: CloudNode, metadata: InstanceMetadata, last: Mapping[str, str], beta: bool) -> dict[str, str]:
    """What has changed in the cloud since the Node was initialised. Of the provider's own labels, one that the Node has
    with another value is corrected only if that is what the cloud said `last`: else a user has set it."""
    labels = _placed(node, metadata, beta)
    for key, value in _additional(metadata):
        live = node.labels.get(key)
        if live is None or (live != value and last.get(key) == live):
            labels[key] = value
    return labels


def _placed(node: CloudNode, metadata: InstanceMetadata, beta: bool) -> dict[str, str]:
    """What has to be set of type, zone and region. A name of old that the Node has is kept equal in any case: else
    `corrected_labels` would undo the new one."""
    values = {TYPE: metadata.instance_type, ZONE: metadata.zone, REGION: metadata.region}
    labels = {key: value for key, value in values.items() if value}
    old = {BETA_NAMES[key]: value for key, value in labels.items() if beta or BETA_NAMES[key] in node.labels}
    return {key: value for key, value in (labels | old).items() if node.labels.get(key) != value}


def _additional(metadata: InstanceMetadata) -> Iterator[tuple[str, str]]:
    return ((key, value) for key, value in metadata.additional_labels.items() if not _RESERVED.search(key))


def _is_key(key: str) -> bool:
    prefix, slash, name = key.rpartition("/")
    return bool(_NAME.fullmatch(name)) and (not slash or bool(_PREFIX.fullmatch(prefix)))


def _is_value(value: str) -> bool:
    return not value or bool(_NAME.fullmatch(value))
