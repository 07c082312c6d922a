// SPDX-License-Identifier: GPL-2.0-only
/*
 * Disks with a volatile cache: network block devices of the kernel, served by threads of this
 * program. Each disk keeps the data that reads show, and the data on stable storage. FLUSH and
 * FUA copy the first to the second; a power cut copies the second to the first, except sectors
 * that were evicted from the cache before. After a cut the disk is dead for a process that has
 * it open: each request gets an error. The connection itself ends when no request is under way,
 * as the kernel may lose such requests, and wait for them for ever.
 *
 * null_blk's cache is not enough: a sector that was ever on its stable storage is overwritten
 * there at once, so that only data written for the first time can be lost.
 */
#include "crash.h"

#include <arpa/inet.h>
#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/nbd.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

/* A dead device may still be open; its disk comes back as another device. */
#define NODES_EACH	4

#define WIPED		16	/* sectors: both slots of a label */

struct disk disks[NR_DISKS] = {
	{ .name = "tc_meta", .mib = 4 },
	{ .name = "tc_fast", .mib = 8 },
	{ .name = "tc_slow", .mib = 12 },
	{ .name = "tc_third", .mib = 12 },
	{ .name = "tc_spare", .mib = 12 },
};

/* A request, done in order when its time has come. */
struct job {
	struct job *next;
	struct nbd_request rq;
	uint64_t due_us;
	unsigned char data[];
};

/* A device that shows a disk, and its connection. */
struct node {
	struct disk *disk;
	bool powered;			/* under the medium's lock */
	uint64_t sectors;		/* the size that the kernel was told */
	int fd, socket, kernel_socket;
	pthread_t server, driver;
	bool connected;

	/* Used only by the server. */
	struct job *first, **last;
};

/* The data of a disk. */
static struct medium {
	pthread_mutex_t lock;
	unsigned char *shown, *stable;
	bool *cached;			/* sectors that may differ */
	struct rng rng;
	struct node nodes[NODES_EACH];
	unsigned int node;		/* the present one */
} media[NR_DISKS];

disk_recorder *disk_record;
static pthread_mutex_t recording = PTHREAD_MUTEX_INITIALIZER;

static struct medium *medium(const struct disk *d)
{
	return &media[d - disks];
}

const char *disk_path(const struct disk *d)
{
	static char paths[NR_DISKS][32];
	char *path = paths[d - disks];

	snprintf(path, sizeof(paths[0]), "/dev/nbd%zu", (d - disks) * NODES_EACH + medium(d)->node);
	return path;
}

uint64_t disk_sectors(const struct disk *d)
{
	return (d->mib + d->grown) * 2048ULL;
}

static uint64_t now_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000ULL + t.tv_nsec / 1000;
}

/* ---- requests ---- */

static void settle(struct disk *d, uint64_t sector, uint64_t nr)
{
	struct medium *m = medium(d);
	const bool *next;

	pthread_mutex_lock(&recording);
	while (nr && (next = memchr(m->cached + sector, true, nr))) {
		nr -= next + 1 - (m->cached + sector);
		sector = next - m->cached;
		memcpy(m->stable + sector * SECTOR, m->shown + sector * SECTOR, SECTOR);
		m->cached[sector] = false;
		if (disk_record)
			disk_record(d, sector, m->stable + sector * SECTOR);
		sector++;
	}
	if (disk_record)
		disk_record(d, 0, NULL);
	pthread_mutex_unlock(&recording);
}

/* Called with the lock held. */
static void carry_out(struct disk *d, struct job *j)
{
	struct medium *m = medium(d);
	uint32_t type = ntohl(j->rq.type), len = ntohl(j->rq.len);
	uint64_t from = be64toh(j->rq.from);

	switch (type & 0xffff) {
	case NBD_CMD_READ:
		memcpy(j->data, m->shown + from, len);
		return;
	case NBD_CMD_WRITE:
		memcpy(m->shown + from, j->data, len);
		break;
	case NBD_CMD_TRIM:
		memset(m->shown + from, 0, len);
		break;
	case NBD_CMD_FLUSH:
		settle(d, 0, disk_sectors(d));
		return;
	}
	memset(m->cached + from / SECTOR, true, len / SECTOR);
	if (type & NBD_CMD_FLAG_FUA)
		settle(d, from / SECTOR, len / SECTOR);
}

static bool send_all(int fd, const void *data, size_t len)
{
	while (len) {
		ssize_t n = send(fd, data, len, MSG_NOSIGNAL);

		if (n <= 0)
			return false;
		data = (const char *)data + n;
		len -= n;
	}
	return true;
}

static bool receive_all(int fd, void *data, size_t len)
{
	return !len || recv(fd, data, len, MSG_WAITALL) == (ssize_t)len;
}

/* ---- the server ---- */

static bool receive_job(struct node *n)
{
	const struct disk *d = n->disk;
	struct nbd_request rq;
	uint32_t command, len;
	uint64_t from;
	struct job *j;

	if (!receive_all(n->socket, &rq, sizeof(rq)))
		return false;
	command = ntohl(rq.type) & 0xffff;
	len = ntohl(rq.len);
	from = be64toh(rq.from);
	if (ntohl(rq.magic) != NBD_REQUEST_MAGIC || command > NBD_CMD_TRIM)
		die("%s: no request of nbd's", d->name);
	if (command == NBD_CMD_DISC)
		return false;
	if (command != NBD_CMD_FLUSH &&
	    (from % SECTOR || len % SECTOR || from + len > n->sectors * SECTOR))
		die("%s: a request out of range", d->name);
	j = malloc(sizeof(*j) + (command == NBD_CMD_TRIM || command == NBD_CMD_FLUSH ? 0 : len));
	if (!j)
		die("out of memory");
	j->next = NULL;
	j->rq = rq;
	j->due_us = now_us() + d->delay_us;
	*n->last = j;
	n->last = &j->next;
	return command != NBD_CMD_WRITE || receive_all(n->socket, j->data, len);
}

static bool finish_job(struct node *n)
{
	struct medium *m = medium(n->disk);
	struct job *j = n->first;
	struct nbd_reply reply = { .magic = htonl(NBD_REPLY_MAGIC) };
	bool ok;

	memcpy(reply.handle, &j->rq.handle, sizeof(reply.handle));
	pthread_mutex_lock(&m->lock);
	if (n->powered)
		carry_out(n->disk, j);
	else
		reply.error = htonl(EIO);
	pthread_mutex_unlock(&m->lock);
	ok = send_all(n->socket, &reply, sizeof(reply));
	if (ok && !reply.error && (ntohl(j->rq.type) & 0xffff) == NBD_CMD_READ)
		ok = send_all(n->socket, j->data, ntohl(j->rq.len));
	n->first = j->next;
	if (!n->first)
		n->last = &n->first;
	free(j);
	return ok;
}

static void *serve(void *context)
{
	struct node *n = context;
	struct pollfd p = { .fd = n->socket, .events = POLLIN };
	bool ok = true;

	n->first = NULL;
	n->last = &n->first;
	while (ok) {
		uint64_t now = now_us();
		struct timespec wait = { };

		if (n->first && n->first->due_us <= now) {
			ok = finish_job(n);
			continue;
		}
		if (n->first)
			wait.tv_nsec = (n->first->due_us - now) * 1000;
		if (ppoll(&p, 1, n->first ? &wait : NULL, NULL) > 0)
			ok = receive_job(n);
	}
	shutdown(n->socket, SHUT_RDWR);
	while (n->first) {
		struct job *j = n->first;

		n->first = j->next;
		free(j);
	}
	return NULL;
}

/* The ioctl lasts as long as the connection. */
static void *drive(void *context)
{
	struct node *n = context;

	ioctl(n->fd, NBD_DO_IT);
	ioctl(n->fd, NBD_CLEAR_SOCK);
	return NULL;
}

/* ---- power ---- */

void disk_off(struct disk *d)
{
	struct medium *m = medium(d);
	uint64_t i;

	if (!d->on)
		return;
	d->on = false;
	d->survived = d->lost = 0;
	pthread_mutex_lock(&m->lock);
	m->nodes[m->node].powered = false;
	for (i = 0; i < disk_sectors(d); i++) {
		if (!m->cached[i])
			continue;
		m->cached[i] = false;
		if (!memcmp(m->stable + i * SECTOR, m->shown + i * SECTOR, SECTOR))
			continue;
		if (rng_percent(&m->rng, d->evicted)) {
			memcpy(m->stable + i * SECTOR, m->shown + i * SECTOR, SECTOR);
			d->survived++;
		} else {
			memcpy(m->shown + i * SECTOR, m->stable + i * SECTOR, SECTOR);
			d->lost++;
		}
	}
	pthread_mutex_unlock(&m->lock);
}

/* Nobody may have the device open. */
static void let_go(struct node *n)
{
	if (!n->connected)
		return;
	shutdown(n->socket, SHUT_RDWR);
	pthread_join(n->server, NULL);
	pthread_join(n->driver, NULL);
	close(n->fd);
	close(n->socket);
	close(n->kernel_socket);
	n->connected = false;
}

static uint64_t sectors_shown(const struct disk *d)
{
	char path[64], text[32] = "";
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "/sys/block/%s/size", disk_path(d) + strlen("/dev/"));
	fd = open(path, O_RDONLY | O_CLOEXEC);
	n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
	if (n < 0)
		die("%s: %s", path, strerror(errno));
	close(fd);
	return strtoull(text, NULL, 10);
}

static void await_size(const struct disk *d)
{
	unsigned int i;

	for (i = 0; sectors_shown(d) != disk_sectors(d); i++) {
		if (i == 4000)
			die("%s did not appear", disk_path(d));
		nap_ms(5);
	}
}

void disk_on(struct disk *d)
{
	struct medium *m = medium(d);
	struct node *n;
	int pair[2];

	m->node = (m->node + 1) % NODES_EACH;
	n = &m->nodes[m->node];
	let_go(n);
	n->disk = d;
	n->sectors = disk_sectors(d);
	n->fd = open(disk_path(d), O_RDWR | O_CLOEXEC);
	if (n->fd < 0)
		die("%s: %s; is nbd loaded?", disk_path(d), strerror(errno));
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair))
		die("socketpair: %s", strerror(errno));
	n->socket = pair[0];
	n->kernel_socket = pair[1];
	n->powered = true;
	if (ioctl(n->fd, NBD_SET_BLKSIZE, (unsigned long)SECTOR) ||
	    ioctl(n->fd, NBD_SET_SIZE_BLOCKS, (unsigned long)disk_sectors(d)) ||
	    ioctl(n->fd, NBD_SET_FLAGS, (unsigned long)(NBD_FLAG_HAS_FLAGS | NBD_FLAG_SEND_FLUSH |
							NBD_FLAG_SEND_FUA | NBD_FLAG_SEND_TRIM)) ||
	    ioctl(n->fd, NBD_SET_SOCK, (unsigned long)n->kernel_socket))
		die("%s cannot be set up: %s", disk_path(d), strerror(errno));
	if (pthread_create(&n->server, NULL, serve, n) || pthread_create(&n->driver, NULL, drive, n))
		die("no thread for %s", d->name);
	n->connected = true;
	d->on = true;
	await_size(d);
}

void disks_create(uint64_t seed)
{
	struct rng rng = { seed };
	unsigned int i;

	for (i = 0; i < NR_DISKS; i++) {
		struct medium *m = &media[i];
		uint64_t sectors = (disks[i].mib + MAX_GROWTH) * 2048ULL;

		pthread_mutex_init(&m->lock, NULL);
		m->rng.state = rng_next(&rng);
		m->shown = calloc(sectors, SECTOR);
		m->stable = calloc(sectors, SECTOR);
		m->cached = calloc(sectors, sizeof(*m->cached));
		if (!m->shown || !m->stable || !m->cached)
			die("out of memory");
	}
}

void disks_destroy(void)
{
	unsigned int i, k;

	for (i = 0; i < NR_DISKS; i++) {
		disk_off(&disks[i]);
		for (k = 0; k < NODES_EACH; k++)
			let_go(&media[i].nodes[k]);
	}
}

/* Nobody may have the device open. */
void disk_blank(struct disk *d)
{
	struct medium *m = medium(d);
	uint64_t sectors = disk_sectors(d);

	pthread_mutex_lock(&m->lock);
	memset(m->shown, 0, sectors * SECTOR);
	memset(m->stable, 0, sectors * SECTOR);
	memset(m->cached, 0, sectors * sizeof(*m->cached));
	pthread_mutex_unlock(&m->lock);
}

void disk_wipe(struct disk *d)
{
	struct medium *m = medium(d);

	pthread_mutex_lock(&m->lock);
	memset(m->shown, 0, WIPED * SECTOR);
	memset(m->stable, 0, WIPED * SECTOR);
	memset(m->cached, 0, WIPED * sizeof(*m->cached));
	pthread_mutex_unlock(&m->lock);
}

void disk_grow(struct disk *d, unsigned int mib)
{
	struct medium *m = medium(d);
	uint64_t before = disk_sectors(d);

	pthread_mutex_lock(&m->lock);
	d->grown = mib;
	/* New sectors are blank, whatever was there. */
	if (disk_sectors(d) > before) {
		uint64_t more = disk_sectors(d) - before;

		memset(m->shown + before * SECTOR, 0, more * SECTOR);
		memset(m->stable + before * SECTOR, 0, more * SECTOR);
		memset(m->cached + before, 0, more * sizeof(*m->cached));
	}
	pthread_mutex_unlock(&m->lock);
	if (!d->on || disk_sectors(d) == before)
		return;
	m->nodes[m->node].sectors = disk_sectors(d);
	if (ioctl(m->nodes[m->node].fd, NBD_SET_SIZE_BLOCKS, (unsigned long)disk_sectors(d)))
		die("%s cannot grow: %s", disk_path(d), strerror(errno));
	await_size(d);
}
