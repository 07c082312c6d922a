#!/bin/bash
# expects: BUG: made-up line
#
# The same, followed by another one.
echo 1..1
for line in "made-up line" "another one"; do
	echo "BUG: $line (a test of the test runner)" >/dev/kmsg
done
echo "ok 1 works"
