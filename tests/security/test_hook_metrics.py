"""Hooks whose metrics are made of what others wrote: names and labels that flood the page, or forge samples on it.

Level: sandbox."""

import json
from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families

from tests.flows.scripts import hook
from tests.security.attacked import attacked

MANY = 30_000
REFUSAL = ("metric refused", "n.sh")
FLOOD = f"""\
seq {MANY} | sed 's/.*/{{"name": "flood", "action": "set", "value": 1, "labels": {{"n": "&"}}}}/' > "$METRICS_PATH"
"""
NAMELESS = """\
seq 2000 | sed 's/.*/{"name": "process_cpu_seconds_total", "action": "set", "value": 1, "labels": {"__&": "x"}}/' \\
  > "$METRICS_PATH"
"""


@pytest.mark.usefixtures("launcher")
async def test_a_flood_of_series_ends_at_the_bound_and_one_of_refusals_is_logged_in_short(tmp_path: Path) -> None:
    scripts = {"h.sh": hook({"onStartup": 1}, FLOOD), "n.sh": hook({"onStartup": 2}, NAMELESS)}
    async with attacked(tmp_path, scripts, "--hook-metric-samples=5000") as target:
        program = target.program
        refused = [record for record in program.logs() if "--hook-metric-samples allows (5000)" in str(record)]
        assert (len(refused), f"({MANY - 5000} times)" in str(refused)) == (1, True)
        status, text = program.get("/metrics/hooks")
        assert (status, text.count("\nflood{")) == (200, 5000)
        assert program.metric("hook_metrics_samples") == 5001
        assert program.metric("hook_metrics_refused_total", hook="h.sh") == MANY - 5000
        nameless = [record for record in program.logs() if (record["msg"], record.get("hook")) == REFUSAL]
        assert (len(nameless), "1980 more refusals" in str(nameless[-1])) == (21, True)
        assert program.metric("hook_metrics_refused_total", hook="n.sh") == 2000


FORGED = 'x 1\n# TYPE up gauge\nup{job="forged"} 1\n'
VALUES = {
    "newline": FORGED,
    "quote": f'"}} 1\n{FORGED}',
    "backslash at the end": "a\\",
    "backslash and quote": '\\"} 1\n' + FORGED,
    "other line ends": f"a\r{FORGED}\u2028\x85\x0b",
    "NUL": "a\ufffdb",
    "unicode": "ü\u202e\U0001f600",
}
"""Of labels."""
NAMES = {
    "up 1\nup": "up_1_up",
    'up{job="forged"} 1': "up_job__forged___1",
    "hookrunner_live_ticks": "",
    "hookrunner_hook_run_seconds_count": "",
    "hookrunner_hook_run_errors_total": "",
    "hookrunner-live-ticks": "",
    "process_cpu_seconds_total": "",
    "hookrunner_of_a_hook": "hookrunner_of_a_hook",
}
"""Of metrics, and what they become; nothing where they are refused."""
LABELS = {"__name__": "", "__address__": "", "hook": 'hook="h.sh"', 'a="b"} 1\nup{c': 'a__b___1_up_c="x"'}
"""Names of labels."""


def operation(name: str, **labels: str) -> str:
    return json.dumps({"name": name, "action": "set", "value": 1, "labels": labels})


ALL = [
    *(operation("values", kind=kind, value=value.replace("\ufffd", "\0")) for kind, value in VALUES.items()),
    *(operation(name) for name in NAMES),
    *(operation("names", **{name: "x"}) for name in LABELS),
    operation("long", value="x" * 1_000_000),
    operation("long", **{"x" * 1_000_000: "x"}),
    operation("x" * 1_000_000),
    json.dumps({"name": "long", "action": "set", "value": 1, "group": "x" * 1_000_000}),
]


@pytest.mark.usefixtures("launcher")
async def test_no_name_and_no_label_forges_a_sample(tmp_path: Path) -> None:
    (tmp_path / "operations").write_text("\n".join(ALL))
    script = hook({"onStartup": 1}, f'cat {tmp_path}/operations > "$METRICS_PATH"\n')
    async with attacked(tmp_path, {"h.sh": script}) as target:
        status, text = target.program.get("/metrics/hooks")
        refused = [record["reason"] for record in target.program.logs() if record["msg"] == "metric refused"]
    samples = [sample for family in text_string_to_metric_families(text) for sample in family.samples]
    assert (status, {sample.labels["hook"] for sample in samples}) == (200, {"h.sh"})
    assert {s.name for s in samples} == {"values", "names"} | {name for name in NAMES.values() if name}
    found = {sample.labels["kind"]: sample.labels["value"] for sample in samples if sample.name == "values"}
    assert found == VALUES
    assert all(shown in text for shown in LABELS.values())
    assert len([reason for reason in refused if "hookrunner itself" in reason]) == list(NAMES.values()).count("")
    assert len([reason for reason in refused if "Prometheus's own" in reason]) == 2
    assert len([reason for reason in refused if "characters" in reason and len(reason) < 1000]) == 4
