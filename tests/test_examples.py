"""How many random examples a run tries. Level: pure."""

from hypothesis import settings

from tests.examples import ALL, several


def test_a_run_tries_its_part_of_the_examples_and_at_least_one() -> None:
    assert several(10 * ALL) == 10 * settings().max_examples
    assert several(1) == 1


def test_all_are_tried_at_night_and_fewer_by_day() -> None:
    night, day, quick = (settings.get_profile(name).max_examples for name in ("nightly", "hookrunner", "quick"))
    assert ALL == night > day > quick > 0
