"""The cluster that tests get: controllers work, rights are enforced, tokens end, compaction gives a true 410.

Level: control plane."""

import json
import ssl
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.controlplane.cluster import Cluster, OwnCluster, RequestFailed, User
from tests.controlplane.foreign import adopt
from tests.controlplane.kubeconfig import Access
from tests.controlplane.rest import request

READ_CONFIGMAPS = {"apiGroups": [""], "resources": ["configmaps"], "verbs": ["get", "list"]}


def test_a_deployment_becomes_ready(cluster: Cluster, namespace: str) -> None:
    cluster.kubectl("create", "deployment", "web", "--image=none", "--replicas=2", "-n", namespace)
    cluster.kubectl("rollout", "status", "deployment/web", "--timeout=60s", "-n", namespace)
    pods = json.loads(cluster.kubectl("get", "pods", "-o", "json", "-n", namespace))["items"]
    assert [pod["status"]["phase"] for pod in pods] == ["Running", "Running"]


def test_a_fresh_namespace_has_no_configmaps(cluster: Cluster, namespace: str) -> None:
    assert cluster.request("GET", f"/api/v1/namespaces/{namespace}/configmaps").body["items"] == []


def test_privileged_containers_are_allowed(cluster: Cluster, namespace: str) -> None:
    overrides = '{"spec": {"containers": [{"name": "p", "image": "p", "securityContext": {"privileged": true}}]}}'
    cluster.kubectl("run", "p", "--image=p", f"--overrides={overrides}", "-n", namespace)
    cluster.kubectl("wait", "--for=condition=Ready", "pod/p", "--timeout=60s", "-n", namespace)


def test_kubectl_failure_carries_its_standard_error(cluster: Cluster) -> None:
    with pytest.raises(RequestFailed, match="not found"):
        cluster.kubectl("get", "pod", "missing", "-n", "default")


def as_user(cluster: Cluster, user: User, method: str, path: str, body: object = None) -> int:
    return request(Access(cluster.url, cluster.ca, user.token), method, path, body).status


def test_a_user_may_do_what_its_rules_say_and_no_more(cluster: Cluster, namespace: str) -> None:
    reader = cluster.user("reader", namespace, [READ_CONFIGMAPS])
    own = f"/api/v1/namespaces/{namespace}"
    assert as_user(cluster, reader, "GET", f"{own}/configmaps") == 200
    assert as_user(cluster, reader, "GET", f"{own}/secrets") == 403
    assert as_user(cluster, reader, "POST", f"{own}/configmaps", {"metadata": {"name": "a"}}) == 403
    assert as_user(cluster, reader, "GET", "/api/v1/namespaces/default/configmaps") == 403


def test_a_user_everywhere_reads_other_namespaces_too(cluster: Cluster, namespace: str) -> None:
    reader = cluster.user("reader", namespace, [READ_CONFIGMAPS], everywhere=True)
    assert as_user(cluster, reader, "GET", "/api/v1/configmaps") == 200
    assert as_user(cluster, reader, "GET", "/api/v1/secrets") == 403


def test_kubectl_runs_as_a_user(cluster: Cluster, namespace: str) -> None:
    user = cluster.user("powerless", namespace)
    with pytest.raises(RequestFailed, match=f"system:serviceaccount:{namespace}:powerless"):
        cluster.kubectl("get", "pods", "-n", namespace, kubeconfig=user.kubeconfig)


@pytest.mark.parametrize(("lifetime", "status"), [(60, 200), (-1, 401)])
def test_a_token_is_good_for_its_lifetime(cluster: Cluster, namespace: str, lifetime: float, status: int) -> None:
    user = cluster.user("short", namespace, [READ_CONFIGMAPS], lifetime=lifetime)
    assert as_user(cluster, user, "GET", f"/api/v1/namespaces/{namespace}/configmaps") == status


def test_a_revoked_token_is_refused(cluster: Cluster, namespace: str) -> None:
    user = cluster.user("gone", namespace)
    cluster.revoke(user)
    for _ in range(300):  # it is known for up to 10 s, see `user`
        if as_user(cluster, user, "GET", "/version") == 401:
            return
        time.sleep(0.2)
    pytest.fail("its token is still good")


def watch(cluster: Cluster, path: str, version: str) -> Iterator[dict[str, Any]]:
    """Yield the events of a raw watch from the resourceVersion; the server ends it after a minute."""
    url = f"{cluster.url}{path}?watch=1&timeoutSeconds=60&resourceVersion={version}"
    asked = urllib.request.Request(url, headers={"Authorization": f"Bearer {cluster.token}"})
    with urllib.request.urlopen(asked, context=ssl.create_default_context(cafile=str(cluster.ca))) as stream:
        for line in stream:
            yield json.loads(line)


def pod_template(name: str) -> dict[str, Any]:
    container = {"name": "a", "image": "none"}
    return {"metadata": {"name": name}, "template": {"spec": {"containers": [container]}}}


def test_compaction_gives_watches_of_podtemplates_a_true_410(cluster: Cluster, namespace: str) -> None:
    templates = f"/api/v1/namespaces/{namespace}/podtemplates"
    version = cluster.request("GET", templates).body["metadata"]["resourceVersion"]
    cluster.create(templates, pod_template("a"))
    assert next(watch(cluster, templates, version))["type"] == "ADDED"
    cluster.compact()
    event = next(watch(cluster, templates, version))
    assert (event["type"], event["object"]["code"], event["object"]["reason"]) == ("ERROR", 410, "Expired")


def test_a_list_that_began_before_compaction_cannot_go_on(cluster: Cluster, namespace: str) -> None:
    templates = f"/api/v1/namespaces/{namespace}/podtemplates"
    for name in ("a", "b"):
        cluster.create(templates, pod_template(name))
    first = cluster.request("GET", f"{templates}?limit=1").body
    cluster.compact()
    assert cluster.request("GET", f"{templates}?limit=1&continue={first['metadata']['continue']}").status == 410


@pytest.mark.nightly
def test_after_a_restart_compaction_gives_watches_of_any_kind_a_true_410(own_cluster: OwnCluster) -> None:
    configmaps = "/api/v1/namespaces/default/configmaps"
    version = own_cluster.create(configmaps, {"metadata": {"name": "a"}})["metadata"]["resourceVersion"]
    own_cluster.compact()
    own_cluster.create(configmaps, {"metadata": {"name": "b"}})
    assert next(watch(own_cluster, configmaps, version))["object"]["metadata"]["name"] == "b"
    own_cluster.stop_apiserver()
    own_cluster.compact()
    with pytest.raises(OSError, match="refused"):
        own_cluster.request("GET", configmaps)
    own_cluster.start_apiserver()
    assert next(watch(own_cluster, configmaps, version))["object"]["code"] == 410


def test_a_kubeconfig_without_a_token_is_adopted(cluster: Cluster, tmp_path: Path) -> None:
    flat = cluster.kubectl("config", "view", "--raw", "--minify", "--flatten")
    (tmp_path / "flat").write_text(flat)
    adopted = Cluster(adopt(tmp_path / "flat", tmp_path), tmp_path)
    assert adopted.request("GET", "/api/v1/secrets").status == 200
    with pytest.raises(RequestFailed, match="unset HOOKRUNNER_TEST_KUBECONFIG"):
        adopted.compact()
