"""No message repeats what the Secret has set."""

import pytest

from hookrunner.errors import BadValues
from hookrunner.model.resources import JSON
from hookrunner.values import secrecy
from hookrunner.values.sections import Config, parse, parse_secret
from hookrunner.values.store import Store


class Judge:
    """A schema that repeats whatever it is shown."""

    def problems(self, value: JSON, old: JSON = None) -> list[str]:
        return [f"dns.password must be one of a, b, not {value['password']}"] if "password" in value else []

    def defaults(self, value: JSON) -> JSON:
        return value


class Schemas:
    config = values = helm = Judge()


@pytest.mark.parametrize(
    ("secret", "message", "told"),
    [
        ({"a": ["hunter2"]}, "not hunter2", "not ***"),
        ({"port": 54321}, "54321 is too much", "*** is too much"),
        ({"key": "BEGIN\nMIIEow\nEND"}, "cannot parse MIIEow", "cannot parse ***"),
        ({"one": "pass", "two": "passphrase"}, "passphrase", "***"),
        ({"short": "abc", "on": True, "none": None}, "abc is True, None", "abc is True, None"),
        (None, "nothing to hide", "nothing to hide"),
    ],
)
def test_values_of_a_secret_are_masked(secret: JSON, message: str, told: str) -> None:
    assert secrecy.masked(message, secrecy.words(secret)) == told


@pytest.mark.parametrize(
    ("key", "text"),
    [
        ("dnsEnabled", "hunter2"),
        ("dns", "password: *hunter2"),
        ("dns", "password: !hunter2 x"),
        ("dns", "password: !!int hunter2"),
    ],
)
def test_a_secret_that_cannot_be_read_is_not_repeated(key: str, text: str) -> None:
    assert "hunter2" in parse({key: text}).problems["dns"]
    assert "hunter2" not in parse_secret({key: text}).problems["dns"]


def test_a_section_is_refused_without_repeating_the_secret() -> None:
    store = Store({}, {"dns": Schemas()})
    hidden, plain = Config({"dns": {"password": "hunter2"}}), Config({"dns": {"password": "hunter2"}})
    assert "***" in str(store.adopt(Config(), hidden, {"dns"}).refused["dns"])
    assert "hunter2" not in str(store.adopt(Config(), hidden, {"dns"}).refused["dns"])
    assert "hunter2" in str(store.adopt(plain, None, {"dns"}).refused["dns"])


def test_values_that_are_not_fit_for_helm_are_not_repeated() -> None:
    store = Store({}, {"dns": Schemas()})
    store.adopt(Config(), Config({"dns": {"password": "hunter2"}}), set())
    with pytest.raises(BadValues) as raised:
        store.for_helm("dns")
    assert str(raised.value) == "dns: dns.password must be one of a, b, not ***"


def test_other_messages_are_masked_on_request_also_for_what_is_global() -> None:
    store = Store({}, {"dns": Schemas()})
    store.adopt(Config(), Config({"dns": {"password": "hunter2"}, "global": {"token": "abcdef"}}), set())
    assert store.masked("dns", "line 1: hunter2 and abcdef") == "line 1: *** and ***"
    assert store.masked("global", "line 1: hunter2 and abcdef") == "line 1: hunter2 and ***"
