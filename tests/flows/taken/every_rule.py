"""Every rule of an addon or a module is taken away once, in one life that goes on: before the step that first needs it,
as the audit log of a life with all rights shows; a list or a watch before the start. What no request needs in that life
is left.
"""

from collections import defaultdict
from dataclasses import replace
from itertools import takewhile

from hookrunner.model.rights import Right
from tests.flows.limited_rights import is_rare
from tests.flows.taken.life import Outcome, Step, lose
from tests.flows.taken.release_lives import ReleasedThing, life_of
from tests.flows.taken.reports import is_reported, report
from tests.flows.taken.taken_rule import shown
from tests.flows.waiting import until

BEFORE = {"the start": "stopped", "the installation": "absent", "the deletion": "installed"}
AFTER = {"the start": "absent", "the deletion": "absent"}


async def lose_each(world: ReleasedThing) -> list[Outcome]:
    """What came of each rule."""
    try:
        first_needed = await _learn(world)
        outcomes = [
            await _lose_before(world, rule, step)
            for step, rules in first_needed.items()
            for rule in rules
            if not is_reported(world.thing, shown(rule))
        ]
        if world.state == "installed":
            await _take(world.delete())
        await world.operator.stop()
    finally:
        world.operator.kill()
        print(world.operator.story())
    return outcomes


async def _take(step: Step) -> None:
    step.ask()
    await until(step.is_done, step.what)


async def _learn(world: ReleasedThing) -> dict[str, list[Right]]:
    """By step, the rules that are needed there for the first time."""
    left, needed = list(world.account.rules), defaultdict[str, list[Right]](list)
    for step in world.steps():
        since = world.cluster.audit.size()
        await _take(step)
        allowed = world.account.allowed(since)
        needed[step.what] = [rule for rule in left if any(map(rule.covers, allowed))]
        left = [rule for rule in left if rule not in needed[step.what]]
        world.state = AFTER.get(step.what, "installed")
    for rule in left:  # RBAC and admission ask for some when a role or an object is created, which no request shows
        needed["" if is_rare(rule) else "the installation"].append(rule)
    return needed


async def _lose_before(world: ReleasedThing, rule: Right, what: str) -> Outcome:
    """Take a rule away before a step; there may be none that needs it."""
    if not what:
        return report(world.thing, Outcome(shown(rule), "", (), (), ()))
    steps = [step for step in world.steps() if step.what == what]
    if what == "the repair":  # one object, whose back-off would grow with each of its changes
        steps = [world.objects.tamper(rule)]
    if rule.verbs[0] in ("list", "watch"):  # an open watch goes on without the rule for minutes
        steps = [*takewhile(lambda step: step.what not in ("the upgrade", "the deletion"), world.steps())]
        what = "the start"
    wanted = BEFORE.get(what, "installed")
    if wanted != world.state and world.state == "installed":
        await _take(world.delete())
        world.state = "absent"
    if wanted == "stopped" and world.state == "absent":
        await world.operator.stop()  # which may end a hook
        world.forget()
    elif wanted == "installed" and world.state == "absent":
        await _take(world.install())
    outcome = await lose(replace(life_of(world), is_long=False), rule, steps)
    world.state = AFTER.get(steps[-1].what, "installed")
    return report(world.thing, outcome)
