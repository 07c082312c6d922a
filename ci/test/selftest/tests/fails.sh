#!/bin/bash
# A failed point.
echo 1..2
echo "ok 1 works"
echo "not ok 2 does not work"
exit 1
