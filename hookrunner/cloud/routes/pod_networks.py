"""Networks of Pods as texts: which are the same, and which belong to the cluster.

    networks = ClusterNetworks(policy.cluster_cidrs)
    networks.cover(route.destination_cidr)
    normalize_cidr("a00:100::1/24") == normalize_cidr("0a00:0100::/24")

Clouds spell IPv6 networks in their own ways. Compared as texts, each pass would make such a route anew.
"""

from ipaddress import IPv4Network, IPv6Network, ip_network
from typing import TypeAlias

from kubetypes.light_dataclasses import dataclass

Network: TypeAlias = IPv4Network | IPv6Network


def read_network(text: str) -> Network | None:
    """The network, whose host bits may be set; None if it cannot be read."""
    try:
        return ip_network(text, strict=False)
    except ValueError:
        return None


def normalize_cidr(text: str) -> str:
    """One spelling of each network; the text itself if it cannot be read."""
    return str(read_network(text) or text)


@dataclass(frozen=True, slots=True)
class ClusterNetworks:
    """The networks of all Pods: one, or one of each family."""

    networks: tuple[Network, ...]

    def cover(self, destination: str) -> bool:
        """Does the first or the last address of this network belong to the cluster? Then its route is ours to delete.
        A text that cannot be read is not."""
        network = read_network(destination)
        if network is None:
            return False
        ends = network.network_address, network.broadcast_address
        return any(end in known for known in self.networks for end in ends if end.version == known.version)
