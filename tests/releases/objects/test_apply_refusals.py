"""What the API server says about fields, and faults that are tolerated. Messages are those of Kubernetes 1.35.

Level: pure."""

from typing import Any

from hookrunner.releases.objects import apply_refusals
from hookrunner.releases.objects.apply_refusals import faults, without_faults
from tests.tables import each

DEPLOYMENT = {
    "metadata": {"labels": {"app.kubernetes.io/name": "a"}, "finalizers": ["x/y"]},
    "spec": {
        "replicas": 1,
        "template": {"spec": {"containers": [{"name": "a", "image": "i", "ports": [{"containerPort": 80}]}]}},
    },
}


@each(
    ("message", "expected"),
    [
        ('Apply failed with 1 conflict: conflict with "helm": .data.k', [("helm", ".data.k")]),
        (
            'Apply failed with 1 conflict: conflict with "hpa" with subresource "scale" using apps/v1 at'
            " 2026-11-21T21:13:23Z: .spec.replicas",
            [("hpa", ".spec.replicas")],
        ),
        (
            'Apply failed with 3 conflicts: conflicts with "a" using apps/v1:\n- .spec.replicas\n'
            '- .spec.template.spec.containers[name="x: y"].image\nconflicts with "b" using v1:\n- .metadata.labels.c',
            [
                ("a", ".spec.replicas"),
                ("a", '.spec.template.spec.containers[name="x: y"].image'),
                ("b", ".metadata.labels.c"),
            ],
        ),
        ('Operation cannot be fulfilled on deployments.apps "dx": uid mismatch', []),
    ],
)
def test_conflicts_are_read_from_the_message(message: str, expected: list[tuple[str, str]]) -> None:
    assert apply_refusals.disputes(message) == expected


@each(
    ("path", "expected"),
    [
        (".spec.replicas", True),
        (".spec.paused", False),
        (".metadata.labels.app.kubernetes.io/name", True),
        (".metadata.labels.app.kubernetes.io/part-of", False),
        ('.spec.template.spec.containers[name="a"].image', True),
        ('.spec.template.spec.containers[name="b"].image', False),
        ('.spec.template.spec.containers[name="a"].ports[containerPort=80,protocol="TCP"].containerPort', True),
        ('.spec.template.spec.containers[name="a"].ports[containerPort=81,protocol="TCP"].containerPort', False),
        ('.metadata.finalizers[="x/y"]', True),
        ('.metadata.finalizers[="z"]', False),
        (".metadata.finalizers[0]", True),
        (".spec.replicas[0]", False),
    ],
)
def test_the_object_says_whether_it_sets_a_field(path: str, expected: bool) -> None:
    assert apply_refusals.sets(DEPLOYMENT, path) is expected


@each(
    ("message", "expected"),
    [
        (
            'Deployment.apps "d" is invalid: [spec.template.metadata.labels: Invalid value: {"app":"d"}: `selector`'
            ' does not match template `labels`, spec.selector: Invalid value: {"app":"z"}: field is immutable]',
            ["spec.selector"],
        ),
        (
            'StatefulSet.apps "s" is invalid: spec: Forbidden: updates to statefulset spec for fields other than'
            " 'replicas' are forbidden",
            ["spec"],
        ),
        (
            'Service "s" is invalid: spec.clusterIPs[0]: Invalid value: ["1"]: may not change once set',
            ["spec.clusterIPs[0]"],
        ),
        (
            'RoleBinding "b" is invalid: roleRef: Invalid value: rbac.RoleRef{Name:"x"}: cannot change roleRef',
            ["roleRef"],
        ),
        ('Deployment.apps "d" is invalid: spec.replicas: Invalid value: -1: must be greater than or equal to 0', []),
    ],
)
def test_fields_that_cannot_change_are_named(message: str, expected: list[str]) -> None:
    assert apply_refusals.immutable(message) == expected


HEAD = "failed to create typed patch object (ns/x; apps/v1, Kind=Deployment): "
PORTS = [{"port": 1, "name": "a"}, {"port": 2}, {"port": 1, "name": "b"}]


@each(
    ("message", "obj", "expected"),
    [
        (".spec.foo: field not declared in schema", {"spec": {"foo": 1, "bar": 2}}, {"spec": {"bar": 2}}),
        (
            'errors:\n  .c[name="a"].x: field not declared in schema\n  .y: field not declared in schema',
            {"c": [{"name": "a", "x": 1}, {"name": "b", "x": 1}], "y": {}, "z": 1},
            {"c": [{"name": "a"}, {"name": "b", "x": 1}], "z": 1},
        ),
        ('.ports: duplicate entries for key [port=1,protocol="TCP"]', {"ports": PORTS}, {"ports": PORTS[1:]}),
        (".ports: duplicate entries for key [port=1]", {"ports": [PORTS[0]] * 2}, {"ports": [PORTS[0]]}),
    ],
)
def test_unknown_fields_are_left_out_and_the_last_of_the_same_counts(message: str, obj: Any, expected: Any) -> None:
    assert without_faults(obj, faults(HEAD + message)) == expected


@each(
    "message",
    [
        HEAD + ".spec.replicas: expected numeric (int or float), got string",
        HEAD + "errors:\n  .a: field not declared in schema\n  .b: expected string, got &value.valueUnstructured{}",
        'Apply failed with 1 conflict: conflict with "helm": .data.k',
    ],
)
def test_faults_that_must_be_corrected_are_not_tolerated(message: str) -> None:
    assert faults(message) == []
