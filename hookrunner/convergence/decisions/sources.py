"""What users write in the cluster: the ConfigMap, and the Secret if one is named. What they say together counts."""

from collections.abc import Iterator
from dataclasses import dataclass

from hookrunner.convergence.decisions.config_object import ConfigObject, Contents


@dataclass(frozen=True, slots=True)
class Sources:
    """`secret` is None if none is named."""

    config: ConfigObject
    secret: ConfigObject | None = None

    def __iter__(self) -> Iterator[ConfigObject]:
        return (source for source in (self.config, self.secret) if source)

    @property
    def contents(self) -> tuple[Contents, Contents]:
        """What they hold, the ConfigMap first."""
        return self.config.contents, self.secret.contents if self.secret else Contents()

    @property
    def unread(self) -> str:
        """Why one of them has never been read; empty if all have been. Without the Secret's values nothing may run."""
        return next((f"{source}: {source.unseen}" for source in self if not source.is_known), "")

    @property
    def missing(self) -> tuple[ConfigObject, ...]:
        """Those that do not exist, and whose grace runs."""
        return tuple(source for source in self if source.grace.running)
