"""Makes a cluster that is not the test bed's usable by the tests, whatever its kubeconfig authenticates with."""

import base64
import json
from pathlib import Path

from tests.controlplane.cache import BedUnavailable, run
from tests.controlplane.kubeconfig import Access, read_kubeconfig, write_kubeconfig
from tests.controlplane.tools import find_tool

ADMIN = "hookrunner-tests"
ADMIN_OBJECTS = f"""
apiVersion: v1
kind: ServiceAccount
metadata: {{name: {ADMIN}, namespace: kube-system}}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {{name: {ADMIN}}}
roleRef: {{apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: cluster-admin}}
subjects: [{{kind: ServiceAccount, name: {ADMIN}, namespace: kube-system}}]
"""


def adopt(kubeconfig: Path, scratch: Path) -> Path:
    """Return a kubeconfig with a bearer token: the given one if it has that, else one made in the scratch directory.

    The token is a service account's, bound to cluster-admin, for a day. Raises `BedUnavailable`.
    """
    try:
        read_kubeconfig(kubeconfig)
    except (KeyError, TypeError):
        return write_kubeconfig(scratch / "adopted.kubeconfig", admin_access(kubeconfig, scratch))
    except OSError as missing:
        raise BedUnavailable(f"HOOKRUNNER_TEST_KUBECONFIG cannot be read: {missing}") from missing
    return kubeconfig


def admin_access(kubeconfig: Path, scratch: Path) -> Access:
    """Make the admin's service account with the kubeconfig's own credentials and ask for its token."""
    kubectl = [str(find_tool("kubectl")), f"--kubeconfig={kubeconfig}"]
    why = f"no admin for the tests could be made in the cluster of {kubeconfig}"
    manifest = scratch / "admin.yaml"
    manifest.write_text(ADMIN_OBJECTS)
    run([*kubectl, "apply", "-f", str(manifest)], why=why)
    token = run([*kubectl, "create", "token", ADMIN, "--namespace=kube-system", "--duration=24h"], why=why)
    shown = json.loads(run([*kubectl, "config", "view", "--raw", "--minify", "--flatten", "--output=json"], why=why))
    cluster = shown["clusters"][0]["cluster"]
    ca = scratch / "adopted-ca.crt"
    ca.write_bytes(base64.b64decode(cluster["certificate-authority-data"]))
    return Access(cluster["server"], ca, token.strip())
