"""Moments as the Kubernetes API writes them, in UTC, which come as epoch seconds; durations as people read them.

Source: https://pkg.go.dev/k8s.io/apimachinery/pkg/apis/meta/v1#Time and #MicroTime
"""

import time
from datetime import UTC, datetime


def rfc3339(epoch_seconds: float) -> str:
    """`2026-07-01T12:00:00Z`."""
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(epoch_seconds))


def micro_time(epoch_seconds: float) -> str:
    """`2026-07-01T12:00:00.000000Z`, which a Lease needs: always with six digits. As text it sorts by time."""
    return datetime.fromtimestamp(epoch_seconds, UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def brief_duration(seconds: float) -> str:
    """`3.2s`, `62s`, `47m` or `6h12m`, for people."""
    if seconds < 10:
        return f"{max(seconds, 0.0):.1f}s"
    if seconds < 120:
        return f"{seconds:.0f}s"
    hours, minutes = divmod(int(seconds) // 60, 60)
    return f"{hours}h{minutes}m" if hours else f"{minutes}m"
