#!/bin/bash
# timeout=2
# A file that does not end.
echo 1..1
sleep 300
echo "ok 1 works"
