"""Protobuf bodies, read from what the real API server writes: the same object asked for in both forms.

Level: control plane."""

import http.client
import ssl
from contextlib import closing
from typing import Any
from urllib.parse import urlsplit

import orjson
import pytest

from kubesandbox.builtin import protobuf
from kubesandbox.status import Refused
from tests.controlplane.cluster import Cluster
from tests.tables import each

POD_SPEC: dict[str, Any] = {
    "nodeSelector": {"never": "here"},
    "tolerations": [{"operator": "Exists", "tolerationSeconds": -1, "effect": "NoExecute"}],
    "volumes": [
        {"name": "a", "configMap": {"name": "c", "items": [{"key": "k", "path": "p", "mode": 256}]}},
        {"name": "b", "emptyDir": {"sizeLimit": "1Gi"}},
    ],
    "containers": [
        {
            "name": "c",
            "image": "i",
            "resources": {"requests": {"cpu": "100m", "memory": "1Mi"}},
            "livenessProbe": {"httpGet": {"path": "/", "port": "http"}, "failureThreshold": 3},
            "readinessProbe": {"tcpSocket": {"port": 80}},
            "env": [{"name": "E", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}],
            "volumeMounts": [{"name": "a", "mountPath": "/a", "readOnly": True}],
        }
    ],
}
META = {"name": "x", "labels": {"a": "b"}}
OBJECTS = {
    "pods": {"metadata": META, "spec": POD_SPEC},
    "configmaps": {"metadata": META, "data": {"k": "ü", "e": ""}, "binaryData": {"b": "AP8="}, "immutable": False},
    "secrets": {"metadata": META, "stringData": {"k": "v"}},
    "services": {"metadata": META, "spec": {"ports": [{"port": 80, "targetPort": "http"}], "selector": {"a": "b"}}},
    "resourcequotas": {"metadata": META, "spec": {"hard": {"pods": "2", "requests.cpu": "1500m"}}},
    "events": {
        "metadata": {"name": "x"},
        "involvedObject": {"kind": "Pod", "namespace": "default", "name": "p"},
        "eventTime": "2026-01-02T03:04:05.678901Z",
        "reportingComponent": "test",
        "reportingInstance": "one",
        "action": "Try",
        "reason": "Tried",
        "type": "Normal",
    },
}


def fetched(cluster: Cluster, path: str, accept: str) -> bytes:
    url = urlsplit(cluster.url)
    tls = ssl.create_default_context(cafile=str(cluster.ca))
    with closing(http.client.HTTPSConnection(str(url.hostname), url.port, context=tls)) as connection:
        connection.request("GET", path, headers={"Authorization": f"Bearer {cluster.token}", "Accept": accept})
        return connection.getresponse().read()


def in_both_forms(cluster: Cluster, path: str) -> tuple[Any, Any]:
    """JSON and protobuf of one state: the scheduler writes what it thinks of a Pod at any time."""
    while True:
        as_json = orjson.loads(fetched(cluster, path, "application/json"))
        read = protobuf.decoded(fetched(cluster, path, "application/vnd.kubernetes.protobuf"))
        if as_json["metadata"]["resourceVersion"] == read["metadata"]["resourceVersion"]:
            return as_json, read


def without_zeros(value: Any) -> Any:
    """JSON leaves out what protobuf writes as "", 0, false or an empty message, and the other way round."""
    if isinstance(value, dict):
        kept = {key: without_zeros(one) for key, one in value.items()}
        return {key: one for key, one in kept.items() if one not in ("", 0, None, {}, [])}
    return [without_zeros(one) for one in value] if isinstance(value, list) else value


@pytest.mark.parametrize("plural", OBJECTS)
def test_an_object_says_the_same_in_both_forms(cluster: Cluster, namespace: str, plural: str) -> None:
    body = orjson.loads(orjson.dumps(OBJECTS[plural]).replace(b'"default"', orjson.dumps(namespace)))
    path = f"/api/v1/namespaces/{namespace}/{plural}"
    cluster.create(path, body)
    as_json, read = in_both_forms(cluster, f"{path}/x")
    assert as_json["metadata"]["name"] == "x"
    assert without_zeros(read) == without_zeros(as_json)


@each(
    "text", [b"", b"k8s\0", b"k8s\0\xff\xff\xff", b"{}", b"k8s\0\x0a\x02\x08\x01", b"k8s\0\x0a\x7f", bytes(range(256))]
)
def test_what_is_no_protobuf_is_refused(text: bytes) -> None:
    with pytest.raises(Refused, match="cannot be read as protobuf"):
        protobuf.decoded(text)
