"""Images come from the private registry, and Pods know the Secret for it. Level: pure."""

from hookrunner.manifests.images import POD_SPECS, images_of, redirect_images, redirected
from kubetypes.json_values import JSON
from tests.manifests.conftest import pods_of, sourced
from tests.tables import each


@each(
    ("image", "there"),
    [
        ("coredns", "r/coredns"),
        ("k8s.gcr.io/coredns:1.6.7", "r/coredns:1.6.7"),
        ("registry.k8s.io/coredns/coredns:v1", "r/coredns:v1"),
        ("a/b/c/d:v", "r/c/d:v"),
        ("localhost:5000/a@sha256:00", "r/a@sha256:00"),
        ("", ""),
    ],
)
def test_the_registry_takes_the_place_of_what_stands_before_the_last_part(image: str, there: str) -> None:
    assert redirected(image, "r") == there


def test_every_kind_with_pods_is_covered() -> None:
    pod = {"containers": [{"image": "x/a"}], "initContainers": [{"image": "x/b"}]}
    for (group, kind), path in POD_SPECS.items():
        workload = pods_of(kind, f"{group}/v1".lstrip("/"), *path, **pod)
        [found] = redirect_images([workload], "registry.local/", "pull")
        spec: JSON = found.obj
        for key in path:
            spec = spec[key]
        assert spec == {
            "containers": [{"image": "registry.local/a"}],
            "initContainers": [{"image": "registry.local/b"}],
            "imagePullSecrets": [{"name": "pull"}],
        }, kind


def test_images_that_are_volumes_are_redirected() -> None:
    volumes = [{"name": "m", "image": {"reference": "x/y/models:1"}}, {"name": "e", "emptyDir": {}}]
    [found] = redirect_images([pods_of("Pod", "v1", "spec", containers=[], volumes=volumes)], "r")
    assert found.obj["spec"]["volumes"] == [{"name": "m", "image": {"reference": "r/models:1"}}, volumes[1]]


def test_the_secret_replaces_others_and_needs_no_registry() -> None:
    pod = pods_of("Pod", "v1", "spec", containers=[{"image": "x/a"}], imagePullSecrets=[{"name": "old"}])
    [found] = redirect_images([pod], pull_secret="new")
    assert found.obj["spec"] == {"containers": [{"image": "x/a"}], "imagePullSecrets": [{"name": "new"}]}
    assert redirect_images([pod]) == (pod,)


@each(
    "spec", [None, [], "x", {"containers": None}, {"containers": [None, {"image": 5}, {}], "volumes": [{"image": 1}]}]
)
def test_what_is_shaped_otherwise_stays(spec: JSON) -> None:
    pod = sourced("Pod", "a", spec=spec)
    assert redirect_images([pod], "r") == (pod,)


def test_images_are_listed_where_they_are_redirected() -> None:
    pod: JSON = {"containers": [{"image": "x/a"}, {"image": ""}, {}], "initContainers": [{"image": "x/b"}]}
    pod["volumes"] = [{"image": {"reference": "x/models:1"}}, {"emptyDir": {}}]
    for (group, kind), path in POD_SPECS.items():
        workload = pods_of(kind, f"{group}/v1".lstrip("/"), *path, **pod).obj
        assert images_of([workload]) == {"x/a", "x/b", "x/models:1"}, kind
    assert images_of([{"apiVersion": "v1", "kind": "ConfigMap", "spec": pod}]) == set()
