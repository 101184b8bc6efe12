"""The addresses of a load balancer on their way into `status.loadBalancer.ingress` of a Service.

    ingress = complete_ingress(answer)         # as the API server will store it
    problem = find_ingress_problem(ingress)    # why it would refuse it, or ""
    if ingress != service.ingress: write(to_documents(ingress))

A provider need not say `ipMode`; the API server stores VIP then. Without doing the same here, no answer would equal
what is stored, and each would cause a write that changes nothing.
Source: https://kubernetes.io/docs/concepts/services-networking/service/#load-balancer-ip-mode
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from ipaddress import ip_address

from hookrunner import redaction
from hookrunner.cloud.answers import Ingress
from hookrunner.cloud.shown_texts import Mask, quoted
from kubetypes.json_values import JSON

_DEFAULT_MODE, _MODES = "VIP", ("VIP", "Proxy")
_PROTOCOLS = ("TCP", "UDP", "SCTP")
_LABEL = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_DNS_NAME = re.compile(rf"{_LABEL}(\.{_LABEL})*")
_LONGEST_NAME, _HIGHEST_PORT = 253, 65535


def complete_ingress(ingress: Iterable[Ingress]) -> tuple[Ingress, ...]:
    """What the API server makes of these entries."""
    return tuple(
        replace(entry, ip_mode=_DEFAULT_MODE) if entry.ip and not entry.ip_mode else entry for entry in ingress
    )


def find_ingress_problem(ingress: Iterable[Ingress], mask: Mask = str) -> str:
    """What the API server, or a reader of the status, could not use, in words that people may see; empty if there is
    nothing."""
    for number, entry in enumerate(ingress):
        for problem in _problems(entry, mask):
            return f"ingress[{number}]: {problem}"
    return ""


def to_documents(ingress: Iterable[Ingress]) -> list[JSON]:
    """The entries as the API has them."""
    return [
        {
            name: value
            for name, value in (
                ("ip", entry.ip),
                ("hostname", entry.hostname),
                ("ipMode", entry.ip_mode),
                ("ports", [*entry.ports]),
            )
            if value
        }
        for entry in ingress
    ]


def _problems(entry: Ingress, mask: Mask) -> Iterator[str]:
    if not (entry.ip or entry.hostname):
        yield "it has neither an ip nor a hostname"
    if entry.ip and not _is_ip(entry.ip):
        yield f"the ip {quoted(entry.ip, mask)} is no IP address"
    is_short = len(entry.hostname) <= _LONGEST_NAME
    if entry.hostname and (_is_ip(entry.hostname) or not (is_short and _DNS_NAME.fullmatch(entry.hostname))):
        yield f"the hostname {quoted(entry.hostname, mask)} is no DNS name of lowercase letters, digits, '-' and '.'"
    if entry.ip_mode and not entry.ip:
        yield f"the ipMode {quoted(entry.ip_mode, mask)} needs an ip"
    if entry.ip_mode not in ("", *_MODES):
        yield f"the ipMode {quoted(entry.ip_mode, mask)} is neither of {' and '.join(_MODES)}"
    for port in entry.ports:
        if not _is_port_status(port):
            rule = f"a port of 1 to {_HIGHEST_PORT} and a protocol of {', '.join(_PROTOCOLS)}"
            yield f"{redaction.described(port)} in 'ports' needs {rule}"


def _is_ip(text: str) -> bool:
    try:
        return "%" not in text and bool(ip_address(text))
    except ValueError:
        return False


def _is_port_status(port: JSON) -> bool:
    if not isinstance(port, dict) or not isinstance(port.get("error", ""), str):
        return False
    number = port.get("port")
    is_number = isinstance(number, int) and not isinstance(number, bool) and 1 <= number <= _HIGHEST_PORT
    return is_number and port.get("protocol") in _PROTOCOLS
