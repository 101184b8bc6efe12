"""What is registered in a cluster, and a reviewer that is never asked."""

from collections.abc import Sequence

from hookrunner.engine.reviews.reviewer import ReviewDeclarations
from hookrunner.errors import RegistrationFailed
from hookrunner.model.bindings import Hook, ReviewKind
from hookrunner.model.json_objects import JsonObjects
from hookrunner.model.reviews import AdmissionReview, ConversionReview, Verdict


class UnaskedReviewer:
    """A reviewer that is never asked."""

    def unknown(self, kind: ReviewKind, name: str) -> str:
        raise NotImplementedError

    async def admit(self, review: AdmissionReview) -> Verdict:
        raise NotImplementedError

    async def convert(self, review: ConversionReview) -> JsonObjects:
        raise NotImplementedError

    def missing(self) -> str:
        return ""


class Cluster:
    """What is registered: `module kind`. `standing_` is of an earlier life, and goes when it is certain that it may."""

    def __init__(self, declared: ReviewDeclarations, *standing: str) -> None:
        self.there = set(standing)
        self.refuses = False
        self._declared = declared

    async def has_leftovers(self) -> bool:
        return bool(self.there)

    async def renew(self, mine: Sequence[Hook] = ()) -> None:
        if self.refuses:
            raise RegistrationFailed("no")
        modules = self._declared.modules
        asked = {f"{hook.module} {kind}" for hook in modules.asked for kind in hook.config.reviews}
        kept = {name for name in self.there if modules.incomplete and name.split()[0] not in modules.sure}
        self.there = asked | kept
