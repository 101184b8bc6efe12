"""Requests as an authorizer sees them. Level: pure."""

from hookrunner.model.rights import AccessRequest
from hookrunner.rights.request_lines import is_open_to_all, read_request
from tests.tables import each

PODS = "/api/v1/namespaces/web/pods"


@each(
    ("line", "asked"),
    [
        (f"GET {PODS}", ("list", "", "pods", "web")),
        (f"GET {PODS}?limit=500", ("list", "", "pods", "web")),
        (f"GET {PODS}?watch=true", ("watch", "", "pods", "web")),
        (f"GET {PODS}?watch=false", ("list", "", "pods", "web")),
        (f"GET {PODS}/front", ("get", "", "pods", "web", "front")),
        (f"HEAD {PODS}/front", ("get", "", "pods", "web", "front")),
        (f"GET {PODS}?fieldSelector=metadata.name%3Dfront&watch=1", ("watch", "", "pods", "web", "front")),
        (f"GET {PODS}?fieldSelector=status.phase%3DFailed", ("list", "", "pods", "web")),
        (f"POST {PODS}", ("create", "", "pods", "web")),
        (f"POST {PODS}/front/eviction", ("create", "", "pods/eviction", "web", "front")),
        (f"PATCH {PODS}/front?dryRun=All", ("patch", "", "pods", "web", "front")),
        (f"DELETE {PODS}/front", ("delete", "", "pods", "web", "front")),
        (f"DELETE {PODS}?labelSelector=a", ("deletecollection", "", "pods", "web")),
        ("GET /api/v1/pods", ("list", "", "pods")),
        ("GET /api/v1/nodes/one", ("get", "", "nodes", "", "one")),
        ("GET /api/v1/namespaces", ("list", "", "namespaces")),
        ("GET /api/v1/namespaces/web", ("get", "", "namespaces", "web", "web")),
        ("PUT /api/v1/namespaces/web/status", ("update", "", "namespaces/status", "web", "web")),
        ("PUT /apis/apps/v1/namespaces/web/deployments/a/scale", ("update", "apps", "deployments/scale", "web", "a")),
        ("GET /apis/example.com/v1/gadgets/a%3Ab", ("get", "example.com", "gadgets", "", "a:b")),
        ("GET /metrics?a=b", ("get", "", "", "", "", "/metrics")),
        (f"OPTIONS {PODS}", ("", "", "pods", "web")),
    ],
)
def test_a_line_becomes_a_request(line: str, asked: tuple[str, ...]) -> None:
    assert read_request(line) == AccessRequest(*asked)


@each(
    ("line", "is_open"),
    [
        ("GET /api", True),
        ("GET /api/v1", True),
        ("GET /apis/apps/v1?timeout=32s", True),
        ("GET /openapi/v3/apis/apps/v1?hash=1", True),
        ("GET /version", True),
        ("GET /readyz", True),
        ("POST /apis/authorization.k8s.io/v1/selfsubjectaccessreviews", True),
        ("GET /api/v1/pods", False),
        ("GET /metrics", False),
        ("GET /readyz/etcd", False),
    ],
)
def test_discovery_and_questions_about_oneself_need_no_rule(line: str, is_open: bool) -> None:
    assert is_open_to_all(read_request(line)) is is_open
