"""The benchmarks run, and say what they found. Their figures are nobody's business here."""

import json

import pytest

from benchmarks.__main__ import main
from benchmarks.rows import Target
from tests.controlplane.cluster import Cluster


def test_a_quick_run_fills_the_table(cluster: Cluster, capsys: pytest.CaptureFixture[str]) -> None:
    rows = ["--only", "idle", "--only", "events", "--only", "starts"]
    code = main(["--quick", "--repeat", "1", "-o", "json", "--kube-config", str(cluster.kubeconfig), *rows])
    told = capsys.readouterr()
    assert code == 0, told.err
    result = json.loads(told.out)
    figures = {row["work"]: row["values"]["hookrunner"] for row in result["rows"]}
    assert figures["resident memory with nothing to watch"] > 1e6
    assert 0 < figures["write sent → hook's first line, p50"] < 60
    assert len(result["samples"]["events"]["hookrunner"]["sent"]) == 3


def test_a_program_that_ends_at_once_is_an_error_with_its_last_words(
    cluster: Cluster, capsys: pytest.CaptureFixture[str]
) -> None:
    broken = "bash -c 'echo no licence; exit 3'"
    assert main(["--only", "idle", "--quick", "--kube-config", str(cluster.kubeconfig), "--hookrunner", broken]) == 1
    assert "no licence" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("target", "ours", "peers", "met"),
    [
        (Target(limit=0.012), 0.011, None, True),
        (Target(limit=0.012), 0.013, 1.0, False),
        (Target(ratio=0.5), 70.0, 140.0, True),
        (Target(ratio=0.5), 71.0, 140.0, False),
        (Target(ratio=1.3, more=True), 130.0, 100.0, True),
        (Target(ratio=1.3, more=True), 129.0, 100.0, False),
        (Target(ratio=0.5), 70.0, None, None),
        (Target(), 1.0, 1.0, None),
    ],
)
def test_a_target_is_a_limit_or_a_ratio_to_the_peer(
    target: Target, ours: float, peers: float | None, met: bool | None
) -> None:
    assert target.met(ours, peers) is met
