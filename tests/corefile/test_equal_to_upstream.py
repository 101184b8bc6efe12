"""Generated Corefiles are migrated as by corefile-migration, but where ours is better: each difference has a reason.

Level: pure."""

from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.corefile.generated_corefiles import generated
from tests.corefile.library import corefile, migration, releases
from tests.corefile.recording import RECORDED, digest, migrations, summary
from tests.oracles.corefile_migration import Request, answers

_ALREADY_GONE = ("federation", "reverse")
"""Plugins of which the library does not say that they were removed."""


def passes(request: Request, *versions: str) -> bool:
    """Does an upgrade pass one of these releases?"""
    known = releases.is_since
    return any(known(request.target, version) and not known(request.origin, version) for version in versions)


def options(request: Request) -> Iterator[list[str]]:
    """The words of each option, after the name of its plugin."""
    for server in corefile.parse(request.text):
        for plugin in server.inner:
            yield from ([plugin.name, option.name, *option.arguments] for option in plugin.inner)


def has_two_stubs(request: Request) -> bool:
    """Does a server have several proxies of single domains?"""
    for server in corefile.parse(request.text):
        stubs = [node for node in server.inner if node.name in ("proxy", "forward") and node.arguments[0] != "."]
        if len(stubs) > 1:
            return True
    return False


def has(request: Request, *words: str) -> bool:
    """Does a plugin have an option that begins with these words?"""
    return any(tuple(option[: len(words)]) == words for option in options(request))


REASONS: dict[str, Callable[[Request], bool]] = {
    "all zones of kubernetes can still be transferred, not the first one alone": lambda request: (
        passes(request, "1.8.0") and has(request, "kubernetes", "transfer")
    ),
    "every stub domain gets its server, not every second one": lambda request: (
        passes(request, "1.4.0", "1.5.0") and has_two_stubs(request)
    ),
    "protocol dns force_tcp stays force_tcp": lambda request: (
        passes(request, "1.5.0") and has(request, "proxy", "protocol", "dns", "force_tcp")
    ),
    "policy least_conn does not become force_tcp": lambda request: (
        passes(request, "1.5.0") and has(request, "proxy", "policy", "least_conn")
    ),
    "a plugin of an imported snippet is not added again": lambda request: (
        passes(request, "1.2.1", "1.5.0") and "import shared" in request.text
    ),
    "the release that brought a plugin keeps it": lambda request: request.down and request.target in ("1.2.1", "1.5.0"),
    "an option that was added is taken away where it is unknown": lambda request: (
        request.down
        and has(request, "forward", "max_concurrent", "1000")
        and releases.is_since(request.origin, "1.6.9")
        and not releases.is_since(request.target, "1.6.9")
    ),
}


def summary_of_ours(request: Request) -> str:
    """Our result in the form of the recording; why, if there is none."""
    try:
        text = migration.migrate(request.text, request.origin, request.target)
    except corefile.Unreadable as error:
        return f"refused: {error}"
    return digest(corefile.structure(corefile.parse(text)))


@pytest.fixture(scope="module")
def compared() -> list[tuple[Request, str]]:
    """Each migration with its line of the recording."""
    return list(zip(migrations(), RECORDED.read_text().splitlines(), strict=True))


@pytest.mark.slow
def test_generated_corefiles_are_migrated_as_by_the_library_or_better(compared: list[tuple[Request, str]]) -> None:
    counts: Counter[str] = Counter()
    unexplained = []
    for request, recorded in compared:
        ours, theirs = summary_of_ours(request), recorded.split()[0]
        reasons = [reason for reason, applies in REASONS.items() if applies(request)]
        if ours == theirs:
            counts["equal"] += 1
        elif ours.startswith("refused"):
            counts["what a release cannot read is refused"] += 1
        elif reasons:
            counts.update(reasons)
        else:
            unexplained.append((request.origin, request.target, request.text))
    assert unexplained == []
    assert counts["equal"] >= 515, counts
    assert counts.keys() == {"equal", "what a release cannot read is refused", *REASONS}


@pytest.mark.slow
def test_what_is_deprecated_ignored_or_removed_is_named_as_by_the_library(compared: list[tuple[Request, str]]) -> None:
    differences = []
    for request, recorded in compared:
        if request.down or recorded == "error":
            continue
        found = migration.statuses(corefile.parse(request.text), request.target)
        ours = sorted({tuple(words) for _, *words in found if words[0] not in _ALREADY_GONE})
        if digest([list(words) for words in ours]) != recorded.split()[1]:
            differences.append((request.origin, request.target, ours))
    assert differences == []


@pytest.mark.slow
def test_a_text_is_a_default_only_if_it_is_one_for_the_library(compared: list[tuple[Request, str]]) -> None:
    """The library takes any servers behind `forward .` for a default; ours is stricter."""
    ours = [(line, migration.is_default(request.text, "cluster.local")) for request, line in compared]
    assert {line.endswith(" default") for line, is_ours in ours if is_ours} == {True}


@pytest.mark.slow
def test_a_way_over_another_release_leads_to_the_same_text() -> None:
    names = list(releases.VERSIONS)
    differences = []
    for origin, text in generated(100):
        halfway = names[(names.index(origin) + len(names) - 1) // 2]
        try:
            between = migration.migrate(text, origin, halfway)
            both = [migration.migrate(between, halfway, names[-1]), migration.migrate(text, origin, names[-1])]
        except corefile.Unreadable:  # federation, for instance
            continue
        if both[0] != both[1]:
            differences.append((origin, halfway, text))
    assert differences == []


@pytest.mark.nightly
def test_the_recording_is_what_the_library_answers() -> None:
    found: list[Any] = [summary(answer) for answer in answers(migrations())]
    assert found == RECORDED.read_text().splitlines()
