"""Prometheus' own rules read the chart's alerts and panels: each alert fires at what it is about, and at nothing less.

Level: pure."""

import json
import re
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from hookrunner.metrics.names import rows
from tests.fakes.chart import CHART, ROOT
from tests.test_chart_monitoring import ALERTS, DASHBOARD, PANELS

RULES = {rule["alert"]: rule for group in ALERTS["groups"] for rule in group["rules"]}
LABELS = {row.name.format("hookrunner_"): row.labels for row in rows()}
MINUTES = {"m": 1, "h": 60, "d": 1440}
STEP = 5
"""Minutes between samples, and between looks at them: more seldom, and a sample is no longer the present one."""
ALWAYS, NEVER = "1+0x400", "0+0x400"
GROWS, STANDS = "0+5x400", "7+0x400"
FIRST = "_x11 1+0x400"
"""A counter that appears with its first event, five minutes before alerts are looked at."""

Series = dict[str, str]
"""Names with labels, and their values in promtool's notation, one at each step."""


@dataclass(frozen=True)
class Case:
    """Inputs at which an alert fires, each alone, with these of their labels (all of them if none is given); and one at
    which it does not."""

    fires: tuple[Series, ...]
    quiet: Series
    by: str = ""


def of(name: str, *labels: str, **more: str) -> str:
    """A series as hookrunner exports it: its labels in the order of their declaration."""
    own = LABELS[name.removesuffix("_bucket")]
    pairs = {**dict(zip(own, labels, strict=True)), **more}
    return f"{name}{{{','.join(f'{label}={json.dumps(value)}' for label, value in pairs.items())}}}"


def late(name: str, *labels: str, le: str) -> Series:
    """A histogram all of whose observations are above all bounds but `le`, the highest."""
    return {
        of(f"hookrunner_{name}_bucket", *labels, le=bound): (GROWS if bound in (le, "+Inf") else NEVER)
        for bound in ("1", le, "+Inf")
    }


def one(name: str, values: str, *labels: str) -> Series:
    return {of(f"hookrunner_{name}", *labels): values}


def review(values: str, result: str) -> Series:
    return one("webhook_reviews_total", values, "admission", "a", result)


def phase(reason: str) -> Series:
    return one("module_phase", ALWAYS, "web", "Installed", reason)


def addon(name: str, values: str, *labels: str) -> Series:
    return one(f"addon_{name}", values, "coredns", "kube-system", "default", *labels)


def hook(name: str, values: str, *labels: str) -> Series:
    return one(name, values, "a.sh", "pods", *labels)


def calls(failing: str) -> Series:
    return one("cloud_provider_calls_total", GROWS, "list", "OK") | one(
        "cloud_provider_calls_total", failing, "list", "Unavailable"
    )


ADDON = "addon namespace name"
CASES = {
    "HookrunnerWebhookFails": Case(
        (review(GROWS, "failed"), review(FIRST, "failed")), review(GROWS, "denied"), "webhook"
    ),
    "HookrunnerWebhooksOverloaded": Case(
        (review(GROWS, "limit"), review(FIRST, "limit")), review(STANDS, "limit"), "webhook"
    ),
    "HookrunnerWebhookSlow": Case(
        (late("webhook_seconds", "admission", "a", "total", le="5"),),
        late("webhook_seconds", "admission", "a", "waited", le="5"),
        "webhook",
    ),
    "HookrunnerWebhookCertificateExpires": Case(
        (one("webhook_certificate_expiry_timestamp_seconds", "80000+0x400", "admission"),),
        one("webhook_certificate_expiry_timestamp_seconds", "200000+0x400", "admission"),
    ),
    "HookrunnerWebhookNotRegistered": Case(
        (one("webhook_registered", NEVER, "ValidatingWebhookConfiguration", "x"),),
        one("webhook_registered", ALWAYS, "ValidatingWebhookConfiguration", "x"),
    ),
    "HookrunnerModuleFails": Case((phase("failed"),), phase(""), "module"),
    "HookrunnerModuleUndecided": Case((phase("undecided"),), phase("failed"), "module"),
    "HookrunnerModuleWaits": Case((phase("waits"),), phase("undecided"), "module"),
    "HookrunnerConfigRefused": Case(
        (one("config_values_refused", ALWAYS, "web"),), one("config_values_refused", NEVER, "web")
    ),
    "HookrunnerModuleDrifts": Case((one("module_drift", "2+0x400", "web"),), one("module_drift", NEVER, "web")),
    "HookrunnerModuleIsFought": Case(
        (one("modules_helm_release_redeployed_total", GROWS, "web"),),
        one("modules_helm_release_redeployed_total", FIRST, "web"),
    ),
    "HookrunnerAddonStuck": Case(
        (addon("phase", ALWAYS, "RenderFailed"),), addon("phase", ALWAYS, "Applying"), f"{ADDON} phase"
    ),
    "HookrunnerAddonUnhealthy": Case((addon("healthy", NEVER),), addon("healthy", ALWAYS)),
    "HookrunnerAddonObjectsFail": Case(
        (addon("objects", ALWAYS, "Failed"),), addon("objects", ALWAYS, "InProgress"), ADDON
    ),
    "HookrunnerAddonRunsFail": Case(
        (addon("run_errors_total", GROWS, "Malformed"),), addon("run_errors_total", STANDS, "Malformed")
    ),
    "HookrunnerAddonSourceFails": Case(
        (
            one("addon_channel_reads_total", GROWS, "example", "Unreachable"),
            one("addon_package_fetches_total", GROWS, "example", "Malformed"),
        ),
        one("addon_channel_reads_total", GROWS, "example", "read")
        | one("addon_package_fetches_total", GROWS, "example", "cached"),
    ),
    "HookrunnerAddonUpdateAvailable": Case(
        (addon("update_available", ALWAYS, "2.0.0"),), addon("update_available", NEVER, "2.0.0")
    ),
    "HookrunnerPartFails": Case(
        (one("background_failing", ALWAYS, "queue main"),), one("background_failing", NEVER, "queue main")
    ),
    "HookrunnerBindingWaits": Case(
        (hook("binding_waiting", ALWAYS, "refused"),), hook("binding_waiting", NEVER, "refused")
    ),
    "HookrunnerHookFails": Case(
        (
            hook("hook_run_errors_total", GROWS, "main"),
            one("module_hook_errors_total", GROWS, "web", "a.sh", "pods", "main", ""),
            one("global_hook_errors_total", GROWS, "a.sh", "pods", "main", ""),
        ),
        hook("hook_run_errors_total", STANDS, "main"),
    ),
    "HookrunnerTaskDropped": Case(
        (hook("tasks_dropped_total", GROWS, "main"), hook("tasks_dropped_total", FIRST, "main")),
        hook("tasks_dropped_total", STANDS, "main"),
    ),
    "HookrunnerQueueStuck": Case(
        (one("tasks_queue_head_age_seconds", "901+0x400", "main", "a.sh"),),
        one("tasks_queue_head_age_seconds", "900+0x400", "main", "a.sh"),
    ),
    "HookrunnerHookHangs": Case(
        (hook("hook_running_seconds", "1801+0x400", "main"),), hook("hook_running_seconds", "1800+0x400", "main")
    ),
    "HookrunnerFilterFails": Case(
        (hook("filter_errors_total", GROWS), hook("filter_errors_total", FIRST)), hook("filter_errors_total", STANDS)
    ),
    "HookrunnerSlow": Case(
        (late("event_latency_seconds", "done", "a.sh", "pods", le="60"),),
        late("event_latency_seconds", "done", "a.sh", "pods", le="10"),
        "stage",
    ),
    "HookrunnerWatchesStall": Case(
        (one("kubernetes_watch_stalls_total", GROWS, "/v1/pods", "default"),),
        one("kubernetes_watch_stalls_total", STANDS, "/v1/pods", "default"),
    ),
    "HookrunnerCloudNodeWaits": Case(
        (one("cloud_nodes", ALWAYS, "uninitialized"),), one("cloud_nodes", ALWAYS, "foreign")
    ),
    "HookrunnerCloudDeletionsHeld": Case(
        (one("cloud_node_deletes_held", ALWAYS),), one("cloud_node_deletes_held", NEVER)
    ),
    "HookrunnerCloudServiceWaits": Case(
        (one("cloud_services", ALWAYS, "pending"),), one("cloud_services", ALWAYS, "synced")
    ),
    "HookrunnerCloudProviderFails": Case((calls(GROWS),), calls("0+0.1x400"), "-"),
    "HookrunnerCloudNoLeader": Case((one("cloud_leader", NEVER),), one("cloud_leader", ALWAYS)),
}


def minutes(duration: str) -> int:
    return int(duration[:-1]) * MINUTES[duration[-1]]


def fired(alert: str, series: Series, by: str) -> dict[str, Any]:
    """What promtool expects of an alert that fires at the series."""
    pairs = dict(re.findall(r'(\w+)="([^"]*)"', next(iter(series))))
    labels = {label: value for label, value in pairs.items() if value and (not by or label in by.split())}
    annotations = {
        name: re.sub(r"{{ \$labels\.(\w+) }}", lambda found: labels[found[1]], text)
        for name, text in RULES[alert]["annotations"].items()
    }
    return {"exp_labels": labels, "exp_annotations": annotations}


def questions() -> Iterator[dict[str, Any]]:
    """An hour after an alert has waited for as long as it states, and at the last step before that time."""
    for alert, case in CASES.items():
        waits = minutes(RULES[alert].get("for", "0m"))
        for series in (*case.fires, case.quiet):
            expected = [] if series is case.quiet else [fired(alert, series, case.by)]
            looks = [{"eval_time": f"{waits + 60}m", "alertname": alert, "exp_alerts": expected}]
            if waits:
                looks.append({"eval_time": f"{(waits - 1) // STEP * STEP}m", "alertname": alert, "exp_alerts": []})
            inputs = [{"series": name, "values": values} for name, values in series.items()]
            yield {"interval": f"{STEP}m", "input_series": inputs, "alert_rule_test": looks}


def ask(promtool: Path, *words: str) -> str:
    """What promtool prints; the test fails with it if promtool does."""
    done = subprocess.run([promtool, *words], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.slow
def test_each_alert_fires_at_what_it_is_about_and_at_nothing_less(promtool: Path, tmp_path: Path) -> None:
    assert CASES.keys() == RULES.keys()
    (file := tmp_path / "tests.json").write_text(
        json.dumps(
            {
                "rule_files": [str(CHART / "files" / "alerts.yaml")],
                "evaluation_interval": f"{STEP}m",
                "tests": list(questions()),
            }
        )
    )
    ask(promtool, "test", "rules", str(file))


def test_each_alert_states_what_to_do_and_which_section_has_more() -> None:
    for alert, rule in RULES.items():
        pages = re.findall(r"docs/([\w-]+\.md)(?:#([\w-]+))?", rule["annotations"]["description"])
        assert len(pages) == 1, alert
        [(page, section)] = pages
        assert not section or section in sections(page), alert


def sections(page: str) -> set[str]:
    """The anchors of its headings."""
    titles = re.findall(r"^#+ (.*)$", (ROOT / "docs" / page).read_text(), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", title).strip().lower().replace(" ", "-") for title in titles}


@pytest.mark.slow
def test_prometheus_reads_the_expression_of_each_panel(promtool: Path, tmp_path: Path) -> None:
    """As rules that record it; Grafana's variables are replaced as Grafana does."""
    expressions = [target["expr"] for panel in PANELS for target in panel["targets"]]
    variables = [variable["query"] for variable in DASHBOARD["templating"]["list"] if variable["type"] == "query"]
    expressions += [re.sub(r"label_values\((.*), \w+\)", r"\1", text) for text in variables]
    rules = [
        {"record": f"panel:{number}", "expr": text.replace("$__rate_interval", "4m").replace("$", "")}
        for number, text in enumerate(expressions)
    ]
    (file := tmp_path / "panels.json").write_text(json.dumps({"groups": [{"name": "panels", "rules": rules}]}))
    assert f"{len(expressions)} rules found" in ask(promtool, "check", "rules", str(file))
    assert len(expressions) > 25
