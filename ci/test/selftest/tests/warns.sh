#!/bin/bash
# Something bad in the kernel log.
echo 1..1
echo "WARNING: CPU: 0 PID: 1 at drivers/md/nothing.c:1 (a test of the test runner)" >/dev/kmsg
echo "ok 1 works"
