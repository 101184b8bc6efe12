"""The record of a chart, as far as files alone decide. `test_cluster.py` compares it with Helm's. Level: pure."""

from pathlib import Path

import pytest

from hookrunner.charts.manifests import Manifests
from hookrunner.charts.render_worker import as_answer, chart_metadata, missing_subcharts, recorded_chart
from hookrunner.charts.renderer import read_render
from hookrunner.errors import RenderFailed
from hookrunner.model.releases import Capabilities, HelmHook, RenderRequest
from kubetypes.json_values import JSON
from tests.tables import each

V1 = {"Chart.yaml": b"apiVersion: v1\nname: old\nversion: 1\nappVersion: 2.5\nunknown: x\nkeywords: []\n"}
NEEDS = b"dependencies: [{name: a}, {name: b, version: 1.0.0}]\n"


def test_only_fields_that_helm_knows_are_kept_as_texts() -> None:
    assert chart_metadata(V1) == {"apiVersion": "v1", "name": "old", "version": "1", "appVersion": "2.5"}


def test_old_charts_name_their_subcharts_in_a_file_of_their_own() -> None:
    files = V1 | {"requirements.yaml": NEEDS, "requirements.lock": b"digest: d\n"}
    kept = recorded_chart(files)
    assert kept["lock"] == {"digest": "d"}
    assert [item["name"] for item in kept["metadata"]["dependencies"]] == ["a", "b"]


def test_subcharts_are_missing_by_the_name_that_they_give_themselves() -> None:
    files = {"Chart.yaml": NEEDS, "charts/x/Chart.yaml": b"name: a\n", "charts/_b/Chart.yaml": b"name: b\n"}
    assert missing_subcharts(files, chart_metadata(files)) == ["b"]


@each("text", [b"a: [", b"text", b"dependencies: {a: b}", b"dependencies: [a]", b""])
def test_unreadable_chart_yaml_is_left_for_helm_to_refuse(text: bytes) -> None:
    files = {"Chart.yaml": text}
    assert missing_subcharts(files, chart_metadata(files)) == []


async def test_what_was_rendered_arrives_as_it_was() -> None:
    hook = HelmHook("a", "Job", "chart/a.yaml", "kind: Job\n", {"kind": "Job"}, ("pre-install",), 1, ("hook-failed",))
    objects = tuple({"kind": "ConfigMap", "data": {"text": f"{number}\n\u2028\r" * 50}} for number in range(9_000))
    rendered = Manifests("kind: ConfigMap # ü\n\n", objects, (hook,), "notes\n", ())
    order = RenderRequest(Path(), "a", "b", {}, Capabilities("", ()))
    chart = await read_render(order, b"=" + as_answer(rendered, {}))
    assert (chart.manifest, chart.objects, chart.hooks, chart.notes, chart.chart) == (
        rendered.manifest,
        objects,
        (hook,),
        "notes\n",
        {},
    )


@each(
    ("objects", "reason"),
    [
        ([{"a": "x" * (3 << 20)}], "an object has more than 3 MiB"),
        ([{"a": "x" * (2 << 20)}] * 17, "its objects are more than 32 MiB"),
        ([{"a": [1] * 100_000}] * 6, "its objects are more than 500,000 values"),
    ],
)
def test_what_is_too_large_for_a_release_is_refused(objects: list[JSON], reason: str) -> None:
    with pytest.raises(RenderFailed, match=reason):
        as_answer(Manifests("", tuple(objects), (), "", ()), {})
