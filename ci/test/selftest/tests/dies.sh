#!/bin/bash
# A file that dies half way.
echo 1..2
echo "ok 1 works"
kill -SEGV $$
