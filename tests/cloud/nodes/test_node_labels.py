"""Which labels a Node gets from its machine, and what is corrected of those of old. Level: pure."""

from dataclasses import replace

from hookrunner.cloud.answers import InstanceMetadata
from hookrunner.cloud.nodes.node_labels import (
    BETA_NAMES,
    REGION,
    TYPE,
    ZONE,
    corrected_labels,
    initial_labels,
    invalid_labels,
    reserved_labels,
    synced_labels,
)
from tests.cloud.node_samples import node, projected
from tests.tables import each

METADATA = InstanceMetadata("sim://a", "small", "zone-a", "region-1")
NEW = {TYPE: "small", ZONE: "zone-a", REGION: "region-1"}
OLD = {BETA_NAMES[key]: value for key, value in NEW.items()}


@each(
    "live, metadata, beta, labels",
    [
        ({}, METADATA, True, NEW | OLD),
        ({}, METADATA, False, NEW),
        ({ZONE: "zone-b"}, METADATA, False, NEW),
        ({BETA_NAMES[ZONE]: "zone-b"}, METADATA, False, NEW | {BETA_NAMES[ZONE]: "zone-a"}),
        (NEW | OLD, METADATA, True, {}),
        ({}, InstanceMetadata("sim://a"), True, {}),
        ({}, InstanceMetadata("sim://a", region="r"), True, {REGION: "r", BETA_NAMES[REGION]: "r"}),
    ],
)
def test_place_of_the_machine_is_written_under_new_and_old_names(
    live: dict[str, str], metadata: InstanceMetadata, beta: bool, labels: dict[str, str]
) -> None:
    assert initial_labels(projected(node(labels=live)), metadata, beta) == labels


def test_labels_of_the_provider_replace_none_and_touch_no_name_of_kubernetes() -> None:
    given = ("topology.kubernetes.io/rack", "topology.k8s.io/rack", "kubernetes.io/x", "k8s.io/x")
    kept = ("app.k8snio/bar", "k8snio/bar", "my.cloud/rack", "mine")
    metadata = InstanceMetadata("sim://a", additional_labels=dict.fromkeys((*given, *kept), "v"))
    live = projected(node(labels={"mine": "other"}))
    assert initial_labels(live, metadata, beta=True) == dict.fromkeys(kept[:3], "v")
    assert reserved_labels(metadata) == list(given)


@each(
    "live, corrected",
    [
        ({BETA_NAMES[ZONE]: "a"}, {ZONE: "a"}),
        ({BETA_NAMES[ZONE]: "a", ZONE: "b"}, {ZONE: "a"}),
        ({BETA_NAMES[ZONE]: "a", ZONE: "a"}, {}),
        ({ZONE: "b"}, {}),
        ({}, {}),
        (OLD | {REGION: "x"}, NEW),
    ],
)
def test_label_of_old_is_the_truth_while_it_is_there(live: dict[str, str], corrected: dict[str, str]) -> None:
    assert corrected_labels(projected(node(labels=live))) == corrected


@each(
    "live, last, labels",
    [
        (NEW | OLD, {}, {"my/rack": "7"}),
        (NEW | OLD | {"my/rack": "7"}, {}, {}),
        (NEW | OLD | {"my/rack": "6"}, {"my/rack": "6"}, {"my/rack": "7"}),
        (NEW | OLD | {"my/rack": "5"}, {"my/rack": "6"}, {}),
        (NEW | OLD | {"my/rack": "6"}, {}, {}),
        (NEW | OLD | {"my/rack": "7", ZONE: "zone-b"}, {}, {ZONE: "zone-a"}),
        (NEW | OLD | {"my/rack": "7", "foreign": "x"}, {"foreign": "x"}, {}),
    ],
)
def test_labels_follow_the_cloud_and_leave_those_of_users(
    live: dict[str, str], last: dict[str, str], labels: dict[str, str]
) -> None:
    metadata = replace(METADATA, additional_labels={"my/rack": "7"})
    assert synced_labels(projected(node(labels=live)), metadata, last, beta=True) == labels


def test_synced_label_stays_when_the_one_of_old_is_looked_at() -> None:
    live = projected(node(labels=NEW | OLD))
    moved = synced_labels(live, replace(METADATA, zone="zone-b"), {}, beta=False)
    assert corrected_labels(projected(node(labels={**live.labels, **moved}))) == {}


@each(
    "metadata, problem",
    [
        (METADATA, ""),
        (replace(METADATA, zone="zone a"), "zone 'zone a' is no value of a label"),
        (replace(METADATA, instance_type="x" * 64), "instanceType 'xxx"),
        (replace(METADATA, region="-r"), "region '-r' is no value"),
        (replace(METADATA, additional_labels={"a b": "v"}), "'a b' is no name of a label"),
        (replace(METADATA, additional_labels={"A.b/c": "v"}), "'A.b/c' is no name of a label"),
        (replace(METADATA, additional_labels={"a/": "v"}), "'a/' is no name of a label"),
        (replace(METADATA, additional_labels={"a": "v\n"}), r"label 'a': 'v\n' is no value"),
        (replace(METADATA, additional_labels={"kubernetes.io/a b": "v v"}), ""),
    ],
)
def test_labels_that_the_api_server_would_refuse_are_found(metadata: InstanceMetadata, problem: str) -> None:
    found = "; ".join(invalid_labels(metadata))
    assert found.startswith(problem) if problem else not found
