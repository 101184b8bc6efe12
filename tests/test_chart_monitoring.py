"""What the chart gives Prometheus and Grafana: the alerts of the documentation, and panels of metrics that exist.

Level: pure."""

import json
import re
from typing import Any

import pytest
import yaml
from prometheus_client.process_collector import ProcessCollector
from prometheus_client.registry import CollectorRegistry

from hookrunner.metrics.names import rows
from hookrunner.settings import load
from tests.fakes.chart import CHART, ROOT, named, render_chart
from tests.tables import each

ALERTS = yaml.load((CHART / "files" / "alerts.yaml").read_text(), yaml.CSafeLoader)
DASHBOARD = json.loads((CHART / "files" / "dashboard.json").read_text())
ALL = "monitoring.podMonitor.enabled=true,monitoring.rules.enabled=true,monitoring.dashboard.enabled=true"
NAME = re.compile(r"\b(?:hookrunner|process|shell_operator|d8_telemetry)_\w+")
PANELS = [panel for panel in DASHBOARD["panels"] if panel["type"] != "row"]


def template(flags: str = ALL) -> dict[str, Any]:
    return named(render_chart("--set", flags))


def exported() -> set[str]:
    """The names of all samples that `/metrics` may have."""
    own = [row.name.format("hookrunner_") for row in rows()]
    process = ProcessCollector(registry=CollectorRegistry()).collect()
    return {
        *(name + suffix for name in own for suffix in ("", "_bucket", "_sum", "_count")),
        *(sample.name for family in process for sample in family.samples),
    }


def test_the_alerts_are_those_of_the_pages() -> None:
    pages = "".join((ROOT / "docs" / name).read_text() for name in ("operations.md", "cloud.md"))
    shown = [yaml.safe_load(block)["groups"] for block in re.findall(r"```yaml\n(groups:\n.*?)```", pages, re.S)]
    assert ALERTS["groups"] == [group for groups in shown for group in groups]


def test_alerts_ask_for_metrics_and_labels_that_exist() -> None:
    labels = {label for row in rows() for label in (*row.labels, *row.optional)}
    for rule in (rule for group in ALERTS["groups"] for rule in group["rules"]):
        assert set(NAME.findall(rule["expr"])) <= exported(), rule["alert"]
        assert {*re.findall(r"\$labels\.(\w+)", rule["annotations"]["summary"])} <= labels, rule["alert"]


def test_every_panel_shows_metrics_and_labels_that_exist() -> None:
    for panel in PANELS:
        for target in panel["targets"]:
            used = set(NAME.findall(target["expr"]))
            assert set() < used <= exported(), panel["title"]
            own = {row.name.format("hookrunner_"): {*row.labels, *row.optional, "instance"} for row in rows()}
            stems = {re.sub(r"_bucket$", "", name) for name in used}
            asked = set(re.findall(r"{{(\w+)}}", target["legendFormat"]))
            assert all(asked <= own.get(stem, {"instance"}) for stem in stems), panel["title"]


def test_panels_have_their_own_places() -> None:
    places = [(panel["gridPos"]["x"], panel["gridPos"]["y"]) for panel in DASHBOARD["panels"]]
    assert len(set(places)) == len(places)
    assert len({panel["id"] for panel in DASHBOARD["panels"]}) == len(places)


def test_nothing_of_it_is_there_unless_it_is_turned_on() -> None:
    kinds = {name.partition("/")[0] for name in template("port=9115")}
    assert not kinds & {"PodMonitor", "PrometheusRule", "ConfigMap"}


def test_the_rules_reach_the_operator_as_they_are_written() -> None:
    assert template()["PrometheusRule/watch-hookrunner"]["spec"] == ALERTS


def test_the_monitor_finds_the_port_of_the_pod() -> None:
    found = template()
    monitor = found["PodMonitor/watch-hookrunner"]["spec"]
    pod = found["Deployment/watch-hookrunner"]["spec"]["template"]
    assert monitor["selector"]["matchLabels"].items() <= pod["metadata"]["labels"].items()
    ports = {port["name"] for port in pod["spec"]["containers"][0]["ports"]}
    assert [(at["port"] in ports, at["path"]) for at in monitor["podMetricsEndpoints"]] == [
        (True, "/metrics"),
        (True, "/metrics/hooks"),
    ]


def test_labels_by_which_operators_choose_are_added() -> None:
    found = template(f"{ALL},monitoring.rules.labels.release=prom,monitoring.dashboard.annotations.folder=ops")
    assert found["PrometheusRule/watch-hookrunner"]["metadata"]["labels"]["release"] == "prom"
    dashboard = found["ConfigMap/watch-hookrunner-dashboard"]
    assert (dashboard["metadata"]["labels"]["grafana_dashboard"], dashboard["metadata"]["annotations"]) == (
        "1",
        {"folder": "ops"},
    )
    assert json.loads(dashboard["data"]["hookrunner.json"]) == DASHBOARD


@pytest.mark.slow
@each(
    "flags",
    ["settings.compat=shell-operator", "settings.compat=addon-operator", "settings.prometheus-metrics-prefix=mine_"],
)
def test_metrics_have_the_prefix_that_the_program_gives_them(flags: str) -> None:
    found = template(f"{ALL},{flags}")
    environ = {
        entry["name"]: entry.get("value", "")
        for entry in found["Deployment/watch-hookrunner"]["spec"]["template"]["spec"]["containers"][0]["env"]
    }
    prefix = load({}, "hookrunner", environ).web.metrics_prefix
    assert prefix != "hookrunner_"
    rules = json.dumps(found["PrometheusRule/watch-hookrunner"]["spec"])
    shown = found["ConfigMap/watch-hookrunner-dashboard"]["data"]["hookrunner.json"]
    assert (f"{prefix}hook_running_seconds" in rules, "hookrunner_" in rules + shown) == (True, False)
