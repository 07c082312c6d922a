// SPDX-License-Identifier: GPL-2.0-only
/* tier_id: prints the role of a device in a tiered set, as properties for udev. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/util.h"
#include "block/device.h"
#include "format/state.h"
#include "set/member.h"

static const char help[] =
"tier_id: tell udev what a device is to a tiered set\n"
"\n"
"Usage: tier_id DEVICE\n"
"\n"
"Prints KEY=VALUE lines if the device carries the label of a tier or the metadata\n"
"of a set, and nothing otherwise. Writes nothing.\n"
"\n"
"Exit status: 0 done, 1 it cannot be read, 2 usage.\n";

/* Text from a device must not end a line, nor mean anything to udev or a shell. */
static bool harmless(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       (c && strchr("#+-.:=@_", c));
}

static void print_name(const char *key, const char *name)
{
	const char *c;

	if (!*name)
		return;
	printf("%s=", key);
	for (c = name; *c; c++)
		putchar(harmless(*c) ? *c : '_');
	putchar('\n');
}

/* As blkid encodes it. */
static void print_encoded(const char *key, const char *name)
{
	const char *c;

	if (!*name)
		return;
	printf("%s=", key);
	for (c = name; *c; c++)
		printf(harmless(*c) ? "%c" : "\\x%02x", (unsigned char)*c);
	putchar('\n');
}

/* With hyphens, as UUIDs of file systems are written. */
static void print_uuid(const char *key, const u8 *uuid)
{
	char hex[UUID_HEX];

	uuid_to_hex(hex, uuid);
	printf("%s=%.8s-%.4s-%.4s-%.4s-%s\n", key, hex, hex + 8, hex + 12, hex + 16, hex + 20);
}

static void print_member(const struct member *m)
{
	bool tier = m->kind == MEMBER_TIER;
	const char *name = tier ? m->label.name : m->meta.name;
	char hex[UUID_HEX];

	puts("ID_FS_TYPE=dm_tier_member");
	puts("ID_FS_USAGE=raid");
	print_uuid("ID_FS_UUID", member_set_uuid(m));
	print_uuid("ID_FS_UUID_ENC", member_set_uuid(m));
	print_name("ID_FS_LABEL", name);
	print_encoded("ID_FS_LABEL_ENC", name);
	if (tier)
		print_uuid("ID_FS_UUID_SUB", m->label.tier_uuid);
	printf("DM_TIER_SET=%s\n", uuid_to_hex(hex, member_set_uuid(m)));
	print_name("DM_TIER_NAME", name);
	printf("DM_TIER_ROLE=%s\n", tier ? "tier" : "metadata");
	if (tier)
		printf("DM_TIER_ID=%u\n", m->label.id);
	else
		printf("DM_TIER_STATE=%s\n", md_state_name(m->meta.state));
}

int main(int argc, char **argv)
{
	struct device d = { 0 };
	struct member m = { 0 };
	int fd;

	if (argc == 2 && (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h"))) {
		fputs(help, stdout);
		return EXIT_DONE;
	}
	if (argc == 2 && (!strcmp(argv[1], "--version") || !strcmp(argv[1], "-V"))) {
		puts("tier_id " TIERCTL_VERSION);
		return EXIT_DONE;
	}
	if (argc != 2 || argv[1][0] == '-') {
		fputs("tier_id: names one device. Try: tier_id --help\n", stderr);
		return EXIT_USAGE;
	}
	d.path = argv[1];
	fd = device_open(&d, O_RDONLY);
	if (fd < 0) {
		fprintf(stderr, "tier_id: %s: %s.\n", d.path, strerror(-fd));
		return EXIT_FAILED;
	}
	member_judge(fd, &m);
	close(fd);
	/* A damaged label may belong to a device with another use by now: print nothing. */
	if (m.kind != MEMBER_METADATA && m.kind != MEMBER_TIER)
		return m.kind == MEMBER_UNREADABLE ? EXIT_FAILED : EXIT_DONE;
	print_member(&m);
	if (fflush(stdout) || ferror(stdout)) {
		fprintf(stderr, "tier_id: standard output: %s.\n", strerror(errno));
		return EXIT_FAILED;
	}
	return EXIT_DONE;
}
