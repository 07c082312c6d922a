#!/bin/bash
# A process that outlives the file.
echo 1..1
sleep 300 &
echo "ok 1 works"
