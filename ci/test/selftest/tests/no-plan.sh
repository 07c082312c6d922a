#!/bin/bash
# Nobody knows how many points there should have been.
echo "ok 1 works"
