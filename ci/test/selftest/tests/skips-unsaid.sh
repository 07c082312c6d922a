#!/bin/bash
# Looks like a skip, but does not say so: it may have died on its way.
exit 4
