#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# stock kernels only: it is about what tierctl prints
# timeout=400
# long
#
# The plugin for sos report: what an archive has of a set.

# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=lib-tierctl.sh
. "$(dirname "$0")/lib-tierctl.sh"
need sos tar
plugin=$(realpath "$here/../../userspace/sos")
[ -d "$plugin" ] || skip_all "the plugin is not here"

# report FOLDER: an archive of this plugin alone, which is not installed, and neither is tierctl
report()
{
	/usr/bin/python3 - "$plugin" "$(dirname "$(realpath "$tierctl")")" "$1" <<'END'
import sys
import sos.report.plugins
sos.report.plugins.__path__.append(sys.argv[1])
from sos.policies.debian import DebianPolicy
DebianPolicy.PATH += ":" + sys.argv[2]
from sos import SoS
SoS(["report", "--batch", "--quiet", "-o", "dm_tier", "--tmp-dir", sys.argv[3]]).execute()
END
}

archive()
{
	local folder=$tmp/sos
	make_disks
	ctl create "$set" -q -c 64k -m "$meta" "$fast" "$slow"
	write_chunks 0 20 1
	mkdir "$folder" "$folder/x"
	report "$folder"
	tar -C "$folder/x" --strip-components=1 -xf "$(find "$folder" -name '*.tar*' ! -name '*.sha256' ! -name '*.md5' | head -n 1)"
	cd "$folder/x/sos_commands/dm_tier"
	ls
	grep "$set" tierctl_list
	grep "meta  $meta" tierctl_status
	same "$set" "$(jq -r '.sets[0].name' tierctl_status_--json)" "name in the report as JSON"
	grep "$slow" tierctl_scan
	grep dm_tier_ tierctl_metrics
	grep "tier .* $(majmin "$fast") " dmsetup_table_--target_tier
	same "" "$(grep -l 'no option\|no command\|Usage' -- *)" "commands that were refused"
}
test_case "what sos report has of a set" archive

run_tests
