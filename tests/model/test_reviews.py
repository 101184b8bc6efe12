"""Ids of webhooks and their paths, as shell-operator makes them of the names of hooks and bindings. Level: pure."""

from hookrunner.model.reviews import admission_path, conversion_path, webhook_id
from tests.tables import each


@each(
    ("name", "identifier"),
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
def test_webhook_name_becomes_safe_for_urls(name: str, identifier: str) -> None:
    assert webhook_id(name) == identifier


def test_admission_and_conversion_have_paths_of_their_own() -> None:
    assert admission_path("my.example.com") == "/hooks/my-example-com"
    assert conversion_path("things.example.com") == "/things.example.com"
