"""The changes of CoreDNS that a Corefile has to follow, each as edits of its text.

A change has the first and the last release that makes it: it applies to a migration that passes one of them. The simple
ones are rows of `coredns_releases.json`; the others are functions of this file. They go by the documentation of the
plugins: https://github.com/coredns/coredns/tree/v1.4.0/plugin/proxy, …/v1.5.0/plugin/forward, …/v1.8.0/plugin/transfer.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import NamedTuple

from .coredns_releases import NEWEST, PLUGINS, Rule, is_since, order
from .corefile import (
    INDENT,
    Edit,
    Node,
    Unreadable,
    added,
    deleted,
    indent_of,
    with_comment,
    without_options,
)

_DROPPED_OF_PROXY = ("fail_timeout", "health_check", "max_fails", "spray")
"""What forward does by itself, or by an option of the same name that means something else."""
_SEVERAL_FORWARDS = "1.9.4"
"""From here on a server may have the plugin forward more than once."""


class Document(NamedTuple):
    """A Corefile and the release that is to read it."""

    text: str
    servers: Sequence[Node]
    target: str


class Change(NamedTuple):
    """What the releases from `first` to `last` need."""

    first: str
    last: str
    edits: Callable[[Document], Iterable[Edit]]


def upward() -> list[Change]:
    """All changes, in the order in which they are made."""
    changes = [
        Change("1.1.4", "1.3.1", _without_google_protocol),
        *_option_changes(),
        _once("1.5.0", _proxy_as_forward),
        _once("1.8.0", _transfer_plugin),
        *(_once(rule["added"], partial(_with_option, *names, rule)) for *names, rule in _added_options()),
        *(_once(rule["added"], partial(_with_plugin, name, rule)) for name, rule in _added_plugins()),
        _once("1.4.0", _stub_domains),
        _once("1.5.0", _stub_domains),
    ]
    return sorted(changes, key=lambda change: order(change.first))


def downward() -> list[Change]:
    """What upgrades have added is taken away again where a release cannot read it."""
    options = [(names, rule) for *names, rule in _added_options() if "since" in rule]
    return [
        *(_once(rule["since"], partial(_without_option, *names, rule)) for names, rule in options),
        *(_once(rule["since"], partial(_without_plugin, name)) for name, rule in _added_plugins()),
    ]


def _once(version: str, edits: Callable[[Document], Iterable[Edit]]) -> Change:
    return Change(version, version, edits)


def plugins_of(servers: Iterable[Node], name: str) -> Iterator[Node]:
    """The plugins of a name in all servers and snippets."""
    return (plugin for server in servers for plugin in server.inner if plugin.name == name)


def effective_plugins(servers: Sequence[Node]) -> list[tuple[Node, set[str]]]:
    """Each server, which is no snippet, with the names of its plugins, and of those in the snippets that it imports."""
    snippets = {node.snippet: node for node in servers if node.snippet}
    return [(server, _effective(server, snippets)) for server in servers if not server.snippet]


def _effective(server: Node, snippets: Mapping[str, Node]) -> set[str]:
    names: set[str] = set()
    waiting, seen = [server], set[str]()
    while waiting:
        node = waiting.pop()
        names |= {plugin.name for plugin in node.inner}
        imported = {plugin.arguments[0] for plugin in node.inner if plugin.name == "import" and plugin.arguments}
        waiting += [snippets[name] for name in imported - seen if name in snippets]
        seen |= imported
    return names


def _added_options() -> Iterator[tuple[str, str, Rule]]:
    for plugin, rule in PLUGINS.items():
        for option, row in rule.get("options", {}).items():
            if "added" in row:
                yield plugin, option, row


def _added_plugins() -> Iterator[tuple[str, Rule]]:
    return ((plugin, rule) for plugin, rule in PLUGINS.items() if "added" in rule)


def _option_changes() -> Iterator[Change]:
    for plugin, rule in PLUGINS.items():
        for option, row in rule.get("options", {}).items():
            first = row.get("ignored") or row.get("removed")
            if first and "instead" not in row:
                yield Change(first, NEWEST, partial(_shorten_option, plugin, option, row.get("keep", 0)))


def _shorten_option(plugin: str, option: str, keep: int, document: Document) -> Iterator[Edit]:
    for node in plugins_of(document.servers, plugin):
        options = [child for child in node.inner if child.name == option]
        if not keep:
            yield from without_options(document.text, node, options) if options else ()
            continue
        for child in options:
            if len(child.arguments) > keep:
                yield child.words[keep].end, child.words[-1].end, ""


def _with_option(plugin: str, option: str, rule: Rule, document: Document) -> Iterator[Edit]:
    for node in plugins_of(document.servers, plugin):
        if option not in [child.name for child in node.inner]:
            yield added(document.text, node, f"{option} {rule['value']}")


def _without_option(plugin: str, option: str, rule: Rule, document: Document) -> Iterator[Edit]:
    for node in plugins_of(document.servers, plugin):
        own = [child for child in node.inner if child.name == option and child.arguments == [rule["value"]]]
        yield from without_options(document.text, node, own) if own else ()


def _with_plugin(plugin: str, rule: Rule, document: Document) -> Iterator[Edit]:
    for server, names in effective_plugins(document.servers):
        if plugin not in names and names & set(rule["with"]):
            yield added(document.text, server, plugin)


def _without_plugin(plugin: str, document: Document) -> Iterator[Edit]:
    return (deleted(document.text, node) for node in plugins_of(document.servers, plugin))


def _without_google_protocol(document: Document) -> Iterator[Edit]:
    for node in plugins_of(document.servers, "proxy"):
        options = [option for option in node.inner if option.name == "protocol" and "https_google" in option.arguments]
        yield from without_options(document.text, node, options) if options else ()


def _proxy_as_forward(document: Document) -> Iterator[Edit]:
    for node in plugins_of(document.servers, "proxy"):
        yield node.words[0].start, node.words[0].end, "forward"
        dropped: list[Node] = []
        for option in node.inner:
            new = _forward_option(option)
            if not new:
                dropped.append(option)
            elif new != [option.name, *option.arguments]:
                yield option.start, option.words[-1].end, " ".join(new)
        yield from without_options(document.text, node, dropped) if dropped else ()


def _forward_option(option: Node) -> list[str]:
    """The words of an option of proxy in forward; empty if forward has none for it."""
    if option.name in _DROPPED_OF_PROXY or (option.name == "policy" and option.arguments == ["least_conn"]):
        return []
    if option.name == "policy" and option.arguments == ["first"]:
        return ["policy", "sequential"]
    if option.name != "protocol":
        return [option.name, *option.arguments]
    if "grpc" in option.arguments:
        raise Unreadable(f"line {option.line}: forward has no protocol grpc: use the plugin grpc in place of proxy")
    return ["force_tcp"] if "force_tcp" in option.arguments else []


def _stub_domains(document: Document) -> Iterator[Edit]:
    """Give forwards of single domains their own servers: a server may have one forward only. One whose domain has a
    server already is deleted. It was never asked, since the longest name is, and CoreDNS refuses two servers of one
    name."""
    moved, taken = "", {_address(word.text) for server in document.servers for word in server.words}
    for server in document.servers:
        forwards = [plugin for plugin in server.inner if plugin.name == "forward"]
        if nameless := [plugin for plugin in forwards if not plugin.arguments]:
            raise Unreadable(f"line {nameless[0].line}: forward names neither a domain nor servers")
        stubs = [plugin for plugin in forwards if plugin.arguments[0] != "."]
        if not stubs or server.snippet:
            continue
        if [word.text for word in server.words] not in (["."], [".:53"]):
            _check_count(forwards, document.target)
            continue
        for stub in stubs:
            yield deleted(document.text, stub)
            if (address := _address(stub.arguments[0])) not in taken:
                moved += _own_server(document.text, stub)
                taken.add(address)
    if moved:
        end = len(document.text)
        yield end, end, moved if document.text.endswith("\n") else f"\n{moved}"


def _address(name: str) -> str:
    """What CoreDNS takes the name of a server for, without the usual scheme and port."""
    return re.sub(r"^dns://|,$", "", name.lower()).removesuffix(":53").removesuffix(".")


def _check_count(forwards: Sequence[Node], target: str) -> None:
    if len(forwards) > 1 and not is_since(target, _SEVERAL_FORWARDS):
        raise Unreadable(f"line {forwards[1].line}: a server has one forward only: give this one a server of its own")


def _own_server(text: str, forward: Node) -> str:
    """A server for the domain of a forward, which it brings with its options and comments."""
    domain, indent = forward.words[1], indent_of(text, forward) or INDENT
    plugin = f"{text[forward.start : domain.start]}.{text[domain.end : with_comment(text, forward)]}"
    lines = "".join(f"{indent}{line}\n" for line in (plugin, "loop", "errors", "cache 30"))
    return f"\n{text[domain.start : domain.end]} {{\n{lines}}}\n"


def _transfer_plugin(document: Document) -> Iterator[Edit]:
    """The plugin transfer in place of the option of kubernetes, for all zones of that."""
    for server in document.servers:
        for node in server.inner:
            options = [option for option in node.inner if option.name == "transfer"]
            if node.name != "kubernetes" or not options:
                continue
            yield from without_options(document.text, node, options)
            zones = node.arguments or [word.text.rstrip(",") for word in server.words if not server.snippet]
            to = [word for option in options for word in option.arguments[1:]]
            if to:
                yield added(document.text, server, " ".join(["transfer", *zones]), " ".join(["to", *to]))
