"""Statuses of instances that others have written. Level: pure."""

from hookrunner.addons.written_status import readable
from kubetypes.json_values import JSON
from tests.tables import each

CONDITION = {"type": "Ready", "status": "True", "reason": "Current", "message": "", "lastTransitionTime": "2026-01-01"}
WHOLE: JSON = {
    "healthy": True,
    "errors": [],
    "phase": "Current",
    "observedGeneration": 3,
    "revision": 2,
    "lastHealthy": {"version": "1.0", "revision": 2, "time": "2026-01-01T00:00:00Z"},
    "startedAt": "2026-01-01T00:00:00Z",
    "conditions": [CONDITION],
    "hookReports": [{"type": "A", "hook": "hooks/a.sh", "healthy": True}],
    "of others": {"a": [1]},
}


def test_what_hookrunner_writes_is_read() -> None:
    assert readable(WHOLE) == WHOLE


@each(
    ("status", "read"),
    [
        (None, {}),
        ("Current", {}),
        ({"phase": ["Current"], "healthy": "yes", "revision": "a", "version": 1.2}, {}),
        ({"conditions": 5, "hookReports": {"a": 1}, "errors": "no"}, {}),
        ({"lastHealthy": {"revision": "two"}}, {}),
        ({"lastHealthy": {"revision": 1e30}, "revision": -1}, {}),
        ({"lastHealthy": [1]}, {}),
        ({"startedAt": "today"}, {}),
        ({"startedAt": 5}, {}),
        ({"conditions": [5, {"type": []}, CONDITION]}, {"conditions": [CONDITION]}),
        ({"hookReports": [{"type": "A", "hook": 1}]}, {"hookReports": []}),
    ],
)
def test_what_has_another_type_counts_as_not_written(status: JSON, read: JSON) -> None:
    assert readable(status) == read
