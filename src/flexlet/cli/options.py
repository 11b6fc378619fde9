"""Options that several commands share."""

import click

kubeconfig_option = click.option(
    "--kubeconfig",
    type=click.Path(dir_okay=False),
    help="Which cluster to talk to; the default is $KUBECONFIG, else ~/.kube/config.",
)
