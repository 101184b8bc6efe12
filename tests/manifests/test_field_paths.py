"""Paths of fields, as addon.yaml has them. Level: pure."""

import pytest

from hookrunner.manifests.field_paths import Selector, parse_path
from tests.tables import each

WEB = Selector("name", "web")


@each(
    "text, steps",
    [
        ("spec.replicas", ("spec", "replicas")),
        (".spec.replicas", ("spec", "replicas")),
        ("spec.containers[name=web].image", ("spec", "containers", WEB, "image")),
        ('spec.containers[name="web"].image', ("spec", "containers", WEB, "image")),
        ("spec.containers.[name=web].image", ("spec", "containers", WEB, "image")),
        ("spec.containers[*].args", ("spec", "containers", Selector(), "args")),
        ("spec.containers[*]", ("spec", "containers")),
        ("ports[containerPort=53].name", ("ports", Selector("containerPort", "53"), "name")),
        ("metadata.annotations[prometheus.io/scrape]", ("metadata", "annotations", "prometheus.io/scrape")),
        ("data[a.conf]", ("data", "a.conf")),
    ],
)
def test_paths_are_written_as_in_messages_of_kubernetes(text: str, steps: tuple[str | Selector, ...]) -> None:
    assert parse_path(text) == steps


@each(
    "text", ["", "spec.", "spec..a", "[*].a", "spec.containers[", "spec.a]b", "spec.containers[].a", "/spec/a", "a b"]
)
def test_what_is_no_path_is_refused_with_advice(text: str) -> None:
    with pytest.raises(ValueError, match="write keys with points between them"):
        parse_path(text)
