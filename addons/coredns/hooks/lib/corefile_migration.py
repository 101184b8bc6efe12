"""Migrates a Corefile from the release that it was written for to another one, newer or older.

    migrate(text, "1.6.7", "1.14.6")   # the text that 1.14.6 reads, or Unreadable
    notices(text, "1.6.7", "1.14.6")   # what that changes, and what it does not know

A text is changed only where it has to be. Unlike corefile-migration, it ends as something that the release can read, or
in an error: a plugin that was removed without a successor, or one that is too new, is not passed on.
"""

from collections.abc import Iterator, Sequence

from .coredns_releases import DEFAULTS, PLUGINS, is_since, objection, option_rule, order, status_at
from .corefile import Node, Unreadable, changed, parse
from .corefile_changes import Change, Document, downward, effective_plugins, upward


def migrate(text: str, origin: str, target: str) -> str:
    """The text for the release `target`; both are releases of the table. Raises Unreadable with the line and what to
    do."""
    before = document = Document(text, parse(text), target)
    for change in _changes(origin, target):
        if edits := list(change.edits(document)):
            text = changed(text, edits)
            document = Document(text, parse(text), target)
    refused = {key: reason for _, key, reason in _refused(document.servers, target)}
    for line, key, _ in (*_refused(before.servers, target), *_refused(document.servers, target)):
        if key in refused:
            raise Unreadable(f"line {line}: {_named(*key)} {refused[key]}, so CoreDNS {target} cannot read it")
    return text


def notices(text: str, origin: str, target: str) -> list[str]:
    """In short sentences what in a text is deprecated, ignored or removed in the release `target`, which defaults an
    upgrade adds, and what is not known here and stays as it is."""
    servers = parse(text)
    shown = [
        f"line {line}: {_named(plugin, option)} is {status} since {(_rule(plugin, option) or {})[status]}"
        for line, plugin, option, status in statuses(servers, target)
    ]
    return [*shown, *_additions(servers, origin, target), *_unknown(servers)]


def statuses(servers: Sequence[Node], target: str) -> list[tuple[int, str, str, str]]:
    """What is deprecated, ignored or removed in a release: line, plugin, option or nothing, and which of them."""
    parts = ((node.line, plugin, option, _rule(plugin, option) or {}) for plugin, option, node in _parts(servers))
    return [
        (line, plugin, option, status) for line, plugin, option, rule in parts if (status := status_at(rule, target))
    ]


def is_default(text: str, domain: str) -> bool:
    """Is it a Corefile that a release of Kubernetes comes with, in any order, for this domain?"""
    servers = parse(text)
    if [[word.text for word in server.words] for server in servers] != [[".:53"]]:
        return False
    own = sorted(_lines(plugin) for plugin in servers[0].inner)
    return any(own == sorted(_default_lines(entry, domain) for entry in default) for default in DEFAULTS)


def _changes(origin: str, target: str) -> list[Change]:
    low, high = sorted((order(origin), order(target)))
    changes = upward() if order(target) > order(origin) else downward()
    return [change for change in changes if order(change.first) <= high and order(change.last) > low]


Key = tuple[str, str]
"""A plugin and its option, which is empty for the plugin itself."""


def _refused(servers: Sequence[Node], version: str) -> Iterator[tuple[int, Key, str]]:
    """What a release cannot read: line, what, why."""
    for plugin, option, node in _parts(servers):
        if reason := objection(_rule(plugin, option) or {}, version):
            yield node.line, (plugin, option), reason


def _parts(servers: Sequence[Node]) -> Iterator[tuple[str, str, Node]]:
    """Each plugin, and each option of it."""
    for server in servers:
        for plugin in server.inner:
            yield plugin.name, "", plugin
            yield from ((plugin.name, option.name, option) for option in plugin.inner)


def _rule(plugin: str, option: str) -> dict[str, object] | None:
    return option_rule(plugin, option) if option else PLUGINS.get(plugin)


def _named(plugin: str, option: str) -> str:
    return f"the option {option} of {plugin}" if option else f"the plugin {plugin}"


def _additions(servers: Sequence[Node], origin: str, target: str) -> Iterator[str]:
    """The defaults that an upgrade adds."""
    names = [own for _, own in effective_plugins(servers)]
    for plugin, rule in PLUGINS.items():
        if _is_passed(rule, origin, target) and any(set(rule["with"]) & own and plugin not in own for own in names):
            yield f"{_named(plugin, '')} is added, a default since {rule['added']}"
        for option, row in rule.get("options", {}).items():
            nodes = [node for server in servers for node in server.inner if node.name == plugin]
            lacking = [node for node in nodes if option not in [child.name for child in node.inner]]
            if _is_passed(row, origin, target) and lacking:
                yield f"{_named(plugin, option)} is added, a default since {row['added']}"


def _is_passed(rule: dict[str, object], origin: str, target: str) -> bool:
    return "added" in rule and is_since(target, rule["added"]) and not is_since(origin, rule["added"])


def _unknown(servers: Sequence[Node]) -> Iterator[str]:
    for plugin, option, node in _parts(servers):
        if _rule(plugin, option) is None and (not option or plugin in PLUGINS):
            yield f"line {node.line}: {_named(plugin, option)} is not known and stays as it is"


Lines = tuple[str, tuple[str, ...]]
"""A plugin and, sorted, its options."""


def _lines(plugin: Node) -> Lines:
    options = sorted(" ".join(word.text for word in option.words) for option in plugin.inner)
    return " ".join(word.text for word in plugin.words), tuple(options)


def _default_lines(entry: str | Sequence[str], domain: str) -> Lines:
    plugin, *options = [entry] if isinstance(entry, str) else entry
    return plugin.replace("DOMAIN", domain), tuple(sorted(option.replace("DOMAIN", domain) for option in options))
