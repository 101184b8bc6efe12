"""`hookrunner cloud rbac`: the rights that the loops need, as objects."""

import click

from hookrunner import settings
from hookrunner.cli.cloud.cloud_start import cloud_flag, read_cloud_settings
from hookrunner.cli.output import show, to_list
from hookrunner.cli.shared import account_option
from hookrunner.cloud.rights import ROLE, rights_of
from hookrunner.manifests import yaml_writer
from hookrunner.manifests.role_objects import to_roles


class _CloudRights(click.Command):
    def invoke(self, ctx: click.Context) -> int:
        own = {name: ctx.params.pop(name) for name in ("service_account", "output")}
        loaded = read_cloud_settings(ctx)
        objects = to_roles(ROLE, rights_of(loaded), own["service_account"])
        if own["output"] == "json":
            show(to_list(objects))
        else:
            show("---\n".join(map(yaml_writer.dump, objects)))
        return 0


cloud_rbac = _CloudRights(
    "rbac",
    params=[
        account_option("kube-system/cloud-controller-manager"),
        click.Option(["-o", "--output"], type=click.Choice(["yaml", "json"]), default="yaml", show_default=True),
        *map(cloud_flag, settings.cloud_options()),
    ],
    help="""Print the rights that `cloud start` needs with these flags: a ClusterRole, a Role for the lease, bindings.

    \b
    hookrunner cloud rbac | kubectl apply -f -
    hookrunner cloud rbac --controllers cloud-node --leader-elect=false
    hookrunner cloud rbac --service-account cloud/manager -o json""",
)
