"""Calls of shipped providers as hookrunner makes them: one process for a question."""

import json
import os
import subprocess
import sys
from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader
from pathlib import Path
from typing import Any

from tests.cloud.services import service_samples

PROVIDERS = Path(__file__).parents[2] / "providers"


def request(verb: str, params: Any = None, request_id: str = "r1") -> Any:
    """A request of the wire format."""
    return {
        "apiVersion": "cloud.hookrunner.io/v1",
        "verb": verb,
        "requestID": request_id,
        "deadlineSeconds": 60,
        "cluster": {"name": "kubernetes"},
        "params": params or {},
    }


def run(provider: Path, config: Path, *arguments: str, given: str = "", **environment: str) -> str:
    """Standard output of a provider's run, which must succeed. Its `python3` is this Python."""
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    done = subprocess.run(
        [provider, *arguments],
        input=given,
        cwd=provider.parent,
        env={"PATH": path, "CLOUD_CONFIG": str(config), **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def ask(provider: Path, config: Path, verb: str, params: Any = None, **environment: str) -> Any:
    """The answer to one question."""
    return json.loads(run(provider, config, verb, given=json.dumps(request(verb, params)), **environment))


def load_provider(executable: Path) -> Any:
    """A provider in Python as a module: its processes take a tenth of a second each."""
    loader = SourceFileLoader(executable.name.replace("-", "_"), str(executable))
    spec = spec_from_loader(loader.name, loader)
    assert spec
    module = module_from_spec(spec)
    loader.exec_module(module)
    return module


def node(name: str, provider_id: str = "", **more: Any) -> Any:
    """A Node as `instances` has it."""
    empty: Any = {"uid": f"uid-{name}", "labels": {}, "annotations": {}, "addresses": []}
    return {
        "name": name,
        "providerID": provider_id,
        **empty,
        "createdAt": "2026-01-01T00:00:00Z",
        "ready": None,
        **more,
    }


def service(name: str = "web", **spec: Any) -> Any:
    """A Service as the API server has it."""
    return service_samples.service(name, uid=f"uid-{name}", ipFamilies=["IPv4"], **spec)
