"""Says in the words of the status why a run of an instance failed. Pure.

    obstacle = obstacle_of(error, patched_objects)

What a user wrote and has to change stalls; what may pass by itself is retried with the back-off. An error that no rule
names is a fault of hookrunner: its text stays in the log, since it may quote a value.
"""

from collections.abc import Collection

from hookrunner.addons.version_resolver import package_obstacle
from hookrunner.errors import (
    BadHookConfig,
    BadPatch,
    BadValues,
    HookFailed,
    HookrunnerError,
    KubeError,
    PackageError,
    PatchFailed,
    ReleaseFailed,
    internal,
)
from hookrunner.model.addon_status import AddonObstacle, AddonPhase

_HOOKS = (HookFailed, PatchFailed, BadHookConfig)
_WRITING = (ReleaseFailed, KubeError)


def obstacle_of(error: Exception, patched: Collection[str] = ()) -> AddonObstacle:
    """Why a run failed. `patched` are the objects that the instance's patches have changed, as `ReleaseFailed.invalid`
    names objects: if the API server has refused the content of one of them, the patch is the cause."""
    match error:
        case PackageError():
            return package_obstacle(error)
        case BadPatch():
            return AddonObstacle(AddonPhase.PATCH_FAILED, error.reason, str(error))
        case ReleaseFailed() if set(error.invalid) & set(patched):
            return AddonObstacle(AddonPhase.PATCH_FAILED, "SchemaInvalid", str(error))
        case BadValues():
            return AddonObstacle(AddonPhase.RENDER_FAILED, "SpecInvalid", str(error))
    if isinstance(error, _HOOKS):
        return AddonObstacle(AddonPhase.RENDER_FAILED, "HookFailed", str(error))
    if isinstance(error, _WRITING):
        return AddonObstacle(AddonPhase.APPLYING, "ApplyFailed", str(error))
    if isinstance(error, HookrunnerError):
        return AddonObstacle(AddonPhase.RENDER_FAILED, "RenderFailed", str(error))
    return AddonObstacle(AddonPhase.INTERNAL_ERROR, "InternalError", f"{internal(error)}; please report it")
