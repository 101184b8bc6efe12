"""What is known of Go's types, and that it is of today's kinds and versions. Level: pure."""

import gzip
import json

from kubesandbox.builtin.types import type_of
from tests.controlplane.types_data import PACKED, made_of

CONDITIONAL = {
    "apps/v1.DaemonSetUpdateStrategy": ["rollingUpdate"],
    "apps/v1.DeploymentStrategy": ["rollingUpdate"],
    "apps/v1.RollingUpdateDaemonSet": ["maxSurge", "maxUnavailable"],
    "apps/v1.RollingUpdateDeployment": ["maxSurge", "maxUnavailable"],
    "apps/v1.RollingUpdateStatefulSetStrategy": ["partition"],
    "apps/v1.StatefulSetUpdateStrategy": ["rollingUpdate"],
    "autoscaling/v2.HPAScalingRules": ["policies", "stabilizationWindowSeconds"],
    "batch/v1.JobSpec": [
        "backoffLimit",
        "completionMode",
        "completions",
        "manualSelector",
        "parallelism",
        "podReplacementPolicy",
        "suspend",
    ],
    "core/v1.Container": ["imagePullPolicy"],
    "core/v1.EphemeralContainer": ["imagePullPolicy"],
    "core/v1.ImageVolumeSource": ["pullPolicy"],
    "core/v1.PersistentVolumeSpec": ["persistentVolumeReclaimPolicy", "volumeMode"],
    "core/v1.PodSpec": ["enableServiceLinks"],
    "core/v1.ServiceSpec": ["internalTrafficPolicy"],
    "core/v1.Volume": ["emptyDir"],
    "networking/v1.NetworkPolicySpec": ["policyTypes"],
}
"""Fields that have a rule in `conditional_defaults`, or whose type's owner has."""


def test_the_data_is_made_of_what_is_there_now() -> None:
    said = json.loads(gzip.decompress(PACKED.read_bytes()))
    assert said["made_of"] == made_of(), "run python -m tests.controlplane.types_data"


def test_no_field_has_a_new_default_that_depends_on_something() -> None:
    said = json.loads(gzip.decompress(PACKED.read_bytes()))
    assert {type_: sorted(fields) for type_, fields in said["conditional"].items()} == CONDITIONAL, "write its rule"


def test_a_type_knows_the_defaults_that_depend_on_nothing() -> None:
    type_ = type_of("v1", "Pod")
    assert type_ is not None
    container = type_.fields["spec"].type.fields["containers"].type.inner
    assert container.defaults == {"terminationMessagePath": "/dev/termination-log", "terminationMessagePolicy": "File"}
    assert "enableServiceLinks" not in type_.fields["spec"].type.defaults  # only of Pods, not of templates


def test_a_field_knows_whether_it_is_a_pointer_and_when_it_is_left_out() -> None:
    type_ = type_of("apps/v1", "Deployment")
    assert type_ is not None
    spec = type_.fields["spec"].type
    assert (spec.fields["replicas"].type.kind, spec.fields["replicas"].omit) == ("pointer", "omitempty")
    assert (spec.fields["template"].type.name, spec.fields["template"].omit) == ("core/v1.PodTemplateSpec", "")


def test_a_field_of_an_embedded_struct_is_found_with_its_way() -> None:
    type_ = type_of("v1", "Pod")
    assert type_ is not None
    probe = type_.fields["spec"].type.fields["containers"].type.inner.fields["livenessProbe"].type.inner
    assert probe.fields["httpGet"].path == "ProbeHandler.httpGet"


def test_an_unknown_kind_has_no_type() -> None:
    assert type_of("v1", "Gadget") is None
