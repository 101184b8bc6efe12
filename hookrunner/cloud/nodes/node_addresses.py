"""Which addresses a Node gets: those of its machine, as the kubelet wants them.

    problem = address_problem(node, offered)       # empty if they can be written
    addresses = choose_addresses(node, offered)

A kubelet that was started with --node-ip says so in an annotation: this address must be one of the machine's, comes
first, and is the only one of its type. A machine without a host name leaves that of the kubelet. Functions of values.
Sources: https://kubernetes.io/docs/reference/labels-annotations-taints/#alpha-kubernetes-io-provided-node-ip and
https://kubernetes.io/docs/reference/node/node-status/#addresses
"""

import re
from collections.abc import Iterator, Sequence
from ipaddress import IPv4Address, IPv6Address, ip_address
from typing import TypeAlias

from hookrunner.cloud.answers import NodeAddress
from hookrunner.cloud.nodes.cloud_node import CloudNode
from hookrunner.cloud.shown_texts import Mask, quoted
from kubetypes.json_values import JSON

PROVIDED_NODE_IP = "alpha.kubernetes.io/provided-node-ip"
MOST_ADDRESSES = 256
"""More are a mistake of the provider: each status of the Node would carry them."""

_IP_TYPES = frozenset({"InternalIP", "ExternalIP"})
_NAME_TYPES = frozenset({"Hostname", "InternalDNS", "ExternalDNS"})
_HOST_NAME = re.compile(r"(?=.{1,253}\Z)[A-Za-z0-9](?:[-A-Za-z0-9_.]*[A-Za-z0-9])?\.?")

_Ip: TypeAlias = IPv4Address | IPv6Address


def address_problem(node: CloudNode, offered: Sequence[NodeAddress]) -> str:
    """Why the machine's addresses do not fit the kubelet's --node-ip; empty if they do, or if it has none. No addresses
    at all do not fit."""
    if (provided := node.annotations.get(PROVIDED_NODE_IP)) is None:
        return ""
    ips = _read_provided(provided)
    if not ips:
        return f"annotation {PROVIDED_NODE_IP}: {quoted(provided)} is neither an IP address nor an IPv4 and an IPv6 one"
    known = {_to_ip(address.address) for address in offered}
    missing = [str(ip) for ip in ips if ip not in known]
    return f"the kubelet's --node-ip {', '.join(missing)} is no address of the machine" if missing else ""


def invalid_addresses(offered: Sequence[NodeAddress], mask: Mask = str) -> Iterator[str]:
    """What is wrong with addresses that must not be written, each as a sentence that people may see."""
    if len(offered) > MOST_ADDRESSES:
        yield f"{len(offered)} addresses, at most {MOST_ADDRESSES} are written"
        return
    for kind, address in offered:
        shown = f"address {quoted(address, mask)} of type {quoted(kind, mask)}"
        if kind in _IP_TYPES and _to_ip(address) is None:
            yield f"{shown} is no IP address"
        elif kind in _NAME_TYPES and not (_HOST_NAME.fullmatch(address) or _to_ip(address)):
            yield f"{shown} is no host name"
        elif kind not in _IP_TYPES | _NAME_TYPES:
            yield f"{shown}: types are {', '.join(sorted(_IP_TYPES | _NAME_TYPES))}"


def choose_addresses(node: CloudNode, offered: Sequence[NodeAddress]) -> tuple[NodeAddress, ...]:
    """The addresses that the Node should have; those that it has if the machine has none. Expects addresses without a
    problem."""
    if not offered:
        return node.addresses
    unique = tuple(dict.fromkeys(offered))
    if not any(address.type == "Hostname" for address in unique):
        unique += tuple(address for address in node.addresses if address.type == "Hostname")
    provided = _read_provided(node.annotations.get(PROVIDED_NODE_IP, ""))
    first = [address for ip in provided for address in unique if _to_ip(address.address) == ip]
    types = {address.type for address in first}
    return (*first, *(address for address in unique if address.type not in types))


def has_changed(live: Sequence[NodeAddress], wanted: Sequence[NodeAddress], by_type: bool) -> bool:
    """Must the addresses be written? `by_type`: as upstream compares them, one of each type, in any order."""
    if not by_type:
        return tuple(live) != tuple(wanted)
    known = dict(live)
    return len(live) != len(wanted) or any(known.get(kind) != address for kind, address in wanted)


def to_documents(addresses: Sequence[NodeAddress]) -> list[JSON]:
    """As the API has them."""
    return [{"type": kind, "address": address} for kind, address in addresses]


def _read_provided(annotation: str) -> list[_Ip]:
    """One address, or one of each family; empty for anything else."""
    ips = [_to_ip(part) for part in annotation.split(",")]
    known = [ip for ip in ips if ip is not None]
    is_pair = len(known) == 2 and known[0].version != known[1].version
    return known if len(known) == len(ips) and (len(known) == 1 or is_pair) else []


def _to_ip(text: str) -> _Ip | None:
    """An address however it is spelled; an IPv4 address mapped into IPv6 is the IPv4 one."""
    try:
        ip = ip_address(text)
    except ValueError:
        return None
    return (ip.version == 6 and ip.ipv4_mapped) or ip
