"""What the modules installed that shipped until 0.3.0, and their addons install under the same names: so nothing has to
be created again when the addon takes over (docs/retired-modules.md).

Level: pure."""

from pathlib import Path
from typing import Any

import yaml

from tests.tables import each

ADDONS = Path(__file__).parents[1] / "addons"
INSTALLED = {
    "cloud-controller-manager": """\
ServiceAccount kube-system cloud-controller-manager
ClusterRole - hookrunner-cloud
ClusterRoleBinding - hookrunner-cloud ClusterRole/hookrunner-cloud
Role kube-system hookrunner-cloud
RoleBinding kube-system hookrunner-cloud Role/hookrunner-cloud
DaemonSet kube-system cloud-controller-manager name=cloud-controller-manager,k8s-app=cloud-controller-manager
""",
    "coredns": """\
PodDisruptionBudget kube-system coredns
ServiceAccount kube-system coredns
ConfigMap kube-system coredns
ClusterRole - system:coredns
ClusterRoleBinding - system:coredns ClusterRole/system:coredns
Service kube-system kube-dns
Deployment kube-system coredns k8s-app=kube-dns
""",
    "dashboard": """\
Namespace - kubernetes-dashboard
ServiceAccount kubernetes-dashboard kubernetes-dashboard-api
ServiceAccount kubernetes-dashboard kubernetes-dashboard-auth
ServiceAccount kubernetes-dashboard kubernetes-dashboard-metrics-scraper
ServiceAccount kubernetes-dashboard kubernetes-dashboard-web
Secret kubernetes-dashboard kubernetes-dashboard-csrf
ConfigMap kubernetes-dashboard kubernetes-dashboard-gateway
ConfigMap kubernetes-dashboard kubernetes-dashboard-web-settings
ClusterRole - kubernetes-dashboard-metrics-scraper
ClusterRoleBinding - kubernetes-dashboard-metrics-scraper ClusterRole/kubernetes-dashboard-metrics-scraper
Role kubernetes-dashboard kubernetes-dashboard-api
Role kubernetes-dashboard kubernetes-dashboard-web
RoleBinding kubernetes-dashboard kubernetes-dashboard-api Role/kubernetes-dashboard-api
RoleBinding kubernetes-dashboard kubernetes-dashboard-web Role/kubernetes-dashboard-web
Service kubernetes-dashboard kubernetes-dashboard-api
Service kubernetes-dashboard kubernetes-dashboard-auth
Service kubernetes-dashboard kubernetes-dashboard
Service kubernetes-dashboard kubernetes-dashboard-metrics-scraper
Service kubernetes-dashboard kubernetes-dashboard-web
Deployment kubernetes-dashboard kubernetes-dashboard-api instance=kubernetes-dashboard,name=kubernetes-dashboard-api
Deployment kubernetes-dashboard kubernetes-dashboard-auth instance=kubernetes-dashboard,name=kubernetes-dashboard-auth
Deployment kubernetes-dashboard kubernetes-dashboard-gateway instance=kubernetes-dashboard,name=kubernetes-dashboard-gateway
Deployment kubernetes-dashboard kubernetes-dashboard-metrics-scraper instance=kubernetes-dashboard,name=kubernetes-dashboard-metrics-scraper
Deployment kubernetes-dashboard kubernetes-dashboard-web instance=kubernetes-dashboard,name=kubernetes-dashboard-web
""",  # noqa: E501
    "ingress-nginx": """\
Namespace - ingress-nginx
PodDisruptionBudget ingress-nginx ingress-nginx-controller
ServiceAccount ingress-nginx ingress-nginx
Secret ingress-nginx ingress-nginx-admission
ConfigMap ingress-nginx ingress-nginx-controller
ClusterRole - ingress-nginx
ClusterRoleBinding - ingress-nginx ClusterRole/ingress-nginx
Role ingress-nginx ingress-nginx
RoleBinding ingress-nginx ingress-nginx Role/ingress-nginx
Service ingress-nginx ingress-nginx-controller
Service ingress-nginx ingress-nginx-controller-admission
Deployment ingress-nginx ingress-nginx-controller component=controller,instance=ingress-nginx,name=ingress-nginx
IngressClass - nginx
ValidatingWebhookConfiguration - ingress-nginx-admission
""",
    "metrics-server": """\
ServiceAccount kube-system metrics-server
ClusterRole - system:aggregated-metrics-reader
ClusterRole - system:metrics-server
ClusterRoleBinding - system:metrics-server ClusterRole/system:metrics-server
ClusterRoleBinding - metrics-server:system:auth-delegator ClusterRole/system:auth-delegator
RoleBinding kube-system metrics-server-auth-reader Role/extension-apiserver-authentication-reader
Service kube-system metrics-server
Deployment kube-system metrics-server k8s-app=metrics-server
APIService - v1beta1.metrics.k8s.io
""",
    "nodelocaldns": """\
ServiceAccount kube-system node-local-dns
ConfigMap kube-system node-local-dns
Service kube-system kube-dns-upstream
Service kube-system node-local-dns None
DaemonSet kube-system node-local-dns k8s-app=node-local-dns
""",
}
"""Of each addon the objects of its module with its defaults: kind, namespace, name, and what cannot be changed in a
live object: selectors of workloads, roles of bindings, and that a Service is headless."""


@each("addon", INSTALLED)
def test_addon_has_each_object_of_the_former_module_and_can_take_it_over(addon: str) -> None:
    expected = yaml.safe_load_all((ADDONS / addon / "tests" / "default.out.yaml").read_text())
    assert set(INSTALLED[addon].splitlines()) - {describe(obj) for obj in expected} == set()


def describe(obj: Any) -> str:
    """As a line of the table."""
    spec, fixed = obj.get("spec") or {}, ""
    if obj["kind"] in ("Deployment", "DaemonSet"):
        fixed = ",".join(
            f"{key.removeprefix('app.kubernetes.io/')}={value}"
            for key, value in sorted(spec["selector"]["matchLabels"].items())
        )
    elif "roleRef" in obj:
        fixed = f"{obj['roleRef']['kind']}/{obj['roleRef']['name']}"
    elif spec.get("clusterIP") == "None":
        fixed = "None"
    metadata = obj["metadata"]
    return " ".join([obj["kind"], metadata.get("namespace", "-"), metadata["name"], fixed]).strip()
