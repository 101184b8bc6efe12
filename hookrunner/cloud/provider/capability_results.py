"""What a cloud's program says of itself, read and checked before anything relies on it.

A prefix without a scheme would make foreign Nodes the provider's own, and its own may be deleted. So capabilities are
taken whole or not at all: a wrong field is an error that names it.
"""

import re
from collections.abc import Container, Mapping

from hookrunner import redaction
from hookrunner.cloud.answers import CloudCapabilities, Interface
from hookrunner.cloud.provider import result_fields as fields
from hookrunner.cloud.provider.result_fields import UnusableField
from kubetypes.json_values import JSON

MOST_PARALLEL, MOST_IN_A_BATCH, LONGEST_TIMEOUT = 256, 2500, 3600
_DEFAULTS = CloudCapabilities("", ())
_NAME = re.compile(r"[A-Za-z0-9]([A-Za-z0-9._+-]{0,61}[A-Za-z0-9])?")
_PREFIX = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+-]{0,62}://[!-~]*")


def read_capabilities(result: Mapping[str, JSON], verbs: Container[str]) -> CloudCapabilities:
    """The result of `capabilities`; `verbs` are the names of those that are known here, others may be a later
    version's. Raises ProviderError with what is wrong."""
    return fields.whole(lambda: _capabilities(result, verbs), "capabilities")


def _capabilities(result: Mapping[str, JSON], verbs: Container[str]) -> CloudCapabilities:
    name = fields.required_text(result, "providerName")
    if not _NAME.fullmatch(name):
        raise UnusableField("'providerName' must be letters, digits, '.', '_', '+' and '-', at most 63")
    interfaces, features = fields.mapping(result, "interfaces"), fields.mapping(result, "features")
    limits = fields.mapping(result, "limits")
    return CloudCapabilities(
        provider_name=name,
        provider_id_prefixes=_prefixes(result, name),
        interfaces=tuple(interface for interface in Interface if fields.flag(interfaces, interface)),
        route_node_addresses=fields.flag(features, "routeNodeAddresses"),
        serve=fields.flag(features, "serve"),
        max_parallel=_whole_number(limits, "maxParallel", _DEFAULTS.max_parallel, MOST_PARALLEL),
        max_batch=_whole_number(limits, "maxBatch", _DEFAULTS.max_batch, MOST_IN_A_BATCH),
        timeouts=_timeouts(fields.mapping(limits, "timeoutSeconds"), verbs),
    )


def _prefixes(result: Mapping[str, JSON], name: str) -> tuple[str, ...]:
    prefixes = tuple(fields.items(result, "providerIDPrefixes"))
    if result.get("providerIDPrefixes") is not None and not prefixes:
        raise UnusableField("'providerIDPrefixes' is empty; name at least one, or leave it out")
    for prefix in prefixes:
        if not isinstance(prefix, str) or not _PREFIX.fullmatch(prefix):
            shown = redaction.kind(prefix) if not isinstance(prefix, str) else "one without"
            raise UnusableField(f"'providerIDPrefixes' must be texts with a scheme like {name}://, not {shown}")
    return prefixes or (f"{name}://",)


def _whole_number(limits: Mapping[str, JSON], key: str, default: int, most: int) -> int:
    value = limits.get(key)
    if value is None:
        return default
    if not isinstance(value, int):
        raise UnusableField(f"'limits.{key}' must be a whole number from 1 to {most}")
    return int(fields.number(value, f"limits.{key}", 1, most))


def _timeouts(seconds: Mapping[str, JSON], verbs: Container[str]) -> Mapping[str, float]:
    return {
        verb: fields.number(value, f"limits.timeoutSeconds.{verb}", 1, LONGEST_TIMEOUT)
        for verb, value in seconds.items()
        if verb in verbs and value is not None
    }
