#!/bin/bash
# expects: BUG: made-up line
#
# A line in the kernel log that the file is after, which shows no stack.
echo 1..1
echo "BUG: made-up line (a test of the test runner)" >/dev/kmsg
echo "ok 1 works"
