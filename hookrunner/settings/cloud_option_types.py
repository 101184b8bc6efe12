"""How the texts of the cloud's settings become values: names of loops, networks, variables, classes, durations."""

import re
from ipaddress import IPv4Network, IPv6Network, ip_network
from typing import TypeAlias

from hookrunner.options import DURATION, LARGEST, YES_NO, OptionType, matching, within

Cidr: TypeAlias = IPv4Network | IPv6Network

NODE, LIFECYCLE = "cloud-node-controller", "cloud-node-lifecycle-controller"
SERVICE, ROUTE = "service-lb-controller", "node-route-controller"
LOOPS = {NODE: "cloud-node", LIFECYCLE: "cloud-node-lifecycle", SERVICE: "service", ROUTE: "route"}
"""Upstream's names of the loops, and its aliases of them."""

_SOME_TEXT = re.compile(r".*\S.*", re.DOTALL)
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_DNS_NAME = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*"
_CLASS = re.compile(rf"((?:(?=.{{1,253}}/){_DNS_NAME}/)?[A-Za-z0-9]([-A-Za-z0-9_.]{{0,61}}[A-Za-z0-9])?)?")
_OBJECT_NAME = re.compile(rf"(?=.{{1,253}}\Z){_DNS_NAME}")


def _loops(text: str) -> frozenset[str]:
    """The loops that are on. Of several entries about one the first counts, as upstream reads them.

    Source: https://kubernetes.io/docs/reference/command-line-tools-reference/cloud-controller-manager/
    """
    names = {alias: name for name, alias in LOOPS.items()} | {name: name for name in LOOPS}
    entries = [entry.strip() for entry in text.split(",") if entry.strip()]
    chosen: dict[str, bool] = {}
    for entry in entries:
        if entry == "*":
            continue
        name = names.get(entry.removeprefix("-"))
        if name is None:
            raise ValueError(text)
        chosen.setdefault(name, not entry.startswith("-"))
    return frozenset(name for name in LOOPS if chosen.get(name, "*" in entries))


def _cidrs(text: str) -> tuple[Cidr, ...]:
    """One CIDR, or two of different families; host bits may be set, as Go's ParseCIDR allows."""
    networks = tuple(_cidr(part.strip()) for part in text.split(",") if part.strip())
    if len(networks) > 2 or len({network.version for network in networks}) < len(networks):
        raise ValueError(text)
    return networks


def _cidr(text: str) -> Cidr:
    if not re.fullmatch(r"[^/]+/[0-9]{1,3}", text):
        raise ValueError(text)
    return ip_network(text, strict=False)


def _variables(text: str) -> tuple[str, ...]:
    names = tuple(part.strip() for part in text.split(",") if part.strip())
    if not all(map(_VARIABLE.fullmatch, names)):
        raise ValueError(text)
    return names


CONTROLLERS = OptionType(
    "NAME,…",
    f"`*` for all, NAME for one and -NAME for all but one, of {', '.join(LOOPS)} (or {', '.join(LOOPS.values())})",
    _loops,
)
CIDRS = OptionType("CIDR[,CIDR]", "a CIDR such as 10.244.0.0/16, or one of IPv4 and one of IPv6", _cidrs)
VARIABLES = OptionType("NAME,…", "names of variables with commas between them", _variables)
CLASS = OptionType("CLASS", "the name of a class such as example.com/internal", matching(_CLASS))
OBJECT_NAME = OptionType(
    "NAME", "the name of an object: lowercase letters, digits, `-` and `.`", matching(_OBJECT_NAME)
)
SOME_TEXT = OptionType("TEXT", "any text that is not empty", matching(_SOME_TEXT))
CALL_TIMEOUT = OptionType("DURATION", "a duration from 1s to 1h", within(DURATION.parse, 1, 3600))
PERIOD = OptionType("DURATION", "a duration above 0 such as 30s, 1m30s or 300ms", within(DURATION.parse, 1e-9, LARGEST))
SHARE = OptionType("NUMBER", "a number from 0 to 1", within(float, 0, 1))
MAYBE = OptionType("BOOL", "true or false", lambda text: YES_NO.parse(text) if text else None)
