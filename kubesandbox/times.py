"""How the API writes a time: RFC 3339 in UTC, whole seconds (`metav1.Time`)."""

from datetime import UTC, datetime


def rfc3339(moment: datetime) -> str:
    """`2026-11-21T17:30:00Z`; `moment` knows its zone."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
