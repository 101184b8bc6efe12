"""Which rights a running hookrunner names as missing, and where: `/readyz`, `hookrunner status`, Events, the log."""

import json
import re
from collections.abc import Iterable
from typing import Any

import yaml

from hookrunner.cli.debug import ask
from hookrunner.model.rights import Right
from tests.controlplane.cluster import Cluster
from tests.flows.operator import Operator

Events = dict[str, str]
"""Versions of Events by their UID."""
_RULE = re.compile(r"(\{(?:apiGroups|nonResourceURLs): [^{}]*\})(?: in namespace ([a-z0-9.-]+))?(?: \(for ([^)]*)\))?")


def rights_in_text(text: str) -> list[Right]:
    """The rules that a text names, in the namespaces and for the objects that it names."""
    return [_to_right(yaml.safe_load(rule), *found) for rule, *found in _RULE.findall(text)]


def _to_right(rule: Any, namespace: str, names: str) -> Right:
    parts = {key: tuple(words) for key, words in rule.items()}
    return Right(
        parts.get("apiGroups", ()),
        parts.get("resources", ()),
        tuple(parts["verbs"]),
        parts.get("resourceNames", tuple(filter(None, names.split(", ")))),
        namespace,
        parts.get("nonResourceURLs", ()),
    )


def in_readyz(operator: Operator) -> list[Right]:
    """Those of the condition `rights`."""
    code, text = operator.get("/readyz?output=json")
    conditions = json.loads(text)["conditions"] if code else []
    return rights_in_text(" ".join(c["message"] for c in conditions if c["name"] == "rights"))


def in_status(operator: Operator) -> list[Right]:
    """Those of the needs that `hookrunner status` prints."""
    needs = json.loads(ask((operator.directory / "debug.socket",), "/status.json"))["needs"]
    return rights_in_text(" ".join(need["message"] for need in needs if need["kind"] == "rights"))


def in_log(operator: Operator) -> list[Right]:
    """Those that warnings and errors name."""
    return rights_in_text(" ".join(_texts(operator.logs())))


def _texts(records: Iterable[dict[str, Any]]) -> Iterable[str]:
    for record in records:
        if record["level"] in ("warn", "error"):
            yield from (value for value in record.values() if isinstance(value, str))


def read_events(cluster: Cluster) -> Events:
    """The version of each Event that there is now."""
    return {_uid(item): item["metadata"]["resourceVersion"] for item in _events(cluster)}


def in_events(cluster: Cluster, before: Events) -> list[Right]:
    """Those of Events that are new, or have been written again since."""
    new = [item for item in _events(cluster) if before.get(_uid(item)) != item["metadata"]["resourceVersion"]]
    return rights_in_text(" ".join(item.get("message") or "" for item in new))


def _uid(item: Any) -> str:
    return str(item["metadata"]["uid"])


def _events(cluster: Cluster) -> list[Any]:
    items: list[Any] = cluster.request("GET", "/api/v1/events").body["items"]
    return items
