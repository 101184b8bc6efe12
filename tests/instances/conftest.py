"""Real units in virtual time, for the registry."""

from tests.convergence.conftest import limited, make_site

__all__ = ["limited", "make_site"]
