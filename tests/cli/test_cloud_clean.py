"""`hookrunner cloud clean` on a sandbox, as JSON: what would go, and what has gone. The rest is in `test_cloud.py` and
`tests/cloud/takeover/test_cloud_cleaner.py`.

Level: sandbox."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from hookrunner.cli.cloud.cloud_clean import describe_end
from tests.cli.served_sandbox import ServedSandbox, serve_in_thread
from tests.cloud.scenarios.documents import SIMCLOUD
from tests.cloud.services.service_samples import kept
from tests.fakes.command_line import Command


@pytest.fixture
def served(tmp_path: Path) -> Iterator[ServedSandbox]:
    with serve_in_thread(tmp_path, [kept("web")]) as served:
        yield served


@pytest.mark.slow
def test_report_says_what_would_go_and_what_has_gone(served: ServedSandbox, command: Command, tmp_path: Path) -> None:
    words = ("cloud", "clean", f"--cloud-provider={SIMCLOUD}", f"--cloud-config={tmp_path / 'cloud'}", "-o", "json")
    shown = command(*words, served.flag)
    assert (shown.code, json.loads(shown.out)) == (
        0,
        {"services": ["default/web"], "done": False, "left": [], "orphans": []},
    )
    done = command(*words, "--yes", "--reserve=0s", served.flag)
    assert (done.code, json.loads(done.out)) == (
        0,
        {"services": ["default/web"], "done": True, "left": [], "orphans": []},
    )
    assert describe_end(["lb-1"]).endswith("load balancers without a Service stay in the cloud: lb-1")
    (web,) = served.sandbox.store.select("services", "default")
    assert "finalizers" not in web.json()["metadata"]
