"""One run: every scenario with every program, taking turns, so that a noisy moment hits all of them alike."""

import sys
from collections.abc import Sequence
from dataclasses import dataclass

from benchmarks import floors
from benchmarks.programs import Program
from benchmarks.rows import Group
from benchmarks.scenarios import Bed, Figures


@dataclass(frozen=True, slots=True)
class Measured:
    """The samples of a group, by the names of the programs that have such a thing."""

    group: Group
    figures: dict[str, Figures]


@dataclass(frozen=True, slots=True)
class Result:
    """Everything that was measured; the first program is hookrunner."""

    programs: tuple[str, ...]
    groups: tuple[Measured, ...]
    floors: Figures


async def measure(bed: Bed, programs: Sequence[Program], chosen: Sequence[Group], repeat: int) -> Result:
    """Run these groups, each up to `repeat` times."""
    floor = await floors.of(bed, {group.name for group in chosen})
    measured = [Measured(group, await _rounds(bed, programs, group, repeat)) for group in chosen]
    return Result(tuple(program.name for program in programs), tuple(measured), floor)


async def _rounds(bed: Bed, programs: Sequence[Program], group: Group, repeat: int) -> dict[str, Figures]:
    programs = programs[:1] if group.ours else programs
    found: dict[str, Figures] = {program.name: {} for program in programs}
    for number in range(min(repeat, group.rounds)):
        for program in programs if number % 2 == 0 else reversed(programs):
            print(f"{group.name}: {program.name}, round {number + 1}", file=sys.stderr, flush=True)
            for figure, samples in (await group.scenario(bed, program)).items():
                found[program.name].setdefault(figure, []).extend(samples)
    return found
