// SPDX-License-Identifier: GPL-2.0-only
/*
 * Replays a block trace through the heat engine or another policy, against a model of exclusive
 * tiers, and prints the cost. The engine is the same file that the kernel module is built from.
 *
 * A trace is gzip'd text: a header line, then one request a line,
 * timestamp_ns,op(R|W),offset_sectors,len_sectors.
 */
#include <errno.h>
#include <getopt.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <zlib.h>

#include "heat/engine.h"
#include "rivals.h"
#include "sampling.h"
#include "stream.h"

#define SECTOR_SIZE	512
#define STREAMS		8
#define STREAM_GAP	256	/* sectors */

#define FAST		0

/* What the service consists of. */
enum { READS, WRITES, FIRST_WRITES, MOVES, NR_PARTS };

static const char * const part_names[NR_PARTS] = { "reads", "writes", "first_writes", "moves" };

struct request {
	uint64_t stamp_ns;
	uint64_t sector;
	uint32_t sectors;
	bool write;
};

/* Service of a piece on a tier: ms per access, bytes per second. */
struct model {
	double stream_ms;
	double random_ms;
	double bytes_per_s;
	double percent;		/* of the chunks; but for the slowest */
};

/* A move under way: its data arrives at that request. */
struct transit {
	struct tier_move move;
	unsigned int from;
	size_t arrives;
};

struct replay {
	const char *trace;
	struct request *requests;
	size_t nr_requests;

	uint32_t chunk_sectors;
	uint64_t nr_chunks;
	struct model model[TIER_MAX_TIERS];	/* the slowest is the last one */
	double moves_per_1000;
	size_t delay;		/* requests that a move takes */
	double iops;		/* requests a second, 0 = so few that all are noted */
	bool stamps;		/* requests come at the trace's own times */
	const char *policy;
	bool is_static;
	const struct rival *rival;	/* NULL: the heat engine */
	struct rivals rivals;
	FILE *log;

	uint8_t *rank;		/* by chunk, TIER_NOWHERE = never touched */
	uint8_t *moving;
	uint32_t *heat;
	struct tier_view tiers[TIER_MAX_TIERS];
	unsigned int nr_tiers;
	uint64_t random;
	struct tier_policy engine;
	bool was_full[TIER_MAX_TIERS];
	enum tier_lands lands;	/* first writes that may land on a tier but the slowest */
	struct tier_streams first_writes;
	uint64_t streams[STREAMS];

	struct transit transits[HEAT_FLIGHTS];
	unsigned int nr_transits;

	/* What is noted, as one CPU does it, and when the policy sees it. */
	struct tier_access noted[TIER_LONGEST_WINDOW];
	unsigned int nr_noted, window;
	uint32_t made;		/* accesses since the window was opened */
	double look_ms, opened_ms;

	uint64_t pieces, fast_pieces, promotions, demotions, distinct;
	double ms[NR_PARTS], tokens;
};

static void die(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	fprintf(stderr, "replay: ");
	vfprintf(stderr, format, args);
	fputc('\n', stderr);
	va_end(args);
	exit(1);
}

static void *allocate(size_t nr, size_t size)
{
	void *p = calloc(nr ? nr : 1, size);

	if (!p)
		die("out of memory");
	return p;
}

/* ---- the trace ---- */

static bool parse_number(const char **s, char end, uint64_t *value)
{
	char *tail;

	if (**s < '0' || **s > '9')
		return false;
	errno = 0;
	*value = strtoull(*s, &tail, 10);
	if (errno || *tail != end)
		return false;
	*s = tail + 1;
	return true;
}

static bool parse_request(const char *s, struct request *r)
{
	uint64_t sectors;

	if (!parse_number(&s, ',', &r->stamp_ns))
		return false;
	if ((s[0] != 'R' && s[0] != 'W') || s[1] != ',')
		return false;
	r->write = s[0] == 'W';
	s += 2;
	if (!parse_number(&s, ',', &r->sector) || !parse_number(&s, '\0', &sectors))
		return false;
	r->sectors = sectors;
	return sectors && sectors <= UINT32_MAX && r->sector <= 1ULL << 56;
}

static void read_trace(struct replay *r, const char *path)
{
	size_t room = 0, line_nr = 0;
	gzFile f = gzopen(path, "rb");
	char line[256];
	int error;

	if (!f)
		die("%s: cannot open", path);
	while (gzgets(f, line, sizeof(line))) {
		size_t length = strlen(line);

		while (length && (line[length - 1] == '\n' || line[length - 1] == '\r'))
			line[--length] = '\0';
		if (!line_nr++)
			continue;
		if (r->nr_requests == room) {
			room = room ? 2 * room : 65536;
			r->requests = realloc(r->requests, room * sizeof(*r->requests));
			if (!r->requests)
				die("out of memory");
		}
		if (!parse_request(line, &r->requests[r->nr_requests]))
			die("%s: line %zu is not timestamp_ns,R|W,offset_sectors,len_sectors",
			    path, line_nr);
		r->nr_requests++;
	}
	gzerror(f, &error);
	if (error != Z_OK && error != Z_STREAM_END)
		die("%s: cannot read: damaged or cut short", path);
	if (gzclose(f) != Z_OK)
		die("%s: cannot read: damaged or cut short", path);
	if (!r->nr_requests)
		die("%s: no requests", path);
	r->trace = path;
}

/* ---- the target, as the engine sees it ---- */

static unsigned int where(void *context, u32 chunk)
{
	struct replay *r = context;

	return r->moving[chunk] ? TIER_NOWHERE : r->rank[chunk];
}

/* splitmix64 (Steele, Lea, Flood 2014) */
static u32 uniform(void *context, u32 ceiling)
{
	struct replay *r = context;
	uint64_t z = r->random += 0x9e3779b97f4a7c15;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
	z = (z ^ z >> 27) * 0x94d049bb133111eb;
	z ^= z >> 31;
	return ((z >> 32) * ceiling) >> 32;
}

static void set_up(struct replay *r, double fast_percent)
{
	/* Only the latency guard asks for it, and there is none here. */
	static const u64 now_ns;
	struct tier_policy_env env = {
		.context = r,
		.where = where,
		.random = uniform,
		.tiers = r->tiers,
		.nr_tiers = &r->nr_tiers,
		.now_ns = &now_ns,
		.chunk_sectors = r->chunk_sectors,
	};
	unsigned int i;

	for (size_t n = 0; n < r->nr_requests; n++) {
		uint64_t end = r->requests[n].sector + r->requests[n].sectors;
		uint64_t chunks = (end + r->chunk_sectors - 1) / r->chunk_sectors;

		if (chunks > r->nr_chunks)
			r->nr_chunks = chunks;
	}
	if (r->nr_chunks > TIER_MAX_CHUNKS)
		die("%s: offsets take more than 2^32 - 1 chunks", r->trace);

	r->rank = allocate(r->nr_chunks, 1);
	r->moving = allocate(r->nr_chunks, 1);
	r->heat = allocate(r->nr_chunks, sizeof(*r->heat));
	for (size_t n = 0; n < r->nr_requests; n++) {
		uint64_t end = r->requests[n].sector + r->requests[n].sectors;
		uint64_t c = r->requests[n].sector / r->chunk_sectors;

		for (; c * r->chunk_sectors < end; c++) {
			r->distinct += !r->rank[c];
			r->rank[c] = TIER_NOWHERE;
		}
	}
	/* Chunks that the trace never touches are not mapped. */
	memset(r->rank, TIER_NOWHERE, r->nr_chunks);

	r->model[FAST].percent = fast_percent;
	for (i = 0; i + 1 < r->nr_tiers; i++) {
		uint64_t k = r->model[i].percent * r->distinct / 100;

		r->tiers[i].places = k ? k : 1;
	}
	r->tiers[i].places = r->distinct;
	for (i = 0; i < r->nr_tiers; i++) {
		struct tier_view *t = &r->tiers[i];
		double chunk_ms = r->chunk_sectors * SECTOR_SIZE * 1e3 /
				  r->model[i].bytes_per_s;

		t->free = t->places;
		t->open = true;
		t->random_ns = r->model[i].random_ms * 1e6;
		t->stream_ns = r->model[i].stream_ms * 1e6;
		t->chunk_ns = chunk_ms * 1e6 < UINT32_MAX ? chunk_ms * 1e6 : UINT32_MAX;
	}
	for (i = 0; i < STREAMS; i++)
		r->streams[i] = UINT64_MAX;
	tier_streams_init(&r->first_writes);
	r->random = 1;
	env.held = allocate(TIER_NR_HOLDS, sizeof(*env.held));
	env.changed = allocate(r->nr_chunks / TIER_HEAT_PER_BLOCK + 1, 1);
	heat_engine_init(&r->engine, &env, r->heat, r->nr_chunks);
}

static unsigned int slow(const struct replay *r)
{
	return r->nr_tiers - 1;
}

/* ---- the model ---- */

static double service_ms(const struct model *m, bool stream, uint64_t sectors)
{
	return (stream ? m->stream_ms : m->random_ms) +
	       sectors * SECTOR_SIZE * 1e3 / m->bytes_per_s;
}

static void place(struct replay *r, size_t request, uint64_t chunk, unsigned int rank)
{
	r->rank[chunk] = rank;
	if (r->log)
		fprintf(r->log, "%zu %llu %u\n", request, (unsigned long long)chunk, rank);
}

static void first_touch(struct replay *r, size_t request, uint64_t chunk, bool write)
{
	bool stream = tier_in_stream(&r->first_writes, chunk);
	unsigned int rank = 0;

	if (write) {
		if (r->lands == (stream ? TIER_LANDS_RANDOM : TIER_LANDS_STREAMS))
			rank = slow(r);
		tier_note_in_stream(&r->first_writes, chunk);
	}
	while (rank < slow(r) && !(r->tiers[rank].free && (write || !r->was_full[rank])))
		rank++;
	r->tiers[rank].free--;
	if (!r->tiers[rank].free)
		r->was_full[rank] = true;
	place(r, request, chunk, rank);
}

/* If a request continues several streams, the oldest counts. */
static bool continues_stream(struct replay *r, const struct request *q)
{
	bool found = false;
	int i, match = 0;

	for (i = 0; i < STREAMS && !found; i++) {
		found = q->sector >= r->streams[i] && q->sector - r->streams[i] <= STREAM_GAP;
		if (found)
			match = i;
	}
	memmove(r->streams + match, r->streams + match + 1,
		(STREAMS - 1 - match) * sizeof(r->streams[0]));
	r->streams[STREAMS - 1] = q->sector + q->sectors;
	return found;
}

/* As the target does; see sampling.h. */
static void look(struct replay *r, double now_ms)
{
	bool closed = r->nr_noted == r->window;
	struct tier_weights w;
	unsigned int i;

	r->look_ms = now_ms + TIER_OBSERVE_MS;
	heat_engine_tick(&r->engine);
	if (closed && now_ms - r->opened_ms < tier_window_rest_ms(r->nr_noted))
		return;
	tier_weights_begin(&w, r->nr_noted, r->nr_noted, closed ? r->made : 0);
	for (i = 0; i < r->nr_noted; i++)
		r->noted[i].weight = tier_next_weight(&w);
	heat_engine_observe(&r->engine, r->noted, r->nr_noted);
	r->nr_noted = r->made = 0;
	r->opened_ms = now_ms;
}

static void observe(struct replay *r, const struct tier_access *a)
{
	if (!r->iops) {
		heat_engine_observe(&r->engine, a, 1);
		return;
	}
	r->made++;
	if (r->nr_noted < r->window)
		r->noted[r->nr_noted++] = *a;
}

/* What the access costs less on the fast tier. */
static double saving_ms(const struct replay *r, bool stream, uint64_t sectors)
{
	return service_ms(&r->model[slow(r)], stream, sectors) -
	       service_ms(&r->model[FAST], stream, sectors);
}

static void serve(struct replay *r, size_t request)
{
	const struct request *q = &r->requests[request];
	uint64_t sector = q->sector, end = q->sector + q->sectors;
	bool stream = continues_stream(r, q);

	while (sector < end) {
		uint64_t chunk = sector / r->chunk_sectors;
		uint64_t border = (chunk + 1) * r->chunk_sectors;
		unsigned int part;
		struct tier_access a = {
			.sector = sector,
			.sectors = (border < end ? border : end) - sector,
			.weight = 1,
			.write = q->write,
		};

		part = q->write ? WRITES : READS;
		if (r->rank[chunk] == TIER_NOWHERE) {
			first_touch(r, request, chunk, q->write);
			if (q->write)
				part = FIRST_WRITES;
		}
		r->pieces++;
		r->fast_pieces += r->rank[chunk] == FAST;
		r->ms[part] += service_ms(&r->model[r->rank[chunk]], stream, a.sectors);
		if (r->rival)
			rivals_accessed(&r->rivals, r->rival, chunk);
		else if (!r->is_static)
			observe(r, &a);
		stream = true;
		sector += a.sectors;
	}
}

/* A move takes its destination at once and frees its source when it arrives. */
static void begin_move(struct replay *r, size_t request, const struct tier_move *move)
{
	unsigned int from = r->rank[move->chunk];

	if (move->chunk >= r->nr_chunks || from >= r->nr_tiers || move->to >= r->nr_tiers ||
	    from == move->to || r->moving[move->chunk] || !r->tiers[move->to].free)
		die("the policy proposed an impossible move: chunk %u to %u",
		    move->chunk, move->to);
	r->tokens--;
	r->tiers[move->to].free--;
	r->moving[move->chunk] = 1;
	*(move->to < from ? &r->promotions : &r->demotions) += 1;
	r->ms[MOVES] += service_ms(&r->model[from], false, r->chunk_sectors) +
			service_ms(&r->model[move->to], false, r->chunk_sectors);
	r->transits[r->nr_transits++] = (struct transit){
		.move = *move, .from = from, .arrives = request + r->delay,
	};
}

static void end_moves(struct replay *r, size_t request)
{
	unsigned int i = 0;

	while (i < r->nr_transits) {
		struct transit t = r->transits[i];

		if (t.arrives > request) {
			i++;
			continue;
		}
		memmove(&r->transits[i], &r->transits[i + 1],
			(--r->nr_transits - i) * sizeof(t));
		r->moving[t.move.chunk] = 0;
		place(r, request, t.move.chunk, t.move.to);
		r->tiers[t.from].free++;
		if (!r->tiers[t.move.to].free)
			r->was_full[t.move.to] = true;
		if (!r->rival)
			heat_engine_done(&r->engine, &t.move, true);
	}
}

/* A move of another policy than the engine: its data is there at once. */
static void move_now(struct replay *r, size_t request, uint32_t chunk, unsigned int to)
{
	begin_move(r, request, &(struct tier_move){ .chunk = chunk, .to = to });
	end_moves(r, request);
}

/* Swap the chunks of the request that another policy wants on the fast tier. */
static void swap(struct replay *r, size_t request)
{
	const struct request *q = &r->requests[request];
	uint64_t end = q->sector + q->sectors, chunk = q->sector / r->chunk_sectors;

	for (; chunk * r->chunk_sectors < end; chunk++) {
		uint32_t victim = RIVALS_NO_VICTIM;

		if (r->rank[chunk] == FAST || r->tokens < 2)
			continue;
		if (!r->tiers[FAST].free)
			victim = rivals_victim(&r->rivals, r->rival);
		if (!r->rival->wants(&r->rivals, chunk, victim))
			continue;
		if (victim != RIVALS_NO_VICTIM)
			move_now(r, request, victim, slow(r));
		move_now(r, request, chunk, FAST);
		r->rival->swapped(&r->rivals, chunk, victim);
	}
}

/* Tell a policy that knows the future all of it. */
static void foresee(struct replay *r)
{
	size_t nr = 0, room = r->nr_requests;
	uint32_t *chunks;
	double *savings;

	for (size_t n = 0; n < r->nr_requests; n++)
		room += r->requests[n].sectors / r->chunk_sectors + 1;
	chunks = allocate(room, sizeof(*chunks));
	savings = allocate(room, sizeof(*savings));
	for (size_t n = 0; n < r->nr_requests; n++) {
		uint64_t s = r->requests[n].sector, end = s + r->requests[n].sectors;
		bool stream = continues_stream(r, &r->requests[n]);

		for (; s < end; stream = true) {
			uint64_t chunk = s / r->chunk_sectors;
			uint64_t border = (chunk + 1) * r->chunk_sectors;
			uint64_t sectors = (border < end ? border : end) - s;

			chunks[nr] = chunk;
			savings[nr++] = saving_ms(r, stream, sectors);
			s += sectors;
		}
	}
	memset(r->streams, 0xff, sizeof(r->streams));
	rivals_foresee(&r->rivals, chunks, savings, nr);
	free(chunks);
	free(savings);
}

static double now_ms(const struct replay *r, size_t request)
{
	if (r->stamps)
		return (r->requests[request].stamp_ns - r->requests[0].stamp_ns) / 1e6;
	return request * 1000 / r->iops;
}

static void run(struct replay *r)
{
	double per_request = r->moves_per_1000 / 1000;
	double cap = 4 * r->moves_per_1000 > 64 ? 4 * r->moves_per_1000 : 64;
	struct tier_move move;

	for (size_t n = 0; n < r->nr_requests; n++) {
		r->tokens = r->tokens + per_request < cap ? r->tokens + per_request : cap;
		end_moves(r, n);
		serve(r, n);
		if (r->is_static)
			continue;
		if (r->rival) {
			swap(r, n);
			continue;
		}
		if (r->iops && now_ms(r, n) >= r->look_ms)
			look(r, now_ms(r, n));
		while (r->tokens >= 1 && r->nr_transits < HEAT_FLIGHTS &&
		       heat_engine_next(&r->engine, r->tokens, cap, &move)) {
			begin_move(r, n, &move);
			if (!r->delay)
				end_moves(r, n);
		}
	}
}

/* ---- the command ---- */

static const char usage[] =
"usage: replay TRACE.csv.gz [options]\n"
"  --chunk-kib N         chunk size, a power of two, 64..1048576 (1024)\n"
"  --fast-percent P      fast tier, percent of the chunks the trace touches (10)\n"
"  --moves-per-1000 N    migration budget, chunks per 1000 requests (20)\n"
"  --model a,b,c,d,e,f   slow tier: sequential ms, random ms, MB/s; fast tier\n"
"                        likewise, GB/s (0.1,8,180,0.02,0.09,2)\n"
"  --middle P,a,b,c      one more tier before the slow one, P percent of the chunks:\n"
"                        sequential ms, random ms, MB/s; again for the next slower\n"
"  --log FILE            a line <request> <chunk> <tier> for each placement\n"
"  --json                print JSON (default: a line of text)\n"
"  --policy heat|static  static moves nothing (heat)\n"
"  --rival NAME          another policy, for two tiers: lru, smq, s3fifo, clairvoyant\n"
"  --delay N             a move takes N requests (0)\n"
"  --iops N              N requests a second on one CPU, of which the policy sees\n"
"                        as many as the kernel notes, so that of bursts some are\n"
"                        dropped; trace: at the trace's own times (0: all)\n"
"  --landing WHICH       first writes that do not go to the slowest tier: all, random,\n"
"                        sequential (all)\n"
"  --set KEY=VALUE       a tunable of the policy\n";

static void bad_usage(const char *what, const char *value)
{
	fprintf(stderr, "replay: %s: %s; see --help\n", what, value);
	exit(2);
}

static double parse_double(const char *option, const char *s, double min, double max)
{
	char *end;
	double value = strtod(s, &end);

	if (end == s || *end || !(value >= min && value <= max))
		bad_usage(option, s);
	return value;
}

static void parse_model(struct replay *r, const char *s)
{
	double v[6];
	int used = 0, i;

	if (sscanf(s, "%lf,%lf,%lf,%lf,%lf,%lf%n", &v[0], &v[1], &v[2], &v[3], &v[4],
		   &v[5], &used) != 6 || s[used])
		bad_usage("--model", s);
	for (i = 0; i < 6; i++)
		if (!(v[i] >= 0 && v[i] <= 4000) || (i % 3 == 2 && v[i] < 1e-3))
			bad_usage("--model", s);
	r->model[slow(r)] = (struct model){ v[0], v[1], v[2] * 1e6, 0 };
	r->model[FAST] = (struct model){ v[3], v[4], v[5] * 1e9, 0 };
}

static void add_middle(struct replay *r, const char *s)
{
	struct model m;
	int used = 0;

	if (sscanf(s, "%lf,%lf,%lf,%lf%n", &m.percent, &m.stream_ms, &m.random_ms,
		   &m.bytes_per_s, &used) != 4 || s[used] ||
	    !(m.percent >= 0 && m.percent <= 100) || !(m.stream_ms >= 0 && m.stream_ms <= 4000) ||
	    !(m.random_ms >= 0 && m.random_ms <= 4000) ||
	    !(m.bytes_per_s >= 1e-3 && m.bytes_per_s <= 1e6))
		bad_usage("--middle", s);
	if (r->nr_tiers == TIER_MAX_TIERS)
		bad_usage("--middle: too many tiers", s);
	m.bytes_per_s *= 1e6;
	r->model[r->nr_tiers] = r->model[slow(r)];
	r->model[slow(r)] = m;
	r->nr_tiers++;
}

static enum tier_lands parse_landing(const char *s)
{
	if (!strcmp(s, "random"))
		return TIER_LANDS_RANDOM;
	if (!strcmp(s, "sequential"))
		return TIER_LANDS_STREAMS;
	if (strcmp(s, "all"))
		bad_usage("--landing", s);
	return TIER_LANDS_ALL;
}

static void parse_set(char *s, int key, u64 values[], bool given[])
{
	char *equals = strchr(s, '=');
	const char *number;
	uint64_t value;

	if (!equals)
		bad_usage("--set", s);
	number = equals + 1;
	if (!parse_number(&number, '\0', &value))
		bad_usage("--set", s);
	for (key = 0; key < HEAT_NR_KEYS; key++) {
		const struct tier_key *k = &heat_engine_keys[key];

		if (strncmp(s, k->name, equals - s) || k->name[equals - s])
			continue;
		if (value < k->min || value > k->max)
			bad_usage("--set: out of range", s);
		values[key] = value;
		given[key] = true;
		return;
	}
	bad_usage("--set: no such tunable", s);
}

static void print_string(const char *s)
{
	putchar('"');
	for (; *s; s++) {
		if (*s == '"' || *s == '\\')
			printf("\\%c", *s);
		else if ((unsigned char)*s < ' ')
			printf("\\u%04x", *s);
		else
			putchar(*s);
	}
	putchar('"');
}

static void report(const struct replay *r, bool json)
{
	double ms = 0;
	int i;

	for (i = 0; i < NR_PARTS; i++)
		ms += r->ms[i] / r->nr_requests;

	if (!json) {
		printf("%s: %zu requests, %.4f of the pieces on the fast tier, %.4f ms per request, %llu promotions, %llu demotions\n",
		       r->trace, r->nr_requests, (double)r->fast_pieces / r->pieces, ms,
		       (unsigned long long)r->promotions, (unsigned long long)r->demotions);
		return;
	}
	printf("{\"trace\": ");
	print_string(r->trace);
	printf(", \"requests\": %zu, \"pieces\": %llu, \"fast_pieces\": %llu, \"promotions\": %llu, \"demotions\": %llu, \"service_ms_per_request\": %.6f, \"chunks\": %llu, \"fast_chunks\": %llu, \"policy\": \"%s\", \"delay\": %zu, \"tiers\": %u, \"service_ms\": {",
	       r->nr_requests, (unsigned long long)r->pieces,
	       (unsigned long long)r->fast_pieces, (unsigned long long)r->promotions,
	       (unsigned long long)r->demotions, ms, (unsigned long long)r->distinct,
	       (unsigned long long)r->tiers[FAST].places,
	       r->policy, r->delay, r->nr_tiers);
	for (i = 0; i < NR_PARTS; i++)
		printf("%s\"%s\": %.6f", i ? ", " : "", part_names[i], r->ms[i] / r->nr_requests);
	printf("}}\n");
}

int main(int argc, char **argv)
{
	static struct replay r = {
		.moves_per_1000 = 20,
		.window = TIER_LONGEST_WINDOW,
		.model = { { 0.02, 0.09, 2e9, 0 }, { 0.1, 8, 180e6, 0 } },
		.nr_tiers = 2,
		.policy = "heat",
		.lands = TIER_LANDS_ALL,
	};
	static const struct option options[] = {
		{ "chunk-kib", required_argument, NULL, 'c' },
		{ "fast-percent", required_argument, NULL, 'f' },
		{ "moves-per-1000", required_argument, NULL, 'm' },
		{ "model", required_argument, NULL, 'M' },
		{ "middle", required_argument, NULL, 't' },
		{ "log", required_argument, NULL, 'l' },
		{ "json", no_argument, NULL, 'j' },
		{ "policy", required_argument, NULL, 'p' },
		{ "rival", required_argument, NULL, 'r' },
		{ "delay", required_argument, NULL, 'd' },
		{ "iops", required_argument, NULL, 'i' },
		{ "landing", required_argument, NULL, 'L' },
		{ "set", required_argument, NULL, 's' },
		{ "help", no_argument, NULL, 'h' },
		{ NULL, 0, NULL, 0 },
	};
	u64 values[HEAT_NR_KEYS];
	bool given[HEAT_NR_KEYS] = { false }, json = false;
	double chunk_kib = 1024, fast_percent = 10;
	const char *log_path = NULL;
	int opt, key;

	while ((opt = getopt_long(argc, argv, "", options, NULL)) != -1) {
		switch (opt) {
		case 'c':
			chunk_kib = parse_double("--chunk-kib", optarg, 64, 1048576);
			if ((uint32_t)chunk_kib != chunk_kib ||
			    (uint32_t)chunk_kib & ((uint32_t)chunk_kib - 1))
				bad_usage("--chunk-kib: not a power of two", optarg);
			break;
		case 'f':
			fast_percent = parse_double("--fast-percent", optarg, 0, 100);
			break;
		case 'm':
			r.moves_per_1000 = parse_double("--moves-per-1000", optarg, 0, 1e6);
			break;
		case 'M':
			parse_model(&r, optarg);
			break;
		case 't':
			add_middle(&r, optarg);
			break;
		case 'l':
			log_path = optarg;
			break;
		case 'j':
			json = true;
			break;
		case 'p':
			r.policy = optarg;
			r.is_static = !strcmp(optarg, "static");
			if (!r.is_static && strcmp(optarg, "heat"))
				bad_usage("--policy", optarg);
			break;
		case 'r':
			r.policy = optarg;
			r.rival = rival_of(optarg);
			if (!r.rival)
				bad_usage("--rival", optarg);
			break;
		case 'd':
			r.delay = parse_double("--delay", optarg, 0, 1e9);
			break;
		case 'i':
			r.stamps = !strcmp(optarg, "trace");
			r.iops = r.stamps ? 1 : parse_double("--iops", optarg, 0, 1e9);
			break;
		case 'L':
			r.lands = parse_landing(optarg);
			break;
		case 's':
			parse_set(optarg, 0, values, given);
			break;
		case 'h':
			fputs(usage, stdout);
			return 0;
		default:
			return 2;
		}
	}
	if (optind + 1 != argc)
		bad_usage("exactly one trace is needed", argc > optind ? argv[optind + 1] : "none given");

	if (r.rival && (r.is_static || r.nr_tiers != 2 || r.delay || r.iops))
		bad_usage("only two tiers, without --delay and --iops", r.policy);

	read_trace(&r, argv[optind]);
	r.chunk_sectors = chunk_kib * 2;
	set_up(&r, fast_percent);
	if (r.rival)
		rivals_init(&r.rivals, r.nr_chunks, r.tiers[FAST].places, r.rank);
	if (r.rival && r.rival->foresees) {
		r.rivals.half_life = 64.0 * r.tiers[FAST].places;
		r.rivals.move_ms = service_ms(&r.model[FAST], false, r.chunk_sectors) +
				   service_ms(&r.model[slow(&r)], false, r.chunk_sectors);
		foresee(&r);
	}
	for (key = 0; key < HEAT_NR_KEYS; key++)
		if (given[key])
			heat_engine_set(&r.engine, key, values[key]);
	if (log_path) {
		r.log = fopen(log_path, "w");
		if (!r.log)
			die("%s: %s", log_path, strerror(errno));
	}
	run(&r);
	if (r.log && fclose(r.log))
		die("%s: %s", log_path, strerror(errno));
	report(&r, json);
	return 0;
}
