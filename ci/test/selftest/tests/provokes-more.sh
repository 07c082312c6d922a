#!/bin/bash
# provokes: made-up fault
#
# The same, followed by another one.
echo 1..1
for line in "made-up fault (a test of the test runner)" "Call Trace:" "</TASK>" "Call Trace:"; do
	echo "$line" >/dev/kmsg
done
echo "ok 1 works"
