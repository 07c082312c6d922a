// SPDX-License-Identifier: GPL-2.0-only
#include "block/reserve.h"

#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/nvme_ioctl.h>
#include <linux/pr.h>
#include <scsi/sg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define REPORT_SIZE		4096

/* SCSI Primary Commands 4, 6.15: PERSISTENT RESERVE IN */
#define PR_IN			0x5e
#define PR_IN_READ_KEYS		0
#define PR_IN_READ_RESERVATION	1
#define SCSI_TIMEOUT_MS		30000
#define SENSE_ILLEGAL_REQUEST	5
#define SENSE_UNIT_ATTENTION	6

/* NVM Express Base Specification 2.0, 7: Reservation Register, Reservation Report */
#define NVME_RESERVATION_REGISTER	0x0d
#define NVME_UNREGISTER		1
#define NVME_RESERVATION_REPORT	0x0e
#define NVME_EXTENDED		1	/* with host identifiers of 128 bits */
#define NVME_CONFLICT		0x83

#define SCSI_CHECK_CONDITION	0x02
#define SCSI_CONFLICT		0x18

/* A disk says first, once, that keys of others have gone. */
#define TRIES			4

const char *reserve_unfit(const struct device *d)
{
	if (device_attribute_number(d->dev, "partition"))
		return "is a partition, and a reservation is of a whole disk";
	if (device_is_volume(d->dev))
		return "is a logical volume, and its volume group says who may use it";
	if (device_uuid_begins(d->dev, "mpath-"))
		return "is a multipath map, whose paths come and go: mpathpersist(8) reserves such disks";
	if (device_uuid_begins(d->dev, ""))
		return "is a device of device-mapper";
	return NULL;
}

static uint64_t be(const unsigned char *from, unsigned int bytes)
{
	uint64_t n = 0;

	while (bytes--)
		n = n << 8 | *from++;
	return n;
}

static uint64_t le(const unsigned char *from, unsigned int bytes)
{
	uint64_t n = 0;

	while (bytes--)
		n = n << 8 | from[bytes];
	return n;
}

/* One key too many, which nobody would see, could write. */
static int add_key(struct reservation *r, uint64_t key)
{
	if (r->nr_keys == RESERVE_KEYS_MAX)
		return -EOVERFLOW;
	r->key[r->nr_keys++] = key;
	return 0;
}

/* -ENOTTY if it is no SCSI disk, -EAGAIN if it had something else to say first */
static int scsi_in_once(int fd, unsigned int action, unsigned char *report)
{
	unsigned int key;
	unsigned char command[10] = { PR_IN, action, [7] = REPORT_SIZE >> 8 }, sense[32] = { 0 };
	struct sg_io_hdr io = {
		.interface_id = 'S',
		.dxfer_direction = SG_DXFER_FROM_DEV,
		.cmd_len = sizeof(command),
		.cmdp = command,
		.dxfer_len = REPORT_SIZE,
		.dxferp = report,
		.mx_sb_len = sizeof(sense),
		.sbp = sense,
		.timeout = SCSI_TIMEOUT_MS,
	};

	memset(report, 0, REPORT_SIZE);
	if (ioctl(fd, SG_IO, &io))
		return errno == EINVAL ? -ENOTTY : -errno;
	/* Two formats, fixed and with descriptors */
	key = sense[(sense[0] & 0x7f) < 0x72 ? 2 : 1] & 0xf;
	if (io.status)
		return key == SENSE_ILLEGAL_REQUEST ? -EOPNOTSUPP : key == SENSE_UNIT_ATTENTION ? -EAGAIN : -EIO;
	return io.host_status ? -EIO : 0;
}

static int scsi_in(int fd, unsigned int action, unsigned char *report)
{
	unsigned int tries = TRIES;
	int error;

	do
		error = scsi_in_once(fd, action, report);
	while (error == -EAGAIN && --tries);
	return error == -EAGAIN ? -EIO : error;
}

static int scsi_read(int fd, unsigned char *report, struct reservation *r)
{
	uint64_t length, at;
	int error = scsi_in(fd, PR_IN_READ_KEYS, report);

	if (error)
		return error;
	length = be(report + 4, 4);
	if (length > REPORT_SIZE - 8)
		return -EOVERFLOW;
	for (at = 8; at < 8 + length && !error; at += 8)
		error = add_key(r, be(report + at, 8));
	if (error)
		return error;
	error = scsi_in(fd, PR_IN_READ_RESERVATION, report);
	if (error)
		return error;
	r->held = be(report + 4, 4) >= 16;
	r->holder = be(report + 8, 8);
	return 0;
}

/* -ENOTTY if it is no NVMe disk */
static int nvme_read(int fd, unsigned char *report, struct reservation *r)
{
	int nsid = ioctl(fd, NVME_IOCTL_ID), status = 0, extended, error = 0;
	unsigned int i, nr, at, size;

	if (nsid <= 0)
		return -ENOTTY;
	for (extended = NVME_EXTENDED; extended >= 0; extended--) {
		struct nvme_passthru_cmd io = {
			.opcode = NVME_RESERVATION_REPORT,
			.nsid = nsid,
			.addr = (uintptr_t)report,
			.data_len = REPORT_SIZE,
			.cdw10 = REPORT_SIZE / 4 - 1,
			.cdw11 = extended,
		};

		memset(report, 0, REPORT_SIZE);
		status = ioctl(fd, NVME_IOCTL_IO_CMD, &io);
		if (!status)
			break;
	}
	if (status)
		return status < 0 ? -errno : -EOPNOTSUPP;
	r->held = report[4];
	nr = le(report + 5, 2);
	at = extended ? 64 : 24;
	size = extended ? 64 : 24;
	if (at + nr * size > REPORT_SIZE)
		return -EOVERFLOW;
	for (i = 0; i < nr && !error; i++, at += size) {
		/* Which host, whether it holds the reservation, its id of 64 bits, its key */
		uint64_t key = le(report + at + (extended ? 8 : 16), 8);

		error = add_key(r, key);
		if (report[at + 2] & 1)
			r->holder = key;
	}
	return error;
}

int reserve_read(const struct device *d, struct reservation *r)
{
	int fd = device_open(d, O_RDONLY), error;
	unsigned char *report;

	memset(r, 0, sizeof(*r));
	if (fd < 0)
		return fd;
	report = block_buffer(REPORT_SIZE);
	error = scsi_read(fd, report, r);
	if (error == -ENOTTY)
		error = nvme_read(fd, report, r);
	free(report);
	close(fd);
	return error == -ENOTTY ? -EOPNOTSUPP : error;
}

/* A positive answer is the disk's own status. */
static int result(int answer)
{
	if (!answer)
		return 0;
	if (answer > 0 && ((answer & 0xff) == SCSI_CONFLICT || (answer & 0xff) == NVME_CONFLICT))
		return -EBUSY;
	return answer < 0 ? errno == ENOTTY ? -EOPNOTSUPP : -errno : -EIO;
}

static int change(const struct device *d, unsigned long request, const void *what)
{
	int fd = device_open(d, O_RDWR), answer;
	unsigned int tries = TRIES;
	int error;

	if (fd < 0)
		return fd;
	do
		answer = ioctl(fd, request, what);
	while (answer > 0 && (answer & 0xff) == SCSI_CHECK_CONDITION && --tries);
	error = result(answer);
	close(fd);
	return error;
}

int reserve_take(const struct device *d, uint64_t key)
{
	const struct pr_registration registration = { .new_key = key, .flags = PR_FL_IGNORE_KEY };
	const struct pr_reservation reservation = { .key = key, .type = PR_WRITE_EXCLUSIVE_REG_ONLY };
	int error = change(d, IOC_PR_REGISTER, &registration);

	return error ? error : change(d, IOC_PR_RESERVE, &reservation);
}

int reserve_preempt(const struct device *d, uint64_t key, uint64_t other)
{
	const struct pr_registration registration = { .new_key = key, .flags = PR_FL_IGNORE_KEY };
	/* The kernel hands them to the disk as "own key" and "key to be taken away". */
	const struct pr_preempt preempt = {
		.old_key = key,
		.new_key = other,
		.type = PR_WRITE_EXCLUSIVE_REG_ONLY,
	};
	int error = change(d, IOC_PR_REGISTER, &registration);

	return error ? error : change(d, other == key ? IOC_PR_PREEMPT : IOC_PR_PREEMPT_ABORT, &preempt);
}

/* The kernel would put a key of 0 in the place of the old one, and its host could still write. */
static int nvme_unregister(int fd, unsigned int nsid, uint64_t key)
{
	uint64_t keys[2] = { htole64(key) };
	struct nvme_passthru_cmd io = {
		.opcode = NVME_RESERVATION_REGISTER,
		.nsid = nsid,
		.addr = (uintptr_t)keys,
		.data_len = sizeof(keys),
		.cdw10 = NVME_UNREGISTER,
	};

	return ioctl(fd, NVME_IOCTL_IO_CMD, &io);
}

int reserve_drop(const struct device *d, uint64_t key)
{
	const struct pr_registration registration = { .old_key = key };
	int fd = device_open(d, O_RDWR), nsid, error;

	if (fd < 0)
		return fd;
	nsid = ioctl(fd, NVME_IOCTL_ID);
	error = result(nsid > 0 ? nvme_unregister(fd, nsid, key) : ioctl(fd, IOC_PR_REGISTER, &registration));
	close(fd);
	return error;
}
