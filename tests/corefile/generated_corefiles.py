"""Corefiles as users of Kubernetes write them, from a fixed seed: stub domains, servers of their own, options,
rewrites, hosts, federation, comments, several ways to indent.

generated(200) -> [("1.3.1", ".:53 {…"), …]   # a release, and a Corefile for it
"""

from collections.abc import Iterator
from random import Random

from tests.corefile.library import releases

_SEED = 39
DEFAULT = """.:53 {
    errors
    health {
       lameduck 5s
    }
    ready
    kubernetes cluster.local in-addr.arpa ip6.arpa {
       pods insecure
       fallthrough in-addr.arpa ip6.arpa
       ttl 30
    }
    prometheus :9153
    forward . /etc/resolv.conf {
       max_concurrent 1000
    }
    cache 30
    loop
    reload
    loadbalance
}
"""
_OPTIONS = {
    "kubernetes": [
        "pods insecure",
        "pods verified",
        "upstream",
        "upstream /etc/resolv.conf",
        "fallthrough in-addr.arpa ip6.arpa",
        "ttl 30",
        "endpoint https://10.0.0.1:6443 https://10.0.0.2:6443",
        "endpoint_pod_names",
        "resyncperiod 5m",
        "namespaces default kube-system",
        "labels environment in (production)",
        "noendpoints",
        "ignore empty_service",
        "transfer to * 10.1.2.3",
        "transfer to 10.1.2.3",
    ],
    "proxy": [
        "policy round_robin",
        "policy least_conn",
        "fail_timeout 5s",
        "max_fails 3",
        "health_check /health:8080 10s",
        "except ads.example.com",
        "spray",
        "protocol dns force_tcp",
        "protocol https_google bootstrap 8.8.8.8:53",
    ],
    "forward": [
        "except ads.example.com",
        "force_tcp",
        "prefer_udp",
        "expire 20s",
        "max_fails 3",
        "policy sequential",
        "health_check 5s",
        "tls_servername dns.quad9.net",
        "max_concurrent 1000",
        "max_concurrent 500",
    ],
    "cache": ["success 9984 30", "denial 9984 5", "prefetch 10 1m 10%", "serve_stale", "disable success cluster.local"],
    "hosts": ["10.9.8.7 printer.example.com", "fd00::7 printer.example.com", "ttl 60", "fallthrough"],
}


def generated(count: int) -> list[tuple[str, str]]:
    """Releases of the table in turn, each with a Corefile for it."""
    random = Random(_SEED)
    names = list(releases.VERSIONS)
    return [(names[number % len(names)], _Writer(random, names[number % len(names)]).text()) for number in range(count)]


class _Writer:
    """Writes one Corefile for a release."""

    def __init__(self, random: Random, version: str) -> None:
        self._random, self._version = random, version
        self._indent = random.choice(["    ", "    ", "  ", "\t"])
        self._upstream = "proxy" if self._is_until("1.4.0") and random.random() < 0.7 else "forward"
        self._has_snippet = random.random() < 0.06

    def text(self) -> str:
        """The whole file; now and then the one that Kubernetes 1.19 brought."""
        return DEFAULT if self._random.random() < 0.04 and self._knows("ready") else self._own_text()

    def _own_text(self) -> str:
        main = list(self._main())
        parts = (
            [self._server("(shared)", ["errors", "cache 30", *(["loop"] if self._knows("loop") else [])])]
            if self._has_snippet
            else []
        )
        parts.append(self._server(self._random.choice([".:53", ".:53", "."]), main))
        for number in range(self._random.choice([0, 0, 0, 1, 2])):
            inner = ["errors", "cache 30", *self._forward(". 10.10.0.1")]
            parts.append(self._server(f"corp{number}.example.com:53", inner))
        return self._random.choice(["", "# Names for everyone\n"]) + "\n".join(parts)

    def _main(self) -> Iterator[str]:
        yield from ["import shared"] if self._has_snippet else ["errors"]
        yield from self._maybe(0.2, "log")
        yield from self._maybe(0.9, "health", "health", "health {\n+lameduck 5s\n}", "health {\n+lameduck 10s\n}")
        yield from self._maybe(0.9 if self._knows("ready") else 0, "ready")
        yield from self._maybe(0.15, "autopath @kubernetes")
        yield from self._maybe(0.15, "rewrite name svc.example.com web.default.svc.cluster.local")
        yield from self._maybe(0.1, "rewrite continue {\n+ttl regex (.*)\\.example\\.com 15\n}")
        yield self._block("kubernetes cluster.local in-addr.arpa ip6.arpa", 4)
        yield from self._maybe(
            0.1 if self._is_until("1.6.9") else 0, "federation cluster.local {\n+prod example.com\n}"
        )
        yield from self._maybe(0.1, self._block("hosts", 3))
        yield from self._maybe(0.05, "fanout . 10.0.0.1")
        yield "prometheus :9153"
        for number in range(self._random.choice([0, 0, 0, 0, 1, 2])):
            yield from self._forward(f"stub{number}.example.com 10.0.{number}.1")
        yield from self._forward(self._random.choice([". /etc/resolv.conf", ". 8.8.8.8 8.8.4.4"]))
        yield "cache 30" if self._has_snippet is False and self._random.random() < 0.7 else self._block("cache 60", 2)
        yield from self._maybe(0.8 if self._knows("loop") and not self._has_snippet else 0, "loop")
        yield "reload"
        yield from self._maybe(0.8, "loadbalance")

    def _forward(self, arguments: str) -> Iterator[str]:
        line = f"{self._upstream} {arguments}"
        yield self._block(line, 3) if self._random.random() < (0.8 if self._upstream == "proxy" else 0.4) else line

    def _maybe(self, likely: float, *lines: str) -> Iterator[str]:
        if self._random.random() < likely:
            yield self._random.choice(lines)

    def _block(self, line: str, most: int) -> str:
        """A plugin with some of its options that the release knows, each once."""
        name = line.split()[0]
        options = self._random.sample(_OPTIONS[name], self._random.randint(1, most))
        kept = {
            option.split()[0] if name != "hosts" else option: option for option in options if self._fits(name, option)
        }
        return "\n".join([f"{line} {{", *(f"+{option}" for option in kept.values()), "}"]) if kept else line

    def _fits(self, plugin: str, option: str) -> bool:
        rule = releases.option_rule(plugin, option.split()[0])
        return not releases.objection(rule or {}, self._version)

    def _server(self, name: str, plugins: list[str]) -> str:
        lines = [line for plugin in plugins for line in plugin.split("\n")]
        shown = [self._indent * (1 + line.startswith("+")) + line.removeprefix("+") + self._comment() for line in lines]
        return "\n".join([f"{name} {{", *shown, "}", ""])

    def _comment(self) -> str:
        return self._random.choice([*[""] * 12, " # as agreed", f"\n{self._indent}# see the wiki"])

    def _knows(self, plugin: str) -> bool:
        return bool(releases.is_since(self._version, releases.PLUGINS[plugin]["since"]))

    def _is_until(self, last: str) -> bool:
        return bool(releases.is_since(last, self._version))
