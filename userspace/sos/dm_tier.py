# SPDX-License-Identifier: GPL-2.0-only
"""sos report: what is needed to tell why a tiered set behaves as it does."""

from sos.report.plugins import IndependentPlugin, Plugin


class DmTier(Plugin, IndependentPlugin):

    short_desc = "Tiered block devices: dm-tier"

    plugin_name = "dm_tier"
    profiles = ("storage",)
    packages = ("tierctl", "dm-tier-dkms")
    commands = ("tierctl",)
    kernel_mods = ("dm_tier",)

    def setup(self):
        self.add_copy_spec("/sys/module/dm_tier*/version")
        self.add_cmd_output([
            "tierctl --version",
            "tierctl list",
            "tierctl status -v",
            "tierctl status --json",
            "tierctl metrics",
            "dmsetup table --target tier",
            "dmsetup status --target tier",
        ])
        sets = self.exec_cmd("dmsetup table --target tier")
        if sets["status"]:
            return
        for line in sets["output"].splitlines():
            name, colon, _ = line.partition(": ")
            if not colon:
                continue
            for message in ("holds", "latency", "wear"):
                self.add_cmd_output(f"dmsetup message {name} 0 {message}")
