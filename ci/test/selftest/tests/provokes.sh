#!/bin/bash
# provokes: made-up fault
#
# A report in the kernel log that the file is after.
echo 1..1
for line in "made-up fault (a test of the test runner)" "Call Trace:" "</TASK>"; do
	echo "$line" >/dev/kmsg
done
echo "ok 1 works"
