"""A counter that grows while something is wrong, without a timer. Level: pure."""

from hookrunner.convergence.decisions.configuration import TroubleCounter


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


def test_it_grows_by_one_every_five_seconds_while_there_is_trouble() -> None:
    clock = Clock()
    trouble = TroubleCounter(clock)
    counts = [trouble.count]
    trouble.observe(True)
    for clock.now in (100.0, 104.9, 105.0, 130.0):
        counts.append(trouble.count)
    assert counts == [0, 1, 1, 2, 7]


def test_it_stays_when_the_trouble_is_over_and_goes_on_with_the_next() -> None:
    clock = Clock()
    trouble = TroubleCounter(clock)
    trouble.observe(True)
    clock.now = 106.0
    trouble.observe(False)
    clock.now = 200.0
    assert trouble.count == 2
    trouble.observe(True)
    clock.now = 205.0
    assert trouble.count == 4


def test_observing_it_again_does_not_restart_the_count() -> None:
    clock = Clock()
    trouble = TroubleCounter(clock)
    trouble.observe(True)
    clock.now = 104.0
    trouble.observe(True)
    clock.now = 105.0
    assert trouble.count == 2
