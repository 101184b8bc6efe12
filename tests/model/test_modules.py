"""Names of modules and their keys in values, as in addon-operator: which survive both ways and which do not.

Level: pure."""

from hypothesis import given, settings
from hypothesis import strategies as st

from hookrunner.model.modules import camel, kebab
from tests.examples import several
from tests.tables import each


@each(
    ("name", "key"),
    [
        ("module1", "module1"),
        ("prometheus-operator", "prometheusOperator"),
        ("cert-manager-crd", "certManagerCrd"),
        ("l2-load-balancer", "l2LoadBalancer"),
        ("module-one01", "moduleOne01"),
        ("2-module-name", "2ModuleName"),
        ("v1.2-foo", "v1.2Foo"),
        ("", ""),
    ],
)
def test_name_and_key_are_made_from_each_other(name: str, key: str) -> None:
    assert (camel(name), kebab(key)) == (key, name)


@each(
    ("spelling", "key", "name"),
    [
        ("module-1", "module1", "module1"),
        ("module_one", "moduleOne", "module-one"),
        ("FOOBar", "fooBar", "foo-bar"),
        ("a.b c", "aBC", "a-bc"),
        ("-double--dash-", "doubleDash", "double-dash"),
        ("Foo", "foo", "foo"),
    ],
)
def test_other_spellings_come_back_in_kebab_case(spelling: str, key: str, name: str) -> None:
    assert (camel(spelling), kebab(camel(spelling))) == (key, name)


@settings(max_examples=several(50))
@given(st.lists(st.from_regex(r"[a-z]{2}[a-z0-9]*", fullmatch=True), min_size=1, max_size=4))
def test_names_of_words_with_two_leading_letters_survive_both_ways(words: list[str]) -> None:
    name = "-".join(words)
    assert kebab(camel(name)) == name
