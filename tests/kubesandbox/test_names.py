"""Syntax of names: what is taken and what is refused. Level: pure."""

import re

from kubesandbox import names
from tests.tables import each


@each(
    ("rule", "good", "bad"),
    [
        (names.subdomain, ["a", "a.b", "1a", "a-b.c"], ["", "A", "a_b", "-a", "a-", "a..b", "a" * 254]),
        (names.label, ["a", "1a", "a-b"], ["", "a.b", "A", "a" * 64]),
        (names.old_label, ["a", "a1"], ["1a", "a.b", ""]),
        (names.qualified, ["a", "A.b_c-d", "x.y/a"], ["", "/a", "a/", "a/b/c", "a b", "X/a", "-a", "a" * 64]),
        (names.label_value, ["", "a", "A.b_c"], ["-", "a b", "a" * 64]),
        (names.path_segment, ["a:b", "A B", "x" * 300], [".", "..", "a/b", "a%b"]),
        (names.port_name, ["http", "a1", "1a"], ["1", "a--b", "-a", "A", "a" * 16, ""]),
        (names.data_key, ["a", ".a", "A_b.c-d"], ["", "a b", ".", "..", "..a", "a" * 254]),
        (names.environment, ["A", "a.b", "1"], ["", "a=b", "ä"]),
        (names.wildcard_subdomain, ["*.a.b"], ["*", "a.b", "*.*.a"]),
        (names.percent, ["5%"], ["5", "%", "x%"]),
    ],
)
def test_a_rule_takes_the_good_and_says_what_is_wrong_with_the_bad(
    rule: names.Rule, good: list[str], bad: list[str]
) -> None:
    assert [text for text in good if rule(text)] == []
    assert [text for text in bad if not rule(text)] == []


def test_a_rule_is_reported_with_its_examples_and_expression() -> None:
    assert names.subdomain("A") == [
        "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start"
        " and end with an alphanumeric character (e.g. 'example.com', regex used for validation is"
        r" '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
    ]


def test_a_generated_name_has_five_random_characters() -> None:
    made = {names.generated("job-") for _ in range(100)}
    assert len(made) > 90
    assert all(re.fullmatch(f"job-[{names.ALPHABET}]{{5}}", name) for name in made)


def test_a_long_prefix_is_cut_so_that_the_name_fits() -> None:
    assert len(names.generated("a" * 100)) == 63
