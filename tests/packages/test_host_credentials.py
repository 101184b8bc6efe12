"""Logins in Docker's config.json: which host gets which; no secret is in a message. Level: sandbox."""

import base64
import json
from pathlib import Path
from typing import Any

import pytest

from hookrunner.errors import BadSetting, PackageError
from hookrunner.packages.host_credentials import (
    CredentialsFile,
    CredentialsSecret,
    Login,
    open_credentials,
    parse_credentials,
)
from hookrunner.packages.source_locations import ClusterLocation
from tests.packages.places import cluster_place, refusal_of
from tests.tables import each

AUTH = base64.b64encode(b"you:se:cret").decode()
AUTHS: dict[str, Any] = {
    "registry.example.com:5000": {"username": "me", "password": "first"},
    "https://index.docker.io/v1/": {"auth": AUTH},
    "example.com": {"username": "all", "password": "x"},
    "example.com/team": {"username": "team", "password": "x"},
    "helper.example.com": {},
}


@each(
    "host, path, user",
    [
        ("registry.example.com:5000", "a", "me"),
        ("REGISTRY.example.com:5000", "a", "me"),
        ("registry.example.com", "a", ""),
        ("registry.example.com:5000.evil.com", "a", ""),
        ("docker.io", "library/a", "you"),
        ("registry-1.docker.io", "library/a", "you"),
        ("example.com", "team/a", "team"),
        ("example.com", "teams/a", "all"),
        ("example.com:443", "", "all"),
        ("sub.example.com", "team", ""),
        ("helper.example.com", "", ""),
    ],
)
def test_a_host_gets_its_login_and_the_longest_path_wins(host: str, path: str, user: str) -> None:
    login = parse_credentials(json.dumps({"auths": AUTHS}).encode()).login_for(host, path)
    assert (login.user if login else "") == user


def test_a_password_may_have_colons_and_is_in_no_text() -> None:
    login = parse_credentials(json.dumps({"auths": AUTHS}).encode()).login_for("docker.io")
    assert login == Login("you", "se:cret")
    assert base64.b64decode(login.header.removeprefix("Basic ")) == b"you:se:cret"
    assert "cret" not in repr(login)


@each(
    "document, problem",
    [
        ("[", "it is no JSON: "),
        ("[]", "is no config.json of Docker"),
        ('{"auths": ["secret"]}', "is no config.json of Docker"),
        ('{"credsStore": "secret"}', "programs that keep logins (credsStore, credHelpers) are not run"),
        ('{"credHelpers": {"a": "secret"}}', "programs that keep logins"),
        ('{"auths": {"a": {"auth": "secret"}}}', "auths['a'].auth: it is not USER:PASSWORD in base64"),
        ('{"auths": {"a": {"auth": "c2VjcmV0"}}}', "it is not USER:PASSWORD"),
        ('{"auths": {"a": {"auth": ["secret"]}}}', "auths['a'].auth"),
        ('{"auths": {"a": "secret"}}', "auths['a']"),
        ('{"auths": {"a": {"identitytoken": "secret"}}}', "identity tokens are not supported"),
    ],
)
async def test_what_cannot_be_used_is_named_without_a_value(tmp_path: Path, document: str, problem: str) -> None:
    (tmp_path / "config.json").write_text(document)
    error = await refusal_of(CredentialsFile(tmp_path / "config.json").read())
    text = str(error)
    assert (problem in text, "secret" in text, error.reason) == (True, False, "Unreachable"), text
    assert text.startswith(f"--addon-credentials: {tmp_path}/config.json: ")


async def test_a_file_is_read_as_it_is_now(tmp_path: Path) -> None:
    source = open_credentials(str(tmp_path / "config.json"), None)
    with pytest.raises(PackageError, match="No such file"):
        await source.read()
    (tmp_path / "config.json").write_text(json.dumps({"auths": AUTHS}))
    assert (await source.read()).login_for("docker.io")
    assert (await open_credentials("", None).read()).login_for("docker.io") is None


async def test_a_secret_is_read_as_it_is_now() -> None:
    async with cluster_place(ClusterLocation("Secret", "default")) as place:
        source = open_credentials("secret:default/logins", place.client)
        with pytest.raises(PackageError, match="Secret default/logins: "):
            await source.read()
        place.put("logins", {"other": b""})
        with pytest.raises(PackageError, match=r"has no key \.dockerconfigjson"):
            await source.read()
        place.put("logins", {".dockerconfigjson": json.dumps({"auths": AUTHS}).encode()})
        assert (await source.read()).login_for("docker.io")
    with pytest.raises(PackageError, match="needs a cluster; name a file"):
        await CredentialsSecret("default", "logins", None).read()


@each("text", ["secret:", "secret:a", "secret:A/b", "secret:a/b/c", "secret:../b"])
def test_a_flag_that_names_no_secret_is_refused(text: str) -> None:
    with pytest.raises(BadSetting, match="names no Secret; write secret:NAMESPACE/NAME"):
        open_credentials(text, None)
