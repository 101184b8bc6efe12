"""The settings of addons: their defaults, and how their texts are read. Level: pure."""

from pathlib import Path

import pytest

from hookrunner.errors import BadSetting
from hookrunner.settings import AddonsSettings, DiscoverySettings, load
from tests.tables import each


def addons(flags: dict[str, str], program: str = "hookrunner", environ: dict[str, str] | None = None) -> AddonsSettings:
    return load(flags, program, environ or {}).addons


def test_without_a_directory_there_are_no_addons() -> None:
    for program in ("hookrunner", "shell-operator", "addon-operator"):
        assert addons({}, program) == AddonsSettings()
        assert not addons({}, program).on
    settings = addons({})
    assert (settings.refresh, settings.fetch_timeout, settings.cache_size) == (600, 60, 512 << 20)
    assert (settings.verify, settings.cache_directory, settings.private_registry) == ("digest", None, "")
    assert settings.patches == "listed"


def test_texts_become_values() -> None:
    settings = addons(
        {
            "addons-dir": "/a:/b",
            "addons": "coredns,kube-proxy,",
            "addon-namespaces": "kube-system",
            "addon-source": "coredns=https://example.com",
            "addon-refresh": "0",
            "addon-cache-dir": "/cache",
            "addon-verify": "OFF",
            "addon-patches": "All",
            "private-registry": "registry.example.com:5000/mirror/",
            "image-pull-secret": "pull",
        }
    )
    assert settings.on
    assert settings.directories == (Path("/a"), Path("/b"))
    assert (settings.names, settings.namespaces) == (("coredns", "kube-proxy"), ("kube-system",))
    assert (settings.source, settings.refresh, settings.verify) == ("coredns=https://example.com", 0, "off")
    assert (settings.cache_directory, settings.patches) == (Path("/cache"), "all")
    assert (settings.private_registry, settings.image_pull_secret) == ("registry.example.com:5000/mirror", "pull")


def test_variables_are_read() -> None:
    environ = {"HOOKRUNNER_ADDONS_DIR": "/a", "HOOKRUNNER_ADDONS": "coredns", "HOOKRUNNER_PRIVATE_REGISTRY": "r.io"}
    settings = addons({}, environ=environ)
    assert (settings.directories, settings.names, settings.private_registry) == ((Path("/a"),), ("coredns",), "r.io")


def test_with_addons_hooks_need_no_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert not load({}, "hookrunner", {}).hooks.optional
    assert load({"addons-dir": "/a"}, "hookrunner", {}).hooks.optional
    assert not load({"addons-dir": "/a", "hooks-dir": "/h"}, "hookrunner", {}).hooks.optional


@each(
    ("flag", "text", "allowed"),
    [
        ("addons", "CoreDNS", "lowercase letters, digits and `-`"),
        ("addons", "../etc", "names with commas between them"),
        ("addon-namespaces", "a.b", "names with commas between them"),
        ("addon-refresh", "-1s", "a duration of at least 0"),
        ("addon-cache-size", "1GB", "a number of bytes"),
        ("addon-verify", "sums", "one of off, digest, signature"),
        ("addon-patches", "some", "one of all, listed, none"),
        ("addon-protect-except", "a, b", "names of users and groups with commas between them"),
        ("private-registry", "https://r.io", "without a scheme"),
        ("private-registry", "r.io/ a", "a registry such as"),
        ("image-pull-secret", "A B", "the name of an object"),
    ],
)
def test_a_text_that_cannot_be_used_is_refused_with_what_is_allowed(flag: str, text: str, allowed: str) -> None:
    with pytest.raises(BadSetting, match=f"--{flag}: '{text}' cannot be used, it takes .*{allowed}"):
        addons({flag: text})


def test_keys_and_signatures_need_each_other() -> None:
    settings = addons({"addon-verify": "signature", "addon-keys": "/a.pub,/b.pub"})
    assert settings.keys == (Path("/a.pub"), Path("/b.pub"))
    with pytest.raises(BadSetting, match="signature needs the public keys; name their files with --addon-keys"):
        addons({"addon-verify": "signature"})
    with pytest.raises(BadSetting, match="with --addon-verify digest no signature is checked; set signature"):
        addons({"addon-keys": "/a.pub"})


def test_list_of_addons_is_off_unless_asked_for() -> None:
    assert load({}, "hookrunner", {}).discovery == DiscoverySettings()
    settings = load({"discovery": "true", "discovery-kinds": "pods,webs.example.com,pods"}, "hookrunner", {})
    assert (settings.discovery, settings.hooks.optional) == (
        DiscoverySettings(True, ("pods", "webs.example.com")),
        True,
    )


def test_kinds_that_are_not_listed_are_refused() -> None:
    for flags in ({"discovery-kinds": "pods"}, {"discovery": "true", "discovery-kinds": "apps/v1/Deployment"}):
        with pytest.raises(BadSetting, match="--discovery-kinds"):
            load(flags, "hookrunner", {})
