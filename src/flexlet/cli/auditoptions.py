"""Upstream's audit flags, for the commands that run an API server."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

if TYPE_CHECKING:
    from flexlet.apiserver.audit.auditor import AuditSettings

_Function = TypeVar("_Function", bound=Callable[..., Any])


def audit_options(function: _Function) -> _Function:
    """What is written to the audit log, and where it lies; `audit_settings` reads them."""
    number = click.IntRange(0)
    for option in (
        click.option(
            "--audit-log-maxage", type=number, default=0, help="Days to keep turned-over audit logs; 0 keeps all."
        ),
        click.option(
            "--audit-log-maxbackup", type=number, default=0, help="How many turned-over logs to keep; 0 keeps all."
        ),
        click.option(
            "--audit-log-maxsize",
            type=number,
            default=100,
            show_default=True,
            help="Megabytes after which the audit log is turned over; 0 never.",
        ),
        click.option("--audit-log-path", default="", help="Where the audit log goes; - is standard output."),
        click.option(
            "--audit-policy-file",
            type=click.Path(exists=True, dir_okay=False, path_type=Path),
            help="An audit.k8s.io/v1 Policy: what the audit log says of which requests.",
        ),
    ):
        function = option(function)
    return function


def audit_settings(values: Mapping[str, Any]) -> "AuditSettings":
    """The flags as the server takes them."""
    from flexlet.apiserver.audit.auditor import AuditSettings
    from flexlet.apiserver.audit.sink import Rotation

    rotation = Rotation(
        max_size_mb=values["audit_log_maxsize"],
        max_backups=values["audit_log_maxbackup"],
        max_age_days=values["audit_log_maxage"],
    )
    return AuditSettings(
        policy_file=values["audit_policy_file"], log_path=values["audit_log_path"], rotation=rotation
    )
