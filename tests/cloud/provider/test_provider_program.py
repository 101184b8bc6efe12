"""Which file a provider is, what it sees of our environment, what of that is masked, what is refused at the start.

Level: pure."""

from pathlib import Path

import pytest

from hookrunner.cloud.provider.provider_program import (
    ProviderProgram,
    hidden_words,
    require_startable,
    select_variables,
)
from hookrunner.errors import StartRefused

OURS = {
    "PATH": "/bin",
    "HOME": "/root",
    "KUBECONFIG": "/etc/admin.conf",
    "HOOKRUNNER_LOG_LEVEL": "debug",
    "AWS_SECRET": "x9",
    "CLOUD_TOKEN": "hunter22",
    "PEM": "first line\nsecond line",
    "https_proxy": "http://user:pass@proxy:3128",
    "NO_PROXY": "10.0.0.0/8",
    "LANG": "C.UTF-8",
}


def test_a_provider_sees_an_allow_list_and_what_is_named() -> None:
    variables = select_variables(OURS, ("CLOUD_TOKEN", "PEM", "UNSET"), Path("/etc/cloud.yaml"))
    names = ["CLOUD_CONFIG", "CLOUD_TOKEN", "HOME", "LANG", "NO_PROXY", "PATH", "PEM", "https_proxy"]
    assert sorted(variables) == names
    assert variables["CLOUD_CONFIG"] == "/etc/cloud.yaml"
    assert "CLOUD_CONFIG" not in select_variables(OURS)


def test_what_is_named_and_passwords_of_proxies_are_masked() -> None:
    names = ("CLOUD_TOKEN", "PEM")
    program = ProviderProgram(Path("/cloud"), select_variables(OURS, names), hidden_words(OURS, names))
    said = "token=hunter22, second line, via http://user:pass@proxy:3128, in C.UTF-8 for hunter22x"
    assert program.masked(said) == "token=***, ***, via ***, in C.UTF-8 for hunter22x"


@pytest.mark.parametrize(
    ("text", "mode", "says"),
    [
        (None, 0, "the file is not there; correct the path"),
        ("directory", 0, "it is no file but a directory or a device; name the executable itself"),
        ("#!/bin/sh\n", 0o644, r"permission denied; make it executable: chmod \+x .*/cloud"),
        ("echo hello\n", 0o755, "it is a text without a first line like #!/bin/bash; add one"),
        ("#!/no/such/python -u\n", 0o755, "its interpreter /no/such/python is not there"),
        ("#!/bin/sh\r\n", 0o755, "its first line ends in CRLF"),
    ],
)
def test_a_file_that_cannot_be_started_is_refused(tmp_path: Path, text: str | None, mode: int, says: str) -> None:
    path = tmp_path / "cloud"
    if text == "directory":
        path.mkdir()
    elif text is not None:
        path.write_bytes(text.encode())
        path.chmod(mode)
    with pytest.raises(StartRefused, match=f"--cloud-provider {path}: {says}"):
        require_startable(path)


@pytest.mark.parametrize("content", [b"#!/bin/sh -e\n", b"#! /usr/bin/env python3\n", b"\x7fELF\x02\x01\x01\0"])
def test_scripts_and_binaries_may_start(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "cloud"
    path.write_bytes(content)
    path.chmod(0o755)
    require_startable(path)


def test_another_file_has_another_fingerprint(tmp_path: Path) -> None:
    path, link = tmp_path / "cloud", tmp_path / "link"
    program = ProviderProgram(link, {})
    assert program.fingerprint() is None
    path.write_text("one")
    link.symlink_to(path)
    first = program.fingerprint()
    assert first == program.fingerprint()
    (tmp_path / "other").write_text("one")
    (tmp_path / "other").replace(path)
    assert program.fingerprint() != first
