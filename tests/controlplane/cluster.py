"""A cluster as a test sees it: its kubeconfig, kubectl, raw requests, users with few rights, and compaction."""

import base64
import os
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path
from typing import Any

from tests.controlplane.certs import sign_token
from tests.controlplane.control_plane import ISSUER, ControlPlane
from tests.controlplane.kubeconfig import Access, Insides, read_kubeconfig, write_kubeconfig
from tests.controlplane.rest import Reply, post, request
from tests.controlplane.tools import find_tool

Rule = dict[str, list[str]]
BUMPED_KEY = base64.b64encode(b"/hookrunner-test-bed/bumped").decode()


DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
ACCESS_REVIEWS = "/apis/authorization.k8s.io/v1/subjectaccessreviews"
RIGHTS_LOOKS = 3000
"""How often is asked for a right, or for a kind, before it is given up: for a minute and more."""


class RequestFailed(Exception):
    """kubectl or a raw request was refused; the message is what it said."""


@dataclass(frozen=True, slots=True)
class User:
    """A service account with rights of its own: a kubeconfig with its token, and its path in the API."""

    kubeconfig: Path
    token: str
    path: str


class Cluster:
    """The cluster behind a kubeconfig of the test bed. Its calls block; in a test with a proxy in the same event loop
    use `await asyncio.to_thread(cluster.kubectl, …)`."""

    def __init__(self, kubeconfig: Path, scratch: Path) -> None:
        self.kubeconfig = kubeconfig
        self.access = read_kubeconfig(kubeconfig)
        self._scratch = scratch

    @property
    def url(self) -> str:
        """The API server's address, `https://127.0.0.1:<port>`."""
        return self.access.url

    @property
    def token(self) -> str:
        """A cluster admin's bearer token."""
        return self.access.token

    @property
    def ca(self) -> Path:
        """The file of the certificate authority to trust."""
        return self.access.ca

    @property
    def etcd_url(self) -> str:
        """etcd's client address, `http://127.0.0.1:<port>`."""
        return self._insides().etcd_url

    def kubectl(self, *args: str, input: str | None = None, kubeconfig: Path | None = None) -> str:
        """Run kubectl as admin, or as another kubeconfig's user, and return its standard output.

        Raises `RequestFailed` with its standard error.
        """
        env = dict(
            os.environ, KUBECONFIG=str(kubeconfig or self.kubeconfig), KUBECACHEDIR=str(self._scratch / "kubectl-cache")
        )
        command = [str(find_tool("kubectl")), *args]
        done = subprocess.run(command, input=input or "", env=env, capture_output=True, text=True)
        if done.returncode != 0:
            raise RequestFailed(f"kubectl {' '.join(args)}: {done.stderr.strip()}")
        return done.stdout

    def request(self, method: str, path: str, body: object = None) -> Reply:
        """Send one raw request as admin, whatever the answer is; `path` includes the query."""
        return request(self.access, method, path, body)

    def create(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        """Post an object to a collection and return what the server made of it. Raises `RequestFailed`."""
        reply = self.request("POST", path, body)
        if reply.status not in {HTTPStatus.OK, HTTPStatus.CREATED}:
            raise RequestFailed(f"POST {path} → {reply.status}: {reply.body}")
        created: dict[str, Any] = reply.body
        return created

    def user(
        self,
        name: str,
        namespace: str,
        rules: Sequence[Rule] = (),
        *,
        everywhere: bool = False,
        lifetime: float | None = None,
    ) -> User:
        """Make a service account that may do what the RBAC rules say, in its namespace or `everywhere`, and wait until
        the API server has heard of its rights, which it does in the order in which rights are given.

        `lifetime` is the token's in seconds (without it: an hour); negative makes one that has expired, refused with
        401. The API server remembers a token that it accepted for 10 s, so revoking and expiring show that much later.
        """
        path = f"/api/v1/namespaces/{namespace}/serviceaccounts"
        account = self.create(path, {"metadata": {"name": name}})
        if rules:
            self._grant(account, list(rules), "Cluster" if everywhere else "")
            self.wait_for_right(f"{namespace}:{name}", _attributes(rules[0], "" if everywhere else namespace))
        token = self._token(account, lifetime)
        access = Access(self.access.url, self.access.ca, token)
        kubeconfig = write_kubeconfig(self._scratch / f"{namespace}-{name}.kubeconfig", access)
        return User(kubeconfig, token, f"{path}/{name}")

    def revoke(self, user: User) -> None:
        """Delete the user's service account, which ends its token (within 10 s, see `user`)."""
        self.request("DELETE", user.path)

    def compact(self) -> int:
        """Compact etcd and return the revision up to which history is gone: every one seen before this call.

        A watch or list that names an older resourceVersion is answered 410 (Expired) wherever the API server asks etcd:
        for PodTemplates, whose watch cache the test bed switches off, at once; for all other kinds the watch cache
        still knows the last events and hides it, as in production, until the API server starts anew: use
        `own_cluster`, and there `stop_apiserver()`, `compact()`, `start_apiserver()`.
        """
        etcd = self._insides().etcd_url
        # Twice, since a watch from the revision before the compacted one needs only what is still there.
        for _ in range(2):
            bumped = post(f"{etcd}/v3/kv/put", {"key": BUMPED_KEY, "value": ""})
        revision = int(bumped.body["header"]["revision"])
        reply = post(f"{etcd}/v3/kv/compaction", {"revision": str(revision), "physical": True})
        if reply.status != HTTPStatus.OK:
            raise RequestFailed(f"etcd did not compact: {reply.body}")
        return revision

    def _insides(self) -> Insides:
        if self.access.insides is None:
            raise RequestFailed(
                f"{self.kubeconfig} is not of a cluster of the test bed: unset HOOKRUNNER_TEST_KUBECONFIG"
            )
        return self.access.insides

    def _grant(self, account: dict[str, Any], rules: list[Rule], scope: str) -> None:
        name, namespace = account["metadata"]["name"], account["metadata"]["namespace"]
        api = "/apis/rbac.authorization.k8s.io/v1"
        collection = f"{api}/cluster" if scope else f"{api}/namespaces/{namespace}/"
        meta = {"name": f"{namespace}-{name}" if scope else name}
        self.create(f"{collection}roles", {"metadata": meta, "rules": rules})
        role = {"apiGroup": "rbac.authorization.k8s.io", "kind": f"{scope}Role", "name": meta["name"]}
        subject = {"kind": "ServiceAccount", "name": name, "namespace": namespace}
        self.create(f"{collection}rolebindings", {"metadata": meta, "roleRef": role, "subjects": [subject]})

    def wait_for_right(self, account: str, attributes: Mapping[str, str]) -> None:
        """Wait until a service account (`namespace:name`) may do something, which the API server learns a moment after
        it was granted; the attributes are those of a SubjectAccessReview. Raises RequestFailed."""
        spec = {"user": f"system:serviceaccount:{account}", "resourceAttributes": dict(attributes)}
        for _ in range(RIGHTS_LOOKS):
            if self.create(ACCESS_REVIEWS, {"spec": spec})["status"]["allowed"]:
                return
            time.sleep(0.02)  # rights can only be asked for again and again
        raise RequestFailed(f"{account} has been granted {attributes}, and is still refused")

    def wait_for_definition(self, name: str) -> None:
        """Wait until objects of a kind can be listed; it may not even be defined yet. `Established` comes some
        milliseconds before that, and `kubectl wait` fails for a definition without conditions. Raises RequestFailed."""
        plural, _, group = name.partition(".")
        for _ in range(RIGHTS_LOOKS):
            spec = self.request("GET", f"{DEFINITIONS}/{name}").body.get("spec", {})
            versions = [version["name"] for version in spec.get("versions", ()) if version["served"]]
            if any(self.request("GET", f"/apis/{group}/{one}/{plural}").status == HTTPStatus.OK for one in versions):
                return
            time.sleep(0.02)
        raise RequestFailed(f"{name} is not served")

    def _token(self, account: dict[str, Any], lifetime: float | None) -> str:
        name, namespace = account["metadata"]["name"], account["metadata"]["namespace"]
        if lifetime is None:
            path = f"/api/v1/namespaces/{namespace}/serviceaccounts/{name}/token"
            granted: str = self.create(path, {"spec": {"expirationSeconds": 3600}})["status"]["token"]
            return granted
        bound = {"namespace": namespace, "serviceaccount": {"name": name, "uid": account["metadata"]["uid"]}}
        subject = f"system:serviceaccount:{namespace}:{name}"
        claims = {"iss": ISSUER, "aud": [ISSUER], "sub": subject, "kubernetes.io": bound}
        return sign_token(Path(self._insides().signing_key), claims, lifetime)


def _attributes(rule: Rule, namespace: str) -> dict[str, str]:
    """One request that a rule allows."""
    return {
        "namespace": namespace,
        "group": rule["apiGroups"][0],
        "resource": rule["resources"][0],
        "verb": rule["verbs"][0],
        "name": rule.get("resourceNames", [""])[0],
    }


class OwnCluster(Cluster):
    """A cluster that one test has for itself, without controllers, and whose API server it may kill."""

    def __init__(self, plane: ControlPlane, scratch: Path) -> None:
        super().__init__(plane.kubeconfig, scratch)
        self.stop_apiserver = plane.stop_apiserver
        self.start_apiserver = plane.start_apiserver
        self.audit = plane.audit
