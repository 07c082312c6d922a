#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# The report and the names that tests/bench/run takes, without a guest.
set -u
cd "$(dirname "$0")" || exit 1
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
n=0 failed=0

# point DESCRIPTION COMMAND...
point()
{
	local what=$1 not=''
	shift
	n=$((n + 1))
	"$@" >"$tmp/said" 2>&1 || { not='not ' failed=1; sed 's/^/# /' "$tmp/said"; }
	echo "${not}ok $n - $what"
}

# shellcheck disable=SC2317	# called by point
# refused TEXT COMMAND...: fails, and all it says is one line with TEXT
refused()
{
	local text=$1 said
	shift
	! said=$("$@" 2>&1) && [ "$(wc -l <<<"$said")" = 1 ] && grep -qF -- "$text" <<<"$said"
}

# cell ROUND TARGET JOB PASS IOPS BYTES
cell()
{
	printf '{"round": %d, "target": "%s", "job": "%s", "pass": "%s", "iops": %s, "p50_us": 1.5, "p99_us": 9, ' "${@:1:5}"
	printf '"seconds": 2.0, "bytes_written": {"meta": 0, "fast": %d, "slow": 0}}' "$6"
}

results=$tmp/6.1
mkdir "$results"
# Ratios of a round 0.5, 0.9 and 0.6; of medians it would be 0.9.
for round in '1 100 50' '2 1000 900' '3 1500 900'; do
	read -r round fast tier <<<"$round"
	echo "[$(cell "$round" fast first 'write 128k' "$fast" 100)]" >"$results/$round.fast.json"
	echo "[$(cell "$round" tier first 'write 128k' "$tier" 200), $(cell "$round" tier published 'first read' 7 0)," \
		"$(cell "$round" tier published 'again read' 8 0), $(cell "$round" tier published 'first write' 7 0)," \
		"$(cell "$round" dm-cache published 'first write' 10 0), $(cell "$round" tier-64k shift moves null 0)]" >"$results/$round.tier.json"
done

point "report.py" ./report.py 6.1.0-1 "$results" "$tmp"
cp "$tmp/said" "$tmp/printed"
point "the median of the rounds' ratios, and that it falls short" \
	grep -qE '0\.60 ≥ 0\.95 +first write 128k, against dm-linear +SHORT OF IT' "$tmp/printed"
point "the least that a moved hot set takes, of small chunks" \
	grep -qE '2\.00 ≤ 43\.9 +hot set .* tier-64k: .* least: 3 accesses of 1024 chunks, 21\.9 s; .* the swaps themselves, 15\.6 s$' "$tmp/printed"
point "bench.json is as README.md says" jq -e '
	.kernel == "6.1.0-1" and (.results | length) == 21 and
	all(.results[]; keys == ["bytes_written", "iops", "job", "p50_us", "p99_us", "pass", "round", "seconds", "target"])
	' "$tmp/bench.json"
point "the page is well-formed, with pictures" /usr/bin/python3 - "$tmp/report.html" <<'EOP'
import sys
from html.parser import HTMLParser

class Page(HTMLParser):
    opened, svg = [], 0

    def handle_starttag(self, tag, attrs):
        if tag != "meta":
            self.opened.append(tag)
        self.svg += tag == "svg"
        assert not {"src", "href"} & {k for k, _ in attrs}, "the page wants something else"

    def handle_endtag(self, tag):
        assert self.opened.pop() == tag, tag

page = Page()
page.feed(open(sys.argv[1]).read())
assert not page.opened and page.svg == 5, (page.opened, page.svg)
EOP
point "why it falls short, beside what does alone" \
	[ "$(grep -o '>[^>]*</td><td class="why">half of' "$tmp/report.html")" = '>≥ 0.9</td><td class="why">half of' ]
printf 'before\n<!-- make bench: begins -->\nold\n<!-- make bench: ends -->\nafter\n' >"$tmp/README"
point "README's table" ./report.py --readme "$tmp/bench.json" "$tmp/README"
point "nothing else of README changes" [ "$(sed -n '1p;$p' "$tmp/README")" = $'before\nafter' ]
point "one row for a target" grep -qF '| tier | 7 / 8 |' "$tmp/README"
point "a target that there is not" refused 'TARGETS: no ssd; there are fast slow' ./guest.py --check TARGETS 'tier ssd'
point "a job that there is not" refused 'JOBS: no fsck; there are' ./guest.py --check JOBS fsck
point "nothing measured" refused 'nothing was measured' ./report.py 6.1 "$tmp/empty" "$tmp"
point "what is measured already" ./guest.py --missing "$results" 1 'tier' 'first zipf'
point "all is" refused '' ./guest.py --missing "$results" 1 'tier fast' 'first'
echo "1..$n"
exit $failed
