"""Ids of webhooks and their paths, as shell-operator makes them of the names of hooks and bindings."""

from hookrunner.model.paths import admission_path, conversion_path, webhook_id
from tests.tables import each


@each(
    ("name", "found"),
    [
        ("importantHook", "important-hook"),
        ("hooks/nextHook", "hooks/next-hook"),
        ("weird spaced Name", "weird-spaced-name"),
        ("my.example.com", "my-example-com"),
        ("already-safe-1", "already-safe-1"),
        ("a--b", "a-b"),
        ("a-B_c", "a-b-c"),
        ("ABC", "-a-b-c"),
        ("имя", "-"),
    ],
)
def test_a_name_becomes_safe_for_urls(name: str, found: str) -> None:
    assert webhook_id(name) == found


def test_both_kinds_of_webhook_have_their_paths() -> None:
    assert admission_path("my.example.com") == "/hooks/my-example-com"
    assert conversion_path("things.example.com") == "/things.example.com"
