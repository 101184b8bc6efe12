"""A network namespace with loopback only, in which every packet to elsewhere is seen.

    with air_gap() as gap: ...      # this thread, and the processes that it starts, are in it
    gap.seen()                      # addresses other than of loopback to which anything was sent

All of the world is routed to the loopback interface, where no one answers under these addresses: a connection is
refused at once, as where there is no route, but its packet can be read. A filter in the kernel (classic BPF) passes on
only what is addressed elsewhere. Needs root. Source: packet(7), network_namespaces(7)
"""

import ctypes
import os
import socket
import struct
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from ipaddress import ip_address

_NEW_NETWORK = 0x40000000
"""CLONE_NEWNET. Source: sched.h"""
_SETUP = (
    "link set lo up",
    "address add 192.0.2.10/32 dev lo",  # an API server does not start without an address and a default route
    "route add default dev lo",
    "route add local 0.0.0.0/0 dev lo",
    "-6 route add local ::/0 dev lo",
)
_ALL, _ATTACH_FILTER, _IPV4, _IPV6 = 3, 26, 0x0800, 0x86DD
_DROP, _PASS = (0x06, 0, 0, 0), (0x06, 0, 0, 0xFFFF)
_ELSEWHERE = (
    (0x28, 0, 0, 12),  # the kind of packet
    (0x15, 0, 3, _IPV4),
    (0x30, 0, 0, 30),  # the first byte of the address
    (0x15, 11, 0, 127),
    (0x05, 0, 0, 9),
    (0x15, 0, 8, _IPV6),
    *((0x20, 0, 0, 38), (0x15, 0, 6, 0)),  # the four words of the address: ::1
    *((0x20, 0, 0, 42), (0x15, 0, 4, 0)),
    *((0x20, 0, 0, 46), (0x15, 0, 2, 0)),
    *((0x20, 0, 0, 50), (0x15, 1, 0, 1)),
    _PASS,
    _DROP,
)
"""Classic BPF: code, steps if true, steps if false, number."""


class AirGap:
    """What was sent to elsewhere since the beginning."""

    def __init__(self) -> None:
        self._packets = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(_ALL))
        program = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *step) for step in _ELSEWHERE))
        fprog = struct.pack("HL", len(_ELSEWHERE), ctypes.addressof(program))
        self._packets.setsockopt(socket.SOL_SOCKET, _ATTACH_FILTER, fprog)
        self._packets.bind(("lo", 0))
        self._packets.setblocking(False)
        self._seen: set[str] = set()

    def seen(self) -> set[str]:
        """The addresses."""
        with suppress(BlockingIOError):
            while packet := self._packets.recv(256):
                is_ipv4 = struct.unpack("!H", packet[12:14])[0] == _IPV4
                self._seen.add(str(ip_address(packet[30:34] if is_ipv4 else packet[38:54])))
        return self._seen

    def close(self) -> None:
        """Listen no more."""
        self._packets.close()


@contextmanager
def air_gap() -> Iterator[AirGap]:
    """This thread in a namespace of its own, until the end of the `with`."""
    libc = ctypes.CDLL(None, use_errno=True)
    before = os.open("/proc/thread-self/ns/net", os.O_RDONLY | os.O_CLOEXEC)
    try:
        assert libc.unshare(_NEW_NETWORK) == 0, os.strerror(ctypes.get_errno())
        for words in _SETUP:
            subprocess.run(["ip", *words.split()], check=True)
        gap = AirGap()
        try:
            yield gap
        finally:
            gap.close()
    finally:
        assert libc.setns(before, _NEW_NETWORK) == 0, os.strerror(ctypes.get_errno())
        os.close(before)
