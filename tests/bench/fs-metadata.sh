#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# shellcheck disable=SC2317	# the cases are called by name
# timeout=900
# steady: it takes long, and figures are to be compared
#
# What metadata_weight does for a file system: find and du over a tree after a cold start, in a set
# whose fast tier the reads of data would fill alone. It prints what is read from the slow tier,
# and of data meanwhile; nothing is held to a limit.
#
#   make check TESTS=bench/fs-metadata N=100000
#
# N: files of the tree, 4000 without it. 100,000 take half an hour, and DM_TIER_TIMEOUT_FACTOR=40.
#
# In each round find and du go through the tree once, with nothing cached, and each chunk of the
# data, which is twice as large as the fast tier, is read ten times.

# shellcheck source=../functional/lib.sh
. "$(dirname "$0")/../functional/lib.sh"
need fio python3 find du mkfs.ext4 mkfs.xfs

files=${N:-4000}
fast_mib=$((files / 1000 + 4))
data_mib=$((fast_mib * 2))
rounds=4
mount=$tmp/mount

# make_tree: fifty files to a folder
make_tree()
{
	python3 - "$mount/tree" "$files" <<-'END'
	import os, sys
	for i in range(int(sys.argv[2])):
	    folder = f"{sys.argv[1]}/{i // 2500}/{i // 50}"
	    if i % 50 == 0:
	        os.makedirs(folder)
	    os.close(os.open(f"{folder}/{i}", os.O_CREAT | os.O_WRONLY))
	END
}

drop_caches() { echo 3 >/proc/sys/vm/drop_caches; }

walk()
{
	drop_caches
	find "$mount/tree" >/dev/null
	drop_caches
	du -s "$mount/tree" >/dev/null
}

# data SEED
data()
{
	fio --name=data --filename="$mount/data" --direct=1 --ioengine=psync --rw=randread --bs=4k \
		--size="${data_mib}m" --number_ios=$((data_mib * 160)) --norandommap \
		--randseed="$1" --output="$tmp/fio"
}

# slow_reads COMMAND...: sets $nr to what it reads from the slow tier
slow_reads()
{
	local before
	before=$(info reads1)
	"$@"
	nr=$(($(info reads1) - before))
}

# measure WEIGHT MKFS...: the same set, tree and load each time
measure()
{
	local weight=$1 i
	shift
	disk meta 8
	disk fast "$fast_mib" irqmode=2 completion_nsec=20000
	disk slow $((data_mib + files / 400 + 320)) irqmode=2 completion_nsec=2000000
	core=(tier0.landing 0)
	policy=heat
	policy_args=(metadata_weight "$weight")
	features=(paused)
	activate
	"$@" "$dev" >/dev/null
	mkdir -p "$mount"
	mount -o noatime "$dev" "$mount"
	make_tree
	dd if=/dev/zero of="$mount/data" bs=1M count="$data_mib" conv=fsync status=none
	sync
	msg resume
	for ((i = 0; i < rounds; i++)); do
		walk
		data "$i"
	done
	wait_for 30 settled
	umount "$mount"
	deactivate
	activate
	mount -o noatime "$dev" "$mount"
	slow_reads walk
	note "$1, metadata_weight $weight: find and du: $nr reads of the slow tier"
	slow_reads data 99
	note "    $((data_mib * 160)) reads of data: $nr of the slow tier"
	umount "$mount"
	deactivate
	disk_gone meta
	disk_gone fast
	disk_gone slow
}

with_and_without()
{
	local weight
	for weight in 0 100 400; do measure "$weight" "$@"; done
}
test_case "find and du on ext4" with_and_without mkfs.ext4 -q -N $((files * 11 / 10 + 100))
test_case "find and du on xfs" with_and_without mkfs.xfs -q

run_tests
