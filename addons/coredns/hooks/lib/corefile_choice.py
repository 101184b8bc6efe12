"""Chooses the Corefile that is installed: the user's, migrated to the version that is installed, or the package's.

The text in the spec stays as its user wrote it. Each run migrates it from the version that it was written for, so that
a rollback, a downgrade or a later edit begin with that text too. The annotation on the instance keeps this version.
"""

import re
from typing import NamedTuple

from .coredns_releases import NEWEST, known_version
from .corefile import Unreadable, parse
from .corefile_migration import is_default, migrate, notices

ANNOTATION = "hookrunner.io/corefile-version"
_CORRECT = "correct spec.corefile"
_STATE = f"state in the annotation {ANNOTATION} for which version it was written"


class Versions(NamedTuple):
    """Of CoreDNS: the one that is installed by this run, and a newer one that is not yet, empty if there is none."""

    installed: str
    available: str


class Migration(NamedTuple):
    """Releases of the table: the one that a text was written for, the one that is installed, and the one that is
    installed next, which is the same if no other one is available."""

    written_for: str
    origin: str
    target: str
    upcoming: str


class Choice(NamedTuple):
    """The Corefile to install, empty for the package's; reason and message of the condition, empty if there is nothing
    to report."""

    text: str
    reason: str = ""
    message: str = ""


def choose(text: str, written_for: str, versions: Versions, domain: str) -> Choice:
    """What a user's text, which is not empty, leads to; without a version it was written for the one that is installed.
    Raises ValueError with what to do: that version is not known, or the text cannot be read."""
    target = _or_newest(versions.installed)
    try:
        parse(text)
    except Unreadable as error:
        raise ValueError(f"{error}: {_CORRECT}") from None
    try:
        origin = known_version(written_for) if written_for else target
    except ValueError as error:
        raise ValueError(f"annotation {ANNOTATION}: {error}") from None
    try:
        if origin != target and is_default(text, domain):
            return Choice("")
        migrated = migrate(text, origin, target)
    except Unreadable as error:
        raise ValueError(f"{error}: {_CORRECT}, or {_STATE}") from None
    upcoming = _or_newest(versions.available or versions.installed)
    migration = Migration(written_for or versions.installed, origin, target, upcoming)
    return Choice(migrated, *_report(text, migrated, migration))


def _or_newest(version: str) -> str:
    """The release of a version; the newest one for a package whose version is not one of CoreDNS."""
    try:
        return known_version(version)
    except ValueError:
        return NEWEST


def _report(text: str, migrated: str, migration: Migration) -> tuple[str, str]:
    """Reason and message of the condition."""
    prefix = f"spec.corefile is for CoreDNS {migration.written_for}"
    changes = notices(text, migration.origin, migration.upcoming)
    try:
        is_changed = migrate(text, migration.origin, migration.upcoming) != migrated
    except Unreadable as error:
        is_changed, changes = True, [*changes, f"the upgrade will fail, {error}"]
    if is_changed:
        return "Upgrade", _joined(f"{prefix}, an upgrade to {migration.upcoming} changes it", changes)
    if migrated != text:
        return "Migrated", _joined(f"{prefix}, {migration.target} gets it migrated", changes)
    return ("Outdated", _joined(prefix, changes)) if changes else ("", "")


def is_package_default(text: str, domain: str) -> bool:
    """Is a text that of a release of Kubernetes, so that the package's can replace it? Not one that cannot be read."""
    try:
        return is_default(text, domain)
    except Unreadable:
        return False


def version_of_image(image: str) -> str:
    """The version in an image's tag, as 1.11.1 in `registry.k8s.io/coredns/coredns:v1.11.1`; empty without one."""
    tag = re.search(r":v?(\d+\.\d+\.\d+[^:/@]*)(@|$)", image)
    return tag[1] if tag else ""


def _joined(prefix: str, changes: list[str]) -> str:
    return f"{prefix}: {'; '.join(changes)}" if changes else prefix
