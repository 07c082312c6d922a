# SPDX-License-Identifier: GPL-2.0-only
"""sos report: what there is to know of tiered sets. `sos report -o dm_tier` asks this plugin alone."""
from sos.report.plugins import Plugin, DebianPlugin, RedHatPlugin, UbuntuPlugin


class DmTier(Plugin, RedHatPlugin, DebianPlugin, UbuntuPlugin):
    """No command here writes, and each has a time limit of sos. Metadata is not dumped: a dump
    takes a snapshot of it for a while, and has no more than status where all is well."""

    short_desc = "Tiered block devices"
    plugin_name = "dm_tier"
    profiles = ("storage",)
    packages = ("tierctl", "dm-tier-dkms")
    commands = ("tierctl",)
    kernel_mods = ("dm_tier",)

    def setup(self):
        self.add_copy_spec(["/etc/dm-tier", "/sys/module/dm_tier/version", "/sys/module/dm_tier/parameters"])
        self.add_cmd_output([
            "tierctl --version",
            "tierctl list",
            "tierctl status",
            "tierctl status --json",
            "tierctl metrics",
            "tierctl scan",
            "dmsetup table --target tier",
            "dmsetup status --target tier --noflush",
            "modinfo dm-tier",
        ])
        self.add_journal(units=["tier-events.service", "tier-backup.service", "tier-at-boot.service"])
