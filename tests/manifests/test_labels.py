"""Labels of an addon on its objects."""

from hookrunner.manifests.labels import LONGEST_VALUE, label_value, set_labels
from tests.manifests.conftest import sourced


def test_labels_replace_those_of_the_same_name_and_only_at_the_top() -> None:
    template = {"template": {"metadata": {"labels": {"k8s-app": "scraper"}}}}
    labels = {"labels": {"k8s-app": "scraper", "own": "x"}}
    deployment = sourced("Deployment", "a", api_version="apps/v1", metadata=labels, spec=template)
    bare = sourced("Service", "b", metadata={"labels": None})
    first, second = set_labels([deployment, bare], {"k8s-app": "dashboard"})
    assert first.obj["metadata"]["labels"] == {"k8s-app": "dashboard", "own": "x"}
    assert first.obj["spec"] == template
    assert second.obj["metadata"]["labels"] == {"k8s-app": "dashboard"}


def test_long_names_become_values_that_differ() -> None:
    long = ["x" * 51 + "." + end * 60 for end in "ab"]
    values = [label_value(name) for name in ("default", *long)]
    assert values[0] == "default"
    assert len(set(values)) == 3
    assert all(len(value) <= LONGEST_VALUE and ".." not in value for value in values)
