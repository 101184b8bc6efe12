"""The readers of the package `kubernetes` without its clients, each in a process of its own. Level: pure."""

import json
import subprocess
import sys
from typing import Any

import pytest

pytestmark = pytest.mark.slow


def run(code: str) -> Any:
    """What a program prints after it has imported the readers."""
    program = f"import json, sys; from hookrunner.kube import kubeconfig_readers; {code}"
    return json.loads(subprocess.run([sys.executable, "-c", program], stdout=subprocess.PIPE, check=True).stdout)


def test_what_no_kubeconfig_needs_is_not_imported() -> None:
    heavy = ["pydantic", "requests", "kubernetes.client.models", "kubernetes.dynamic"]
    assert run(f"print(json.dumps([name for name in {heavy} if name in sys.modules]))") == []


def test_what_renews_a_token_of_oidc_is_imported_when_it_is_used() -> None:
    code = (
        "from kubernetes.config import kube_config as readers; "
        "made = readers.ApiClient(configuration=readers.Configuration()), readers.OAuth2Session(client_id='a'); "
        "refusal = readers.oauthlib.oauth2.rfc6749.errors.InvalidClientIdError; "
        "print(json.dumps([each.__module__ for each in (*map(type, made), refusal)]))"
    )
    assert run(code) == [
        "kubernetes.client.api_client",
        "requests_oauthlib.oauth2_session",
        "oauthlib.oauth2.rfc6749.errors",
    ]
