"""Channels: files that list versions, and the choice of one of them.

    channel = parse_channel("stable", text)
    entry = choose_entry(channel, "coredns", "v1.34.2-gke.100")     # entry.version, entry.digest

A channel is YAML, as the predecessors' operators read it:

    manifests:
    - version: 1.14.6
      kubernetesVersion: ">=1.28"                                   # ours, optional
      digest: sha256:…                                              # ours, optional
    - {name: metrics-server, version: 0.8.0}
    serial: 7                                                       # ours, optional: never decreases
    channel: stable                                                 # ours, optional: refused under another name

Entries with another component's name, or for other versions of the cluster, are dropped. Of the others one with the
component's name beats one without, whatever their versions; then the newest wins, and the earlier one of equals. A
version that is no semantic version loses to one that is.
Source: docs/packaging-addons.md, https://semver.org/#spec-item-11
"""

import re
from collections.abc import Iterator, Mapping, Sequence

from hookrunner import ranges
from hookrunner.errors import PackageError
from hookrunner.packages.names import LARGEST_CHANNEL, is_component, is_version, require_channel, shown
from hookrunner.packages.package_files import is_digest
from hookrunner.process.pure_calls import SizeBounds
from hookrunner.shapes import TEXT, Integer, Many, Problem, Table, check, suggestion
from kubetypes.bounds import PACKAGE_TEXT, in_units
from kubetypes.json_values import JSON
from kubetypes.light_dataclasses import dataclass
from kubetypes.yaml_values import YAML_1_2, BadDocument, documents

_ENTRY = Table(
    {"name": TEXT, "version": TEXT, "kubernetesVersion": TEXT, "digest": TEXT}, {"version": "1.2.3"}, open=True
)
LARGEST_SERIAL = 2**53
_SERIAL = Integer(0, LARGEST_SERIAL)
_FILE = Table(
    {"manifests": Many(_ENTRY, at_least=0), "serial": _SERIAL, "channel": TEXT},
    {"manifests": "[{version: 1.2.3}]"},
    open=True,
)
PARSING = SizeBounds(48 << 10, or_in_place=True)
"""48 KiB of a channel are parsed in less than 50 ms, all that it may have in a second or two."""
_SUFFIX = re.compile(r"[-+].*", re.DOTALL)


@dataclass(frozen=True, slots=True)
class ChannelEntry:
    """One version in a channel. Empty: `name` for any component, `kubernetes` (a range) for any cluster, `digest` (of
    the package) if it is not pinned here."""

    version: str
    name: str = ""
    kubernetes: str = ""
    digest: str = ""


@dataclass(frozen=True, slots=True)
class Channel:
    """A channel's entries in their order. `unknown` are the paths of unknown keys, which are ignored, each with what
    may have been meant. `serial` counts its versions, 0 without one."""

    name: str
    entries: tuple[ChannelEntry, ...] = ()
    unknown: tuple[str, ...] = ()
    serial: int = 0

    def entries_of(self, component: str) -> tuple[ChannelEntry, ...]:
        """The entries that are about a component."""
        return tuple(entry for entry in self.entries if entry.name in ("", component))


def decode_channel(name: str, text: bytes, server: str = "") -> str:
    """A channel's text, for a source. `server` is its location, for messages, if that is another machine. Raises
    PackageError: TooLarge, or Malformed for what is not UTF-8."""
    what = _named(name, server)
    if len(text) > LARGEST_CHANNEL:
        raise PackageError("TooLarge", f"{what} has more than {in_units(LARGEST_CHANNEL)}")
    try:
        return text.decode()
    except UnicodeDecodeError:
        raise PackageError("Malformed", f"{what} is not UTF-8; write it again") from None


def parse_channel(name: str, text: str, server: str = "") -> Channel:
    """The channel with this text. Raises PackageError with the reason Malformed, and everything that is wrong."""
    require_channel(name)
    what = _named(name, server)
    try:
        document = next(documents(text.encode(), YAML_1_2, PACKAGE_TEXT), None)
    except BadDocument as error:
        raise PackageError("Malformed", f"{what}: {error}") from None
    document = {} if document is None else document
    if problems := list(check(document, _FILE)) or list(_wrong_values(document["manifests"])):
        raise PackageError("Malformed", f"{what}: " + "; ".join(map(str, problems)))
    if (own := document.get("channel", name)) != name:
        text = f"it states that it is the channel {shown(own)}; correct `channel` in it, or the server"
        raise PackageError("Malformed", f"{what}: {text}")
    entries = tuple(map(_parse_entry, document["manifests"]))
    return Channel(name, entries, tuple(_unknown_keys(document)), document.get("serial", 0))


def require_serial(channel: Channel, known: int) -> None:
    """Raises PackageError with the reason Unverified for a channel that is older than the one with the serial
    `known`: signatures do not expire, so a server could bring an old one back."""
    if channel.serial < known:
        serial = f"the serial {channel.serial}" if channel.serial else "no serial"
        text = f"has {serial}, and what is installed is from {known}"
        advice = f"it never decreases; publish the channel with a serial of at least {known}"
        raise PackageError("Unverified", f"channel '{channel.name}' {text}: {advice}")


def choose_entry(channel: Channel, component: str, kubernetes: str) -> ChannelEntry:
    """The entry that a component follows on a cluster of this version. Raises PackageError with the reason NoVersion
    if the channel has none."""
    fitting = fitting_entries(channel, component, kubernetes)
    if not fitting:
        raise PackageError("NoVersion", _missing(channel, component, kubernetes))
    return max(fitting, key=lambda entry: (bool(entry.name), version_order(entry.version)))


def fitting_entries(channel: Channel, component: str, kubernetes: str) -> tuple[ChannelEntry, ...]:
    """The entries that a component may follow on a cluster of this version, in their order."""
    entries = channel.entries_of(component)
    return tuple(entry for entry in entries if is_kubernetes_in(kubernetes, entry.kubernetes))


def pinned_digest(channel: Channel, component: str, version: str) -> str:
    """The digest that a channel gives for an exact version of a component, empty if it gives none."""
    digests = (entry.digest for entry in channel.entries_of(component) if entry.version == version)
    return next(filter(None, digests), "")


def contradicted_entries(
    channel: Channel, component: str, digests: Mapping[str, str]
) -> Iterator[tuple[int, ChannelEntry]]:
    """The entries, and where each stands, that give another digest than the component's package of that version has;
    `digests` are by version, empty where they are not known. An instance that follows one is refused its package."""
    for index, entry in enumerate(channel.entries):
        if entry.name in ("", component) and entry.digest not in ("", digests.get(entry.version) or entry.digest):
            yield index, entry


def is_kubernetes_in(version: str, wanted: str) -> bool:
    """Whether a cluster's version is in a range. The vendor's or pre-release suffix of the cluster's version is
    ignored. An empty range has every version, also one that cannot be read."""
    return not wanted or ranges.meets(release_of(version), ranges.parse(wanted))


def release_of(version: str) -> str:
    """A cluster's version without its suffix: `v1.34.2` of `v1.34.2-gke.100`."""
    return _SUFFIX.sub("", version)


def version_order(version: str) -> tuple[bool, ranges.Key]:
    """Compares as versions do; what is no version is equal among itself and comes before all that are."""
    try:
        return True, ranges.version_key(version)
    except ValueError:
        return False, ((0, 0, 0), ())


def _named(name: str, server: str) -> str:
    return f"channel '{name}'" + (f" at {server}" if server else "")


def _parse_entry(entry: JSON) -> ChannelEntry:
    kubernetes = entry.get("kubernetesVersion", "").strip()
    return ChannelEntry(entry["version"], entry.get("name", ""), kubernetes, entry.get("digest", ""))


def _wrong_values(entries: Sequence[JSON]) -> Iterator[Problem]:
    """Values of the right type that are wrong nevertheless."""
    digests: dict[tuple[str, str], str] = {}
    for index, entry in enumerate(entries):
        path = f"manifests[{index}]"
        yield from _wrong_entry(entry, path)
        name, digest = entry.get("name", ""), entry.get("digest", "")
        if digest and digests.setdefault((name, entry["version"]), digest) != digest:
            yield Problem(f"{path}.digest", "is another one than an earlier entry has for this version; remove one")


def _wrong_entry(entry: JSON, path: str) -> Iterator[Problem]:
    if not is_version(entry["version"]):
        yield Problem(f"{path}.version", "is no version; use letters, digits and . + _ -, at most 63, without '..'")
    if (name := entry.get("name", "")) and not is_component(name):
        yield Problem(f"{path}.name", "names no component; use lowercase letters, digits, . and -, at most 63")
    if (digest := entry.get("digest", "")) and not is_digest(digest):
        yield Problem(f"{path}.digest", "is no digest; write sha256: and 64 lowercase hex digits")
    try:
        ranges.parse(entry.get("kubernetesVersion", ""))
    except ValueError as error:
        yield Problem(f"{path}.kubernetesVersion", str(error))


def _unknown_keys(document: JSON) -> Iterator[str]:
    """Keys of the file are left to others; a mistyped key of an entry would change what is installed."""
    for index, entry in enumerate(document["manifests"]):
        for key in entry:
            if key not in _ENTRY.keys:
                yield f"manifests[{index}].{key}{suggestion(key, _ENTRY.keys)}"


def _missing(channel: Channel, component: str, kubernetes: str) -> str:
    """Why no entry fits."""
    entries = channel.entries_of(component)
    if not entries:
        return f"channel '{channel.name}' has no version of {component}; add an entry, or name another channel"
    listed = ", ".join(f"{entry.version} for {entry.kubernetes}" for entry in entries[:5])
    more = ", …" * (len(entries) > 5)
    text = f"channel '{channel.name}' has no version of {component} for Kubernetes {kubernetes}"
    return f"{text}, only {listed}{more}; add an entry, or set spec.version"
