"""Syntax of names: of objects, labels, finalizers, ports, keys. Each rule takes a text and gives what is wrong with it,
in the API's words; nothing if all is well.

https://kubernetes.io/docs/concepts/overview/working-with-objects/names/
"""

import re
import secrets
from collections.abc import Callable

Rule = Callable[[str], list[str]]

ALPHABET = "bcdfghjklmnpqrstvwxz2456789"
RANDOM_LENGTH, LONGEST_GENERATED = 5, 63
LABEL = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?"
SUBDOMAIN = rf"{LABEL}(\.{LABEL})*"
KEY = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"
KEY_WORDS = (
    "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character"
)
LOWER = "lower case alphanumeric characters"
ENDS = "and must start and end with an alphanumeric character"


def generated(prefix: str) -> str:
    """A name for `metadata.generateName`: the prefix, cut so that five random characters fit."""
    return prefix[: LONGEST_GENERATED - RANDOM_LENGTH] + "".join(secrets.choice(ALPHABET) for _ in range(RANDOM_LENGTH))


def is_generated(name: str, prefix: str) -> bool:
    """Whether a name looks generated from the prefix."""
    cut = prefix[: LONGEST_GENERATED - RANDOM_LENGTH]
    rest = name.removeprefix(cut)
    return name.startswith(cut) and len(rest) == RANDOM_LENGTH and set(rest) <= set(ALPHABET)


def in_words(words: str, pattern: str, *examples: str) -> str:
    """A rule as the API tells it, with examples and the regular expression."""
    shown = " or ".join(f"'{one}', " for one in examples)
    return f"{words} ({f'e.g. {shown}' if examples else ''}regex used for validation is '{pattern}')"


def too_long(limit: int, unit: str = "characters") -> str:
    """What the API says of a text that is longer than allowed."""
    return f"must be no more than {limit} {unit}"


def _rule(pattern: str, words: str, *examples: str, limit: int = 0) -> Rule:
    compiled, sentence = re.compile(pattern), in_words(words, pattern, *examples)

    def rule(text: str) -> list[str]:
        found = [too_long(limit)] if limit and len(text.encode()) > limit else []
        return found if compiled.fullmatch(text) else [*found, sentence]

    return rule


subdomain = _rule(
    SUBDOMAIN, f"a lowercase RFC 1123 subdomain must consist of {LOWER}, '-' or '.', {ENDS}", "example.com", limit=253
)
plain_label = _rule(
    LABEL, f"a lowercase RFC 1123 label must consist of {LOWER} or '-', {ENDS}", "my-name", "123-abc", limit=63
)
old_label = _rule(
    "[a-z]([-a-z0-9]*[a-z0-9])?",
    f"a DNS-1035 label must consist of {LOWER} or '-', start with an alphabetic character, and end with an alphanumeric"
    " character",
    "my-name",
    "abc-123",
    limit=63,
)
wildcard_subdomain = _rule(
    rf"\*\.{SUBDOMAIN}",
    "a wildcard DNS-1123 subdomain must start with '*.', followed by a valid DNS subdomain, which must consist of lower"
    " case alphanumeric characters, '-' or '.' and end with an alphanumeric character",
    "*.example.com",
    limit=253,
)
percent = _rule("[0-9]+%", "a valid percent string must be a numeric string followed by an ending '%'", "1%", "93%")
http_header = _rule(
    "[-A-Za-z0-9]+", "a valid HTTP header must consist of alphanumeric characters or '-'", "X-Header-Name"
)
_data_key = _rule(
    "[-._a-zA-Z0-9]+",
    "a valid config key must consist of alphanumeric characters, '-', '_' or '.'",
    "key.name",
    "KEY_NAME",
    "key-name",
    limit=253,
)
_label_value = _rule(
    f"({KEY})?",
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and"
    " end with an alphanumeric character",
    "MyValue",
    "my_value",
    "12345",
)


def label(text: str) -> list[str]:
    """An RFC 1123 label: a Namespace, a Service, a container."""
    wrong = plain_label(text)
    if wrong and "." in text and not subdomain(text):
        return [*wrong[:-1], "must not contain dots"]
    return wrong


def data_key(text: str) -> list[str]:
    """A key of a ConfigMap or a Secret."""
    found = _data_key(text)
    if text in (".", ".."):
        return [*found, f"must not be '{text}'"]
    return [*found, "must not start with '..'"] if text.startswith("..") else found


def label_value(text: str) -> list[str]:
    """The value of a label."""
    found = [too_long(63, "bytes")] if len(text.encode()) > 63 else []
    return [*found, *_label_value(text)]


def qualified(text: str) -> list[str]:
    """The key of a label, a finalizer, a resource: `name` or `example.com/name`."""
    *prefix, name = text.split("/")
    if len(prefix) > 1:
        words = in_words(f"a valid label key {KEY_WORDS}", KEY, "MyName", "my.name", "123-abc")
        return [f"{words} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"]
    found = []
    if prefix == [""]:
        found.append("prefix part must be non-empty")
    elif prefix:
        found += [f"prefix part {said}" for said in subdomain(prefix[0])]
    if not name:
        found.append("name part must be non-empty")
    elif len(name.encode()) > 63:
        found.append(f"name part {too_long(63, 'bytes')}")
    if not re.fullmatch(KEY, name):
        found.append("name part " + in_words(KEY_WORDS, KEY, "MyName", "my.name", "123-abc"))
    return found


def path_segment(text: str) -> list[str]:
    """What can stand between two slashes of a URL: names of roles, for example."""
    if text in (".", ".."):
        return [f"may not be '{text}'"]
    return [f"may not contain '{one}'" for one in "/%" if one in text]


def port_name(text: str) -> list[str]:
    """The name of a port (RFC 6335)."""
    rules = (
        (len(text) > 15, too_long(15)),
        (
            not re.fullmatch("[-a-z0-9]+", text),
            "must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)",
        ),
        (not re.search("[a-z]", text), "must contain at least one letter (a-z)"),
        ("--" in text, "must not contain consecutive hyphens"),
        (text[:1] == "-" or text[-1:] == "-", "must not begin or end with a hyphen"),
    )
    return [said for broken, said in rules if broken]


def environment(text: str) -> list[str]:
    """The name of an environment variable."""
    if not text:
        return ["environment variable name must be non-empty"]
    if any(one == "=" or not " " <= one <= "~" for one in text):
        return ["a valid environment variable name must consist only of printable ASCII characters other than '='"]
    return []
