#!/bin/bash
# A whole file that cannot run here.
echo "1..0 # SKIP nothing to test with"
exit 4
