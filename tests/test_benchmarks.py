"""The benchmarks run and report what they measured. One figure is a promise here: the memory of a full sandbox.

Level: control plane."""

import asyncio
import json
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from benchmarks import charts
from benchmarks.__main__ import main
from benchmarks.addons.unit_files import OBJECTS, write_addon, write_modules
from benchmarks.measure import Measured, Result
from benchmarks.programs import Program
from benchmarks.row import Target
from benchmarks.rows import GROUPS
from benchmarks.sandbox import crowded, first_run
from benchmarks.scenarios import QUICK, Sizes, at_rate
from benchmarks.table import as_json, as_markdown
from hookrunner.addons.addon_discovery import find_addons
from kubetypes.json_values import JSON
from tests.controlplane.cluster import Cluster
from tests.tables import each

OURS = Program("hookrunner", (sys.executable, "-m", "hookrunner", "start"))
QUICK_RUN = ("--quick", "--repeat", "1", "-o", "json")


def measured(capsys: pytest.CaptureFixture[str], words: Sequence[str], *rows: str) -> JSON:
    """What a quick run of these rows reports."""
    code = main([*words, *QUICK_RUN, *(word for row in rows for word in ("--only", row))])
    told = capsys.readouterr()
    assert code == 0, told.err
    return json.loads(told.out)


def on(cluster: Cluster, *words: str) -> tuple[str, ...]:
    return (*words, "--kube-config", str(cluster.kubeconfig))


@pytest.mark.usefixtures("launcher")
def test_a_quick_run_fills_the_table(cluster: Cluster, capsys: pytest.CaptureFixture[str]) -> None:
    result = measured(capsys, on(cluster), "idle", "events")
    figures = {row["work"]: row["values"]["hookrunner"] for row in result["rows"]}
    assert figures["resident memory with nothing to watch"] > 1e6
    assert 0 < figures["write sent → hook's first line, p50"] < 60
    assert len(result["samples"]["events"]["hookrunner"]["sent"]) == 3


@pytest.mark.nightly
@pytest.mark.usefixtures("launcher")
def test_a_quick_run_asks_webhooks_and_leaves_nothing_registered(
    cluster: Cluster, capsys: pytest.CaptureFixture[str]
) -> None:
    samples = measured(capsys, on(cluster), "reviews", "conversion")["samples"]
    assert len(samples["reviews"]["hookrunner"]["cost"]) == 10
    assert all(0 < own < 60 for own in samples["conversion"]["hookrunner"]["hook"])
    assert "/benchmark-" not in cluster.kubectl("get", "validatingwebhookconfigurations", "-o", "name")


@pytest.mark.nightly
@pytest.mark.usefixtures("launcher")
def test_a_quick_run_measures_resident_hooks_and_a_steady_load(
    cluster: Cluster, capsys: pytest.CaptureFixture[str]
) -> None:
    samples = measured(capsys, on(cluster), "fast", "lanes", "lag", "resident-reviews", "soak")["samples"]
    found = {name: figures["hookrunner"] for name, figures in samples.items()}
    assert [len(found["fast"][name]) for name in ("hookrunner", "kopf", "ratio")] == [3, 3, 1]
    assert (0.1 < found["lanes"]["done"][0] < 60, len(found["resident-reviews"]["cost_500"])) == (True, 50)
    assert (len(found["soak"]["descriptors"]), found["soak"]["rate"][0] > 0) == (10, True)
    assert (len(found["lag"]["lag"]), bool(found["lag"]["bare"])) == (1, True)


@pytest.mark.looptime
async def test_what_is_done_at_a_rate_waits_for_nothing_before_it() -> None:
    loop, begun = asyncio.get_running_loop(), []

    async def act() -> None:
        begun.append(loop.time())
        await asyncio.sleep(10)

    await at_rate(4, 2.0, act)
    assert begun == pytest.approx([begun[0] + number * 0.5 for number in range(4)], abs=0.01)


def test_growth_leaves_the_first_fifth_out() -> None:
    (row,) = (row for group in GROUPS for row in group.rows if (group.name, row.figure) == ("soak", "descriptors"))
    assert row.summary([1, 50, 12, 11, 90, 30, 30, 30, 13, 14]) == 2


@pytest.mark.nightly
@pytest.mark.usefixtures("launcher")
def test_a_quick_run_takes_the_api_server_away(cluster: Cluster, capsys: pytest.CaptureFixture[str]) -> None:
    samples = measured(capsys, on(cluster), "outage")["samples"]["outage"]["hookrunner"]
    assert {figure: len(found) for figure, found in samples.items()} == {"few": 1, "many": 1, "bare": 1}


@pytest.mark.nightly
@pytest.mark.usefixtures("launcher")
def test_a_quick_run_converges_modules(cluster: Cluster, capsys: pytest.CaptureFixture[str]) -> None:
    result = measured(capsys, on(cluster, "modules"), "modules")
    samples = result["samples"]["modules"]["hookrunner"]
    assert {figure: len(found) for figure, found in samples.items()} == {
        "cold": 1, "cold_cpu": 1, "restart": 2, "restart_cpu": 1, "one": 3, "all": 1, "settled": 1
    }  # fmt: skip
    assert all(0 < seconds < 60 for found in samples.values() for seconds in found)
    assert {"objects", "turns", "upgrades", "told"} <= result["floors"].keys()


@pytest.mark.nightly
@pytest.mark.usefixtures("launcher")
def test_a_quick_run_compares_instances_of_addons(capsys: pytest.CaptureFixture[str]) -> None:
    """On a control plane without controllers, which would undo the statuses that the benchmark writes."""
    samples = measured(capsys, ["addons"], "install", "many", "floor", "status", "listed")["samples"]
    found = {name: figures["hookrunner"] for name, figures in samples.items()}
    assert (found["many"]["writes_instances"], found["many"]["fetches_instances"]) == ([0], [0])
    assert [len(found["install"][figure]) for figure in ("defined", "first", "again", "kubectl")] == [1, 1, 2, 2]
    assert [len(found["status"][figure]) for figure in ("event", "status", "ratio")] == [3, 3, 1]
    assert all(0 < found["many"][ratio][0] < 60 for ratio in ("cold", "cold_cpu", "restart", "field"))
    assert (found["listed"]["asked"], 0 < found["listed"]["ratio"][0] < 2) == ([1], True)
    dry_runs = found["floor"]["tried_count"][0] - found["floor"]["modules_count"][0]
    assert (dry_runs, found["floor"]["instances"][0] > 0) == ((OBJECTS - 1) * QUICK.units, True)


def test_units_of_both_kinds_can_be_loaded_and_share_a_chart(tmp_path: Path) -> None:
    write_modules(tmp_path, charts.names(3))
    write_addon(tmp_path, "benchmark.example.com")
    catalog = find_addons([tmp_path / "addons"])
    assert ([addon.name for addon in catalog.addons], catalog.rejected) == (["unit"], ())
    assert len(list(tmp_path.glob("modules/010-*/hooks/done.sh"))) == 3
    packaged = tmp_path.glob("addons/unit/channels/packages/unit/1.0.0/templates/*")
    chart = {path.name: path.read_text().replace(".unit.", ".unitAa.") for path in packaged}
    assert {path.name: path.read_text() for path in tmp_path.glob("modules/010-unit-aa/templates/*")} == chart
    assert len(chart) == OBJECTS


def test_rows_of_another_suite_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        main(["modules", "--only", "idle"])
    assert "modules has modules, modules-memory" in capsys.readouterr().err


@pytest.mark.slow
@pytest.mark.parametrize(("count", "objects"), [(29, 249), (3, 27)])
def test_modules_have_so_many_objects_and_every_kind_in_each(tmp_path: Path, count: int, objects: int) -> None:
    names = charts.names(count)
    charts.write(tmp_path, names)
    found = [charts.manifests(name, number, "default") for number, name in enumerate(names)]
    assert sum(map(len, found)) == objects
    assert len(list(tmp_path.glob("modules/*/templates/*.yaml"))) == objects
    assert {len({(obj["kind"], obj["metadata"]["name"]) for _, obj in one}) for one in found} <= {8, 9}


def test_a_program_that_ends_at_once_is_an_error_with_its_last_words(
    cluster: Cluster, capsys: pytest.CaptureFixture[str]
) -> None:
    broken = "bash -c 'echo no licence; exit 3'"
    assert main(["--only", "idle", "--quick", "--kube-config", str(cluster.kubeconfig), "--hookrunner", broken]) == 1
    assert "no licence" in capsys.readouterr().err


@each(
    ("target", "ours", "peers", "met"),
    [
        (Target(limit=0.012), 0.011, None, True),
        (Target(limit=0.012), 0.013, 1.0, False),
        (Target(limit=2000, more=True), 2000, None, True),
        (Target(limit=2000, more=True), 1999, 1.0, False),
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


def test_what_only_hookrunner_has_leaves_the_columns_of_others_empty() -> None:
    (group,) = [group for group in GROUPS if group.name == "sandbox"]
    figures = {row.figure: [0.5] for row in group.rows}
    result = Result(("hookrunner", "peer"), (Measured(group, {"hookrunner": figures}),), {})
    assert "| `start --sandbox` → first hook run | 0.50 s |  |  | ≤ 1.50 s | yes |" in as_markdown(result).splitlines()
    assert json.loads(as_json(result))["rows"][0]["values"] == {"hookrunner": 0.5}


@pytest.mark.slow
@pytest.mark.usefixtures("launcher")
async def test_the_first_run_in_a_sandbox_is_compared_with_a_bare_python(tmp_path: Path) -> None:
    found = await first_run(OURS, tmp_path / "run")
    assert found["times"] == [found["run"][0] / found["bare"][0]]
    assert found["cpu"][0] > 0


@pytest.mark.nightly
@pytest.mark.usefixtures("launcher")
async def test_a_sandbox_with_ten_thousand_objects_and_a_watcher_weighs_less_than_promised(tmp_path: Path) -> None:
    found = await crowded(OURS, tmp_path / "sandbox", Sizes(events=1))
    assert 20e6 < found["memory"][0] < 150e6
