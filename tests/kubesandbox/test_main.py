"""`python -m kubesandbox`: what it prints, what it refuses. Level: sandbox."""

import asyncio
import sys
from asyncio.subprocess import PIPE, Process
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest

from kubesandbox.__main__ import main
from tests.sandboxes import read_access


async def started(*flags: str) -> Process:
    return await asyncio.create_subprocess_exec(sys.executable, "-m", "kubesandbox", *flags, stdout=PIPE, stderr=PIPE)


@pytest.mark.slow
@pytest.mark.usefixtures("launcher")
async def test_it_prints_a_kubeconfig_serves_and_ends_when_asked(tmp_path: Path) -> None:
    (tmp_path / "seed.yaml").write_text("{apiVersion: v1, kind: Namespace, metadata: {name: new}}")
    child = await started("--seed", str(tmp_path / "seed.yaml"))
    assert child.stdout is not None
    printed = (await child.stdout.readuntil(b"current-context: sandbox\n")).decode()
    (tmp_path / "kubeconfig").write_text(printed)
    access = read_access(tmp_path / "kubeconfig")
    asked = Request(f"{access.url}/api/v1/namespaces/new", headers=access.headers)
    with await asyncio.to_thread(urlopen, asked, context=access.tls) as answer:
        assert answer.status == 200
    with pytest.raises(HTTPError, match="401"):
        await asyncio.to_thread(urlopen, f"{access.url}/api/v1/namespaces/new", context=access.tls)
    child.terminate()
    rest, told = await child.communicate()
    assert (rest, child.returncode) == (b"", 0)
    assert access.url.encode() in told


REFUSED = {
    "open to all": (("--address", "0.0.0.0"), 2, "it needs --tls-cert and --tls-key too"),
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
