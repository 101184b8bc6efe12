"""A hook whose metric has a label with another value for each sample."""

from pathlib import Path

import pytest

from tests.flows.scripts import hook
from tests.security.attacked import attacked

MANY = 30_000
FLOOD = f"""\
seq {MANY} | sed 's/.*/{{"name": "flood", "action": "set", "value": 1, "labels": {{"n": "&"}}}}/' > "$METRICS_PATH"
"""


@pytest.mark.usefixtures("launcher")
async def test_a_flood_of_series_ends_at_the_bound_and_is_told(tmp_path: Path) -> None:
    async with attacked(tmp_path, {"h.sh": hook({"onStartup": 1}, FLOOD)}, "--hook-metric-samples=5000") as target:
        program = target.program
        refused = [record for record in program.logs() if "--hook-metric-samples allows (5000)" in str(record)]
        assert (len(refused), f"({MANY - 5000} times)" in str(refused)) == (1, True)
        status, text = program.get("/metrics/hooks")
        assert (status, text.count("\nflood{")) == (200, 5000)
        assert program.metric("hook_metrics_samples") == 5001
        assert program.metric("hook_metrics_refused_total", hook="h.sh") == MANY - 5000
