"""A fault of hookrunner itself in the run of an instance: shown like every other state, and left by itself.

Level: sandbox."""

import pytest

from tests.instances.lives.site import LiveSite

MAPS = "/api/v1/namespaces/n1/configmaps"


@pytest.mark.slow
async def test_fault_of_ours_is_shown_keeps_no_other_instance_and_ends_with_its_cause(site: LiveSite) -> None:
    async with site.started() as process:
        process.wire.broken = f"POST {MAPS}"
        await site.places.create(["n1", "n2"])
        await site.until(site.places.phases, {"n1": "InternalError", "n2": "Current"})
        status = (await site.places.statuses())["n1"]
        conditions = {entry["type"]: (entry["status"], entry["reason"]) for entry in status["conditions"]}
        assert (status["healthy"], conditions["Stalled"]) == (False, ("True", "InternalError"))
        assert status["errors"][0].startswith("internal error: KeyError in places.py")
        assert "no message may quote" not in str(status)
        await site.until(lambda: site.places.messages("n1", "InternalError"), status["errors"])
        assert any("_run_errors_total{" in line and "InternalError" in line for line in await process.series())
        process.wire.broken = ""
        await site.until(site.places.phases, {"n1": "Current", "n2": "Current"})
