"""A Corefile follows the changes of CoreDNS up and down, and keeps what it need not change. Level: pure."""

import textwrap

import pytest

from tests.corefile.generated_corefiles import DEFAULT
from tests.corefile.library import corefile, migration, releases
from tests.tables import each

OLD = """
    # Names for everyone.
    .:53 {
        errors
        health   # of the kubelet
        kubernetes cluster.local in-addr.arpa ip6.arpa {
            pods   insecure
            upstream
            endpoint https://a:6443 https://b:6443
            transfer to 10.1.2.3
        }
        proxy one.example.com 10.0.0.1 # ask Bob
        proxy two.example.com 10.0.0.2 {
            policy least_conn
            protocol dns force_tcp
            # many failures
            max_fails 9
        }
        proxy . /etc/resolv.conf {
            spray
        }
        cache 30
    }
"""
NEW = """
    # Names for everyone.
    .:53 {
        errors
        health {
            lameduck 5s
        }   # of the kubelet
        kubernetes cluster.local in-addr.arpa ip6.arpa {
            pods   insecure
            endpoint https://a:6443
        }
        forward . /etc/resolv.conf {
            max_concurrent 1000
        }
        cache 30
        loop
        ready
        transfer cluster.local in-addr.arpa ip6.arpa {
            to 10.1.2.3
        }
    }

    one.example.com {
        forward . 10.0.0.1 {
            max_concurrent 1000
        } # ask Bob
        loop
        errors
        cache 30
    }

    two.example.com {
        forward . 10.0.0.2 {
            force_tcp
            # many failures
            max_concurrent 1000
        }
        loop
        errors
        cache 30
    }
"""


def written(text: str) -> str:
    return textwrap.dedent(text).lstrip("\n")


def server(*lines: str, address: str = ".:53") -> str:
    return "\n".join([f"{address} {{", *(f"    {line}" for line in lines), "}", ""])


def test_an_old_corefile_follows_all_changes_and_keeps_its_form() -> None:
    assert migration.migrate(written(OLD), "1.1.3", "1.15.0") == written(NEW)
    assert migration.migrate(written(NEW), "1.8.0", "1.15.0") == written(NEW)
    assert migration.migrate(written(NEW), "1.1.3", "1.15.0") == written(NEW)


@each(
    "origin, target, before, after",
    [
        ("1.5.1", "1.5.0", ["ready"], ["ready"]),
        ("1.5.0", "1.4.0", ["ready", "loop # once"], ["loop # once"]),
        (
            "1.7.0",
            "1.6.9",
            ["forward . a {", "    max_concurrent 1000", "}"],
            ["forward . a {", "    max_concurrent 1000", "}"],
        ),
        ("1.7.0", "1.6.7", ["forward . a {", "    max_concurrent 1000", "}"], ["forward . a"]),
        ("1.3.1", "1.4.0", ["proxy . a # b"], ["proxy . a # b"]),
        ("1.4.0", "1.5.0", ["proxy . a {", "    policy first", "}"], ["forward . a {", "    policy sequential", "}"]),
        ("1.1.4", "1.2.0", ["proxy . a {", "    protocol https_google", "}"], ["proxy . a"]),
        ("1.9.4", "1.10.0", ["forward a.b 1.1.1.1", "forward . 8.8.8.8"], ["forward a.b 1.1.1.1", "forward . 8.8.8.8"]),
    ],
)
def test_neighbours_differ_in_what_a_release_changed(
    origin: str, target: str, before: list[str], after: list[str]
) -> None:
    assert migration.migrate(server(*before), origin, target) == server(*after)


@each(
    "origin, target, lines, reason",
    [
        (
            "1.15.0",
            "1.15.0",
            ["errors", "proxy . 8.8.8.8"],
            "line 3: the plugin proxy was removed in 1.5.0, use the plugin forward",
        ),
        ("1.6.9", "1.7.0", ["federation a"], "line 2: the plugin federation was removed in 1.7.0"),
        ("1.15.0", "1.14.6", ["shed"], "line 2: the plugin shed is new in 1.14.7"),
        (
            "1.15.0",
            "1.14.2",
            ["forward . a {", "    doh_method POST", "}"],
            "line 3: the option doh_method of forward is new in 1.14.6",
        ),
        ("1.4.0", "1.5.0", ["proxy . a {", "    protocol grpc", "}"], "line 3: forward has no protocol grpc"),
        ("1.3.1", "1.4.0", ["forward"], "line 2: forward names neither"),
    ],
)
def test_what_the_release_cannot_read_is_refused(origin: str, target: str, lines: list[str], reason: str) -> None:
    with pytest.raises(corefile.Unreadable) as failed:
        migration.migrate(server(*lines), origin, target)
    assert str(failed.value).startswith(reason)


def test_the_line_of_a_refusal_is_that_of_the_user() -> None:
    text = server("proxy . 8.8.8.8", "kubernetes cluster.local", "health", "federation a")
    with pytest.raises(corefile.Unreadable, match=r"^line 5: "):
        migration.migrate(text, "1.1.3", "1.15.0")


def test_two_forwards_of_another_server_are_refused_where_only_one_may_be() -> None:
    text = server("proxy a.example.com 10.0.0.1", "proxy . 10.0.0.2", address="example.com")
    with pytest.raises(corefile.Unreadable, match="line 3: a server has one forward only"):
        migration.migrate(text, "1.4.0", "1.5.0")
    assert "forward a.example.com" in migration.migrate(text, "1.4.0", "1.10.0")


def test_stub_domain_that_has_a_server_gets_no_second_one() -> None:
    stubs = ("proxy one.example.com 10.0.0.1", "proxy two.example.com 10.0.0.2", "proxy two.example.com 10.0.0.3")
    text = server(*stubs) + server("proxy . 10.0.0.9", address="a.example.com, dns://One.example.com.:53")
    servers = corefile.parse(migration.migrate(text, "1.4.0", "1.5.0"))
    forwards = [[node.arguments[1] for node in one.inner if node.name == "forward"] for one in servers]
    assert [one.words[-1].text for one in servers] == [".:53", "dns://One.example.com.:53", "two.example.com"]
    assert forwards == [[], ["10.0.0.9"], ["10.0.0.2"]]


def test_plugins_of_snippets_are_not_added_twice() -> None:
    shared = server("errors", "loop", "ready", address="(shared)")
    text = shared + server("import shared", "kubernetes cluster.local", "forward . 8.8.8.8")
    assert migration.migrate(text, "1.1.3", "1.6.4") == text


def test_notices_name_lines_and_what_becomes_of_them() -> None:
    text = server(
        "kubernetes cluster.local {", "    upstream", "    mode fast", "}", "proxy . 8.8.8.8", "fanout . 9.9.9.9"
    )
    assert migration.notices(text, "1.3.1", "1.4.0") == [
        "line 3: the option upstream of kubernetes is deprecated since 1.4.0",
        "line 6: the plugin proxy is deprecated since 1.4.0",
        "line 4: the option mode of kubernetes is not known and stays as it is",
        "line 7: the plugin fanout is not known and stays as it is",
    ]
    assert "the plugin ready is added, a default since 1.5.0" in migration.notices(text, "1.4.0", "1.5.0")


def test_defaults_are_those_of_kubernetes_for_the_domain_and_the_upstreams_of_the_node() -> None:
    """In any order."""
    ours = DEFAULT.replace("cluster.local", "example.org").replace("       ttl 30\n", "")
    ours = ours.replace("       pods", "       ttl 30\n       pods")
    assert migration.is_default(ours, "example.org")
    assert not migration.is_default(ours, "cluster.local")
    assert not migration.is_default(ours.replace("/etc/resolv.conf", "10.0.0.1"), "example.org")
    assert not migration.is_default(ours + server("whoami", address="a"), "example.org")


def test_releases_of_vendors_and_newer_ones_are_read_as_the_one_before() -> None:
    known = {text: releases.known_version(text) for text in ("1.8.7-eksbuild.3", "v1.6.8", "1.14.5", "9.0.0", "1.1.3")}
    assert list(known.values()) == ["1.8.7", "1.6.7", "1.14.4", releases.NEWEST, "1.1.3"]
    with pytest.raises(ValueError, match=r"the oldest version is 1\.1\.3"):
        releases.known_version("1.0.6")
    with pytest.raises(ValueError, match="'latest' is not a version of CoreDNS"):
        releases.known_version("latest")
