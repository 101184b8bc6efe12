"""How one case went, whatever it is about: for whoever shows or counts cases."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from hookrunner.testing.cases.expect import Difference


@dataclass(frozen=True, slots=True)
class Told:
    """`subject` is what was tested, `expects` whether anything was expected of it. `problem` is why it could not be run
    at all; else `wrong` is what is not as expected. `logs` is what was printed meanwhile, `notes` are worth knowing
    also if all is well."""

    path: Path
    subject: str
    line: int
    name: str
    expects: bool
    seconds: float = 0.0
    problem: str = ""
    wrong: Sequence[Difference] = ()
    logs: Sequence[str] = ()
    notes: Sequence[str] = ()

    @property
    def passed(self) -> bool:
        """As expected."""
        return not (self.problem or self.wrong)

    @property
    def stale(self) -> bool:
        """Not as expected, or nothing is expected yet: what `--update` writes anew."""
        return bool(self.wrong) or not (self.problem or self.expects)

    @property
    def lines(self) -> list[str]:
        """What there is to say of a case that did not pass; what was printed last."""
        if self.problem:
            return self.problem.splitlines()
        said = [line for one in self.wrong for line in (f"{one.key}:", *(f"  {line}" for line in one.lines))]
        if self.wrong and self.logs and not any(one.key == "logs" for one in self.wrong):
            said += ["the hook printed:", *(f"  | {line}" for line in self.logs)]
        return said
