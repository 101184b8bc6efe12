"""Moments as the Kubernetes API writes them, in UTC. They come as epoch seconds.

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
