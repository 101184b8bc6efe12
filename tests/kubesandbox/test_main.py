"""`python -m kubesandbox`: what it prints, what it refuses."""

import asyncio
import sys
from asyncio.subprocess import PIPE, Process
from pathlib import Path
from urllib.request import urlopen

import pytest
import yaml

from kubesandbox.__main__ import main


async def started(*flags: str) -> Process:
    return await asyncio.create_subprocess_exec(sys.executable, "-m", "kubesandbox", *flags, stdout=PIPE, stderr=PIPE)


@pytest.mark.slow
@pytest.mark.usefixtures("launcher")
async def test_it_prints_a_kubeconfig_serves_and_ends_when_asked(tmp_path: Path) -> None:
    (tmp_path / "seed.yaml").write_text("{apiVersion: v1, kind: Namespace, metadata: {name: new}}")
    child = await started("--seed", str(tmp_path / "seed.yaml"))
    assert child.stdout is not None
    printed = (await child.stdout.readuntil(b"current-context: sandbox\n")).decode()
    server = yaml.safe_load(printed)["clusters"][0]["cluster"]["server"]
    with await asyncio.to_thread(urlopen, f"{server}/api/v1/namespaces/new") as answer:
        assert answer.status == 200
    child.terminate()
    rest, told = await child.communicate()
    assert (rest, child.returncode) == (b"", 0)
    assert server.encode() in told


REFUSED = {
    "open to all": (("--address", "0.0.0.0"), 2, "it needs --token, --tls-cert and --tls-key"),
    "no address": (("--address", "nowhere"), 2, "--address: 'nowhere' is no IP address"),
    "half of TLS": (("--tls-cert", "c"), 2, "--tls-cert and --tls-key are given together"),
    "bad certificate": (("--tls-cert", "c", "--tls-key", "k"), 2, "cannot be used: No such file"),
    "missing seed": (("--seed", "/nothing.yaml"), 1, "nothing.yaml cannot be read: No such file"),
}


def test_bad_options_and_files_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    for name, (flags, code, message) in REFUSED.items():
        try:
            exit_code: object = main(flags)
        except SystemExit as error:
            exit_code = error.code
        assert (name, exit_code) == (name, code)
        assert message in capsys.readouterr().err
