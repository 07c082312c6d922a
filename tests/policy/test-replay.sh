#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# test-replay.sh [TRACES]: results of the heat policy for block traces, as TAP. TRACES is the
# folder of the real traces (cloudphysics.csv.gz, arc_P3.csv.gz); without it those tests are
# skipped.

set -u
here=$(cd "$(dirname "$0")" && pwd)
replay=$here/replay
traces=${1:-}
nr=0
failed=0
tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT
trap 'exit 1' HUP INT TERM

ok() { # RESULT NAME
	nr=$((nr + 1))
	if [ "$1" = 0 ]; then
		echo "ok $nr - $2"
	else
		echo "not ok $nr - $2"
		failed=1
	fi
}

field() { # NAME JSON
	printf '%s\n' "$2" | sed -n "s/.*\"$1\": \([0-9.]*\).*/\1/p"
}

at_most() { # VALUE BOUND
	awk -v a="$1" -v b="$2" 'BEGIN { exit !(a != "" && a <= b) }'
}

# Computes the result of a run only from its log and the model, and checks the budget: prints
# promotions, demotions, pieces on fast, ms per request.
score() { # TRACE LOG
	gzip -dc "$1" | awk -F, -v log_file="$2" '
	function ms(fast, stream, sectors) {
		if (fast)
			return (stream ? 0.02 : 0.09) + sectors * 512e3 / 2e9
		return (stream ? 0.1 : 8) + sectors * 512e3 / 180e6
	}
	function next_line() {
		more = (getline line < log_file) > 0
		split(line, l, " ")
	}
	BEGIN { next_line(); for (i = 0; i < 8; i++) end[i] = 1e18 }
	NR == 1 { next }
	{
		n = NR - 2
		tokens = tokens + 0.02 < 80 ? tokens + 0.02 : 80
		# touches of this request, then its moves
		for (; more && l[1] == n && !(l[2] in tier); next_line())
			tier[l[2]] = l[3]
		stream = 0; match_at = 0
		for (i = 0; i < 8 && !stream; i++)
			if ($3 >= end[i] && $3 - end[i] <= 256) { stream = 1; match_at = i }
		for (i = match_at; i < 7; i++)
			end[i] = end[i + 1]
		end[7] = $3 + $4
		for (s = $3; s < $3 + $4; s = e) {
			c = int(s / 2048)
			e = (c + 1) * 2048 < $3 + $4 ? (c + 1) * 2048 : $3 + $4
			if (!(c in tier)) { print "no place for chunk", c; exit 1 }
			total += ms(tier[c] == 0, stream, e - s)
			fast += tier[c] == 0
			stream = 1
		}
		for (; more && l[1] == n; next_line()) {
			if (!(l[2] in tier) || tier[l[2]] == l[3]) { print "no move:", line; exit 1 }
			tier[l[2]] = l[3]
			moves[l[3]]++
			total += ms(0, 0, 2048) + ms(1, 0, 2048)
			if (--tokens < -1e-6) { print "no token for", line; exit 1 }
		}
	}
	END { printf "%d %d %d %.4f\n", moves[0], moves[1], fast, total / (NR - 1) }'
}

# ---- bad input: one clear line, non-zero exit ----

refused() { # NAME ARGUMENTS...
	name=$1
	shift
	"$replay" "$@" >"$tmp/out" 2>"$tmp/err"
	status=$?
	[ $status -ne 0 ] && [ $status -lt 126 ] && [ ! -s "$tmp/out" ] &&
		[ "$(wc -l <"$tmp/err")" = 1 ]
	ok $? "$name is refused"
}

make_trace() { # NAME; lines on stdin
	{ echo timestamp_ns,op,offset_sectors,len_sectors; cat; } | gzip >"$tmp/$1.csv.gz"
}

echo 0,R,0,8 | make_trace good
printf '0,R,0,8\n1,X,8,8\n' | make_trace operation
printf '0,R,0,8\n1,R,-8,8\n' | make_trace negative
printf '0,R,0,8\n1,R,8\n' | make_trace short
printf '0,R,0,0\n' | make_trace zero
printf '0,R,18446744073709551615,8\n' | make_trace far
: | make_trace empty
awk 'BEGIN { for (i = 0; i < 20000; i++) print i ",R," i * 977 % 65536 ",8" }' | make_trace long
head -c 20000 "$tmp/long.csv.gz" >"$tmp/cut.csv.gz"
refused 'no trace'
refused 'a missing file' "$tmp/nothing"
refused 'a folder' "$tmp"
refused 'a trace without requests' "$tmp/empty.csv.gz"
refused 'a damaged trace' "$tmp/cut.csv.gz"
refused 'an unknown operation' "$tmp/operation.csv.gz"
refused 'a negative offset' "$tmp/negative.csv.gz"
refused 'a missing field' "$tmp/short.csv.gz"
refused 'an empty request' "$tmp/zero.csv.gz"
refused 'an offset out of range' "$tmp/far.csv.gz"
refused 'a chunk size that is no power of two' "$tmp/good.csv.gz" --chunk-kib 1000
refused 'a share over 100%' "$tmp/good.csv.gz" --fast-percent 101
refused 'a model of five numbers' "$tmp/good.csv.gz" --model 1,2,3,4,5
refused 'an unknown policy' "$tmp/good.csv.gz" --policy lru
refused 'an unknown tunable' "$tmp/good.csv.gz" --set heat=1
refused 'a tunable out of range' "$tmp/good.csv.gz" --set headroom=51
refused 'a negative rate' "$tmp/good.csv.gz" --iops -1
refused 'a log that cannot be written' "$tmp/good.csv.gz" --log "$tmp/no/log"
"$replay" "$tmp/good.csv.gz" --json >/dev/null
ok $? 'one request is a trace'

# ---- loads without gain: never 1% worse than without migrations ----

never_worse() { # NAME TRACE PERCENT MOVES...
	name=$1 file=$2 percent=$3
	shift 3
	never=$("$replay" "$file" --fast-percent "$percent" --policy static --json)
	never=$(field service_ms_per_request "$never")
	for moves; do
		got=$("$replay" "$file" --fast-percent "$percent" --moves-per-1000 "$moves" --json)
		got=$(field service_ms_per_request "$got")
		at_most "$got" "$(awk -v x="$never" 'BEGIN { print x * 1.01 }')"
		ok $? "$name, $percent%, $moves moves: $got ms, $never without migration"
	done
}

# awk statements that print request i over 1000 chunks
load_of() {
	case $1 in
	uniform) echo 'print i ",R," int(rand() * 256000) * 8 ",8"' ;;
	scan) echo 'print i ",R," i * 256 % 2048000 ",256"' ;;
	writes) echo 'print i ",W," i * 64 % 2048000 ",64"' ;;
	scan_and_hot) echo 'if (rand() < 0.5)
			print i ",R," 2048000 - (1 + int(rand() * 25600)) * 8 ",8"
		else
			print i ",R," i * 128 % 2048000 ",128"' ;;
	esac
}

for load in uniform scan writes scan_and_hot; do
	awk "BEGIN { srand(1); for (i = 0; i < 100000; i++) { $(load_of $load) } }" |
		make_trace $load
	for percent in 5 10 20 40; do
		never_worse $load "$tmp/$load.csv.gz" $percent 4 20 100 1000
	done
done

# ---- synthetic traces that are the same everywhere: 3% above what was measured ----

sata=20,0.06,0.3,500	# tiers between the two: share of the chunks, then as --model
disk=30,0.1,4,250
# trace, percent; ms at most with two, three and four tiers
synthetic='
zipf          10 3.265 2.080 1.620
zipf          20 2.493 1.675 1.267
uniform       10 7.468 5.879 4.654
uniform       20 6.642 5.060 3.829
shifting      10 3.485 2.693 2.122
shifting      20 2.677 1.881 1.322
scan-over-hot 10 0.320 0.251 0.226
scan-over-hot 20 0.254 0.214 0.194
write-once    10 0.719 0.368 0.301
write-once    20 0.355 0.319 0.257
diurnal       10 2.662 1.192 0.733
diurnal       20 1.703 0.704 0.459
database-log  10 1.899 1.241 0.959
database-log  20 1.465 1.014 0.763
server        10 3.397 1.625 1.348
server        20 2.251 1.082 0.850
regions       10 2.393 1.340 1.075
regions       20 1.640 1.003 0.794'

# Each replay's name, ms and bound.
measure() { # REPLAY
	while read -r trace percent two three four; do
		[ -n "$trace" ] || continue
		[ -f "$tmp/made-$trace.csv.gz" ] ||
			"$here/make-trace" "$trace" | gzip -1 >"$tmp/made-$trace.csv.gz"
		for tiers in "2 $two" "3 $three --middle $sata" \
			"4 $four --middle $sata --middle $disk"; do
			# shellcheck disable=SC2086 # the options are words
			set -- "$1" $tiers
			binary=$1 nr_tiers=$2 most=$3
			shift 3
			got=$("$binary" "$tmp/made-$trace.csv.gz" --fast-percent "$percent" \
				"$@" --json)
			echo "$trace,$percent%,$nr_tiers $(field service_ms_per_request "$got") $most"
			set -- "$binary"
		done
	done <<-END
	$synthetic
	END
}

measure "$replay" >"$tmp/measured"
while read -r what ms most; do
	at_most "$ms" "$most"
	ok $? "$what tiers: $ms ms, at most $most"
done <"$tmp/measured"

# Whatever the budget, never migrating is not better; what is left is what the first moves cost.
while read -r trace percent _; do
	[ -n "$trace" ] || continue
	for percent in "$percent" "$((percent * 2))"; do
		never_worse "$trace" "$tmp/made-$trace.csv.gz" "$percent" 4 100
	done
done <<END
$(echo "$synthetic" | grep ' 20 ')
END

# The bounds are there to catch a policy that chooses badly.
measure "$here/replay-hottest" >"$tmp/hottest"
missed=$(awk '$2 > $3' "$tmp/hottest" | wc -l)
[ "$missed" -ge 5 ]
ok $? "with the hottest of the pool as victim bounds are missed ($missed)"

part_of_all() {
	printf '%s\n' "$1" | awk -F'[:,{}]' '{
		for (i = 1; i < NF; i++) {
			if ($i ~ /service_ms_per_request/) all = $(i + 1)
			if ($i ~ /"(reads|writes|first_writes|moves)"/) sum += $(i + 1)
		}
		d = all - sum
		exit !(all > 0 && d * d < 1e-10)
	}'
}
part_of_all "$("$replay" "$tmp/made-server.csv.gz" --json)"
ok $? 'reads, writes, first writes and moves make the service'

# ---- other policies, to compare with ----

while read -r rival most; do
	got=$("$replay" "$tmp/made-diurnal.csv.gz" --rival "$rival" --json)
	at_most "$(field service_ms_per_request "$got")" "$most"
	ok $? "$rival finds what is hot: $(field service_ms_per_request "$got") ms, at most $most"
done <<END
lru 3.53
smq 2.65
s3fifo 3.64
clairvoyant 2.24
END
refused 'an unknown rival' "$tmp/good.csv.gz" --rival mru
refused 'another policy with three tiers' "$tmp/good.csv.gz" --rival lru --middle $sata
refused 'a tier of three numbers' "$tmp/good.csv.gz" --middle 20,1,1

# ---- bursts, as the trace's own times have them ----

got=$("$replay" "$tmp/made-diurnal.csv.gz" --iops trace --json)
at_most "$(field service_ms_per_request "$got")" 2.9
ok $? "accesses are noted at the trace's own times: $(field service_ms_per_request "$got") ms"

# ---- a hot set that moves must be followed ----

awk 'BEGIN {
	srand(2)
	for (i = 0; i < 100000; i++) {
		c = rand() < 0.9 ? int(rand() * 50) + int(i / 25000) * 200 : int(rand() * 1000)
		print i ",R," (c * 256 + int(rand() * 256)) * 8 ",8"
	}
}' | make_trace moving
static=$("$replay" "$tmp/moving.csv.gz" --policy static --json)
heat=$("$replay" "$tmp/moving.csv.gz" --json)
at_most "$(field service_ms_per_request "$heat")" \
	"$(awk -v x="$(field service_ms_per_request "$static")" 'BEGIN { print x / 2 }')"
ok $? 'a hot set that moves is followed: half the time of never migrating'
for iops in 8000 20000 100000; do
	heat=$("$replay" "$tmp/moving.csv.gz" --iops $iops --json)
	heat=$(field service_ms_per_request "$heat")
	at_most "$heat" \
		"$(awk -v x="$(field service_ms_per_request "$static")" 'BEGIN { print x / 2 }')"
	ok $? "the same at $iops a second, of which 8000 are noted: $heat ms"
done

# ---- the real traces ----

# trace, percent, never migrate: hit and ms; the heat policy: ms at most
bounds='
cloudphysics 5  -    -    1.81
cloudphysics 10 .170 2.50 1.25
cloudphysics 20 .234 2.32 0.81
cloudphysics 40 -    -    0.46
arc_P3       5  -    -    2.57
arc_P3       10 .202 3.99 1.52
arc_P3       20 .288 3.63 0.78
arc_P3       40 -    -    0.34'

if [ -z "$traces" ]; then
	echo "test-replay: NO FOLDER OF TRACES GIVEN: the real traces are not replayed" >&2
	nr=$((nr + 1))
	echo "ok $nr - real traces # SKIP no folder of traces given"
else
	while read -r trace percent hit never most; do
		[ -n "$trace" ] || continue
		file=$traces/$trace.csv.gz
		if [ "$hit" != - ]; then
			got=$("$replay" "$file" --fast-percent "$percent" --policy static --json)
			awk -v p="$(field pieces "$got")" -v f="$(field fast_pieces "$got")" \
				-v ms="$(field service_ms_per_request "$got")" -v hit="$hit" -v never="$never" \
				'BEGIN { d = f / p - hit; e = ms - never
					 exit !(d * d < 1e-6 && e * e < 6e-5) }'
			ok $? "$trace, $percent%: without migration $hit hits, $never ms"
		fi
		got=$("$replay" "$file" --fast-percent "$percent" --json --log "$tmp/log")
		ms=$(field service_ms_per_request "$got")
		at_most "$ms" "$most"
		ok $? "$trace, $percent%: $ms ms, at most $most"
		scored=$(score "$file" "$tmp/log")
		[ "$scored" = "$(field promotions "$got") $(field demotions "$got") $(field fast_pieces "$got") $(printf %.4f "$ms")" ]
		ok $? "$trace, $percent%: its log scores the same and keeps to the budget"
	done <<-END
	$bounds
	END
fi

echo "1..$nr"
exit $failed
