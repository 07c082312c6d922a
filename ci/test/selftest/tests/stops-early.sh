#!/bin/bash
# Fewer points than planned, and content with it.
echo 1..3
echo "ok 1 works"
echo "ok 2 works"
