"""Decides which version an instance gets: from its spec, its channel, its update policy and what is installed. Pure.

    wanted = resolve_version(request, channel)              # ResolvedVersion, or the AddonObstacle
    obstacle = check_package(package.traits, request, wanted.version)

An exact `spec.version` wins. Otherwise the channel decides on the first install, and later if the policy is
`automatic`; with `notify` and `manual` the installed version stays. A channel that cannot be read refuses only what
needs it.
"""

from contextlib import suppress
from dataclasses import field, replace

from hookrunner import __version__, ranges
from hookrunner.errors import PackageError
from hookrunner.model.addon_status import AddonObstacle, AddonPhase
from hookrunner.model.addons import Addon, CommonFields, Downgrade, Instance
from hookrunner.packages.channels import (
    Channel,
    choose_entry,
    pinned_digest,
    release_of,
    require_serial,
    version_order,
)
from hookrunner.packages.package import PackageTraits
from kubetypes.light_dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class VersionRequest:
    """What decides about a version. `installed` is the applied version, "" before the first install; `followed` the
    channel that it is from, "" for an exact version and one that was restored; `serial` is the one that the channel of
    the spec has had, 0 without one; `kubernetes` is the cluster's version and `hookrunner` our own."""

    component: str
    kubernetes: str
    hookrunner: str
    fields: CommonFields = field(default_factory=CommonFields)
    installed: str = ""
    downgrade: Downgrade = "allow"
    followed: str = ""
    serial: int = 0


@dataclass(frozen=True, slots=True)
class ResolvedVersion:
    """The version to install. `channel` is the one that it is from, "" for an exact version; `digest` is the package's
    if the channel pins it. `available` is the channel's version if the policy does not install it, `unread` why the
    channel that it follows cannot be read, `serial` the highest of that channel so far."""

    version: str
    channel: str = ""
    digest: str = ""
    available: str = ""
    unread: str = ""
    serial: int = 0


def version_request(addon: Addon, instance: Instance, kubernetes: str, installed: str) -> VersionRequest:
    """What decides about the version of an instance, on a cluster of this version and with this version installed."""
    return VersionRequest(addon.component, kubernetes, __version__, instance.fields, installed, addon.downgrade)


def resolve_version(request: VersionRequest, channel: Channel | PackageError) -> ResolvedVersion | AddonObstacle:
    """The version, or why no version can be installed. `channel` is the one that the spec names, or why it
    cannot be read; then the version that was installed from it stays. One with a lower serial than before counts as
    one that cannot be read."""
    fields, channel = request.fields, _current(request, channel)
    if fields.version:
        digest = "" if isinstance(channel, PackageError) else pinned_digest(channel, request.component, fields.version)
        wanted = ResolvedVersion(fields.version, digest=digest)
    else:
        followed = _follow(request, channel)
        if isinstance(followed, AddonObstacle):
            return followed
        wanted = followed
    return _refused_downgrade(request, wanted.version) or wanted


def _current(request: VersionRequest, channel: Channel | PackageError) -> Channel | PackageError:
    """The channel, or that it is older than it has been."""
    try:
        if isinstance(channel, Channel):
            require_serial(channel, request.serial)
    except PackageError as error:
        return error
    return channel


def needs_channel(request: VersionRequest) -> bool:
    """Must the channel be read to know the version? Otherwise it only tells digests and newer versions."""
    keeps = request.installed and request.fields.update_policy != "automatic"
    return not (request.fields.version or keeps)


def package_obstacle(error: PackageError) -> AddonObstacle:
    """Why there is no package, or no version of one, as the status says it."""
    if error.reason in ("NoChannel", "NoVersion"):
        return AddonObstacle(AddonPhase.VERSION_MISMATCH, error.reason, str(error))
    return AddonObstacle(AddonPhase.PACKAGE_ERROR, error.reason, str(error))


def check_package(traits: PackageTraits, request: VersionRequest, version: str) -> AddonObstacle | None:
    """Why a package cannot be installed here, None if it can: its ranges of versions of hookrunner, of the cluster, and
    of the version that it replaces."""
    package = f"{request.component} {version}"
    if traits.hookrunner and not ranges.is_in(request.hookrunner, traits.hookrunner):
        text = f"{package} needs hookrunner {traits.hookrunner}, this is {request.hookrunner}; upgrade it"
        return AddonObstacle(AddonPhase.VERSION_MISMATCH, "Operator", text)
    if traits.kubernetes and not ranges.is_in(release_of(request.kubernetes), traits.kubernetes):
        text = f"{package} needs Kubernetes {traits.kubernetes}, the cluster has {request.kubernetes}"
        return AddonObstacle(AddonPhase.VERSION_MISMATCH, "Kubernetes", f"{text}; choose another version")
    replaces = request.installed and request.installed != version
    if replaces and traits.upgrades_from and not ranges.is_in(request.installed, traits.upgrades_from):
        text = f"{package} replaces versions {traits.upgrades_from} only, {request.installed} is installed"
        return AddonObstacle(AddonPhase.VERSION_MISMATCH, "UpgradePath", f"{text}; install one of these first")
    return None


def check_operator(minimum: str, request: VersionRequest, version: str) -> AddonObstacle | None:
    """The same for the annotation `addons.k8s.io/min-operator-version`: `minimum` is the highest of the package's
    objects, "" without one. A text that is no version is refused, since the package asks for something."""
    if not minimum or (version_order(minimum)[0] and version_order(minimum) <= version_order(request.hookrunner)):
        return None
    text = f"{request.component} {version} needs hookrunner {minimum} or newer, this is {request.hookrunner}"
    return AddonObstacle(AddonPhase.VERSION_MISMATCH, "Operator", f"{text}; upgrade it")


def untested_reason(traits: PackageTraits, request: VersionRequest, version: str) -> str:
    """Why a version counts as untested on this cluster; "" if it does not."""
    if not traits.tested_kubernetes or ranges.is_in(release_of(request.kubernetes), traits.tested_kubernetes):
        return ""
    tested = f"{request.component} {version} is tested with Kubernetes {traits.tested_kubernetes}"
    return f"{tested}, the cluster has {request.kubernetes}"


def _follow(request: VersionRequest, channel: Channel | PackageError) -> ResolvedVersion | AddonObstacle:
    """The version without an exact one in the spec."""
    if not needs_channel(request):
        return _keep(request, channel)
    if isinstance(channel, PackageError):
        is_followed = request.installed and request.followed == request.fields.channel
        return _unread(request, channel) if is_followed else package_obstacle(channel)
    try:
        entry = choose_entry(channel, request.component, request.kubernetes)
    except PackageError as error:
        return package_obstacle(error)
    except ValueError as error:  # the cluster's version, which a range is compared with
        return AddonObstacle(AddonPhase.VERSION_MISMATCH, "Kubernetes", f"channel '{channel.name}': {error}")
    return ResolvedVersion(entry.version, channel.name, entry.digest, serial=channel.serial)


def _keep(request: VersionRequest, channel: Channel | PackageError) -> ResolvedVersion:
    """The installed version, and with `notify` another one of the channel. Neither needs a readable channel."""
    version = request.installed
    if isinstance(channel, PackageError):
        is_silent = request.fields.update_policy == "manual"
        unread = _unread(request, channel)
        return replace(unread, unread="") if is_silent else unread
    available = ""
    if request.fields.update_policy == "notify":
        with suppress(PackageError, ValueError):
            available = choose_entry(channel, request.component, request.kubernetes).version
    other = available if available != version else ""
    digest = pinned_digest(channel, request.component, version)
    return ResolvedVersion(version, channel.name, digest, other, serial=channel.serial)


def _unread(request: VersionRequest, error: PackageError) -> ResolvedVersion:
    """The installed version: a source that is down does not affect what runs, and its settings may still change."""
    return ResolvedVersion(request.installed, request.fields.channel, unread=str(error), serial=request.serial)


def _refused_downgrade(request: VersionRequest, version: str) -> AddonObstacle | None:
    older = request.installed and version_order(version) < version_order(request.installed)
    if not older or request.downgrade == "allow":
        return None
    text = f"{request.component} {version} is older than {request.installed}, which is installed"
    advice = f"this addon refuses that; set spec.version: {request.installed}"
    return AddonObstacle(AddonPhase.VERSION_MISMATCH, "DowngradeRefused", f"{text}; {advice}")
