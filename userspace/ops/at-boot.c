// SPDX-License-Identifier: GPL-2.0-only
#include "ops/at-boot.h"

#include <errno.h>
#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>
#include <uuid/uuid.h>

#include "base/program.h"
#include "base/util.h"
#include "block/mounts.h"
#include "lvm/lvm.h"

#define FOLDER	"/etc/dm-tier"
#define ORDER	FOLDER "/at-boot"
#define SCRIPT	TIERCTL_DATADIR "/tierctl/initramfs"
#define TAG	LVM_TAG ".at-boot="

/* "major:minor" of the swap device, or of the file system of a swap file; the caller frees. */
static char *hibernation_device(void)
{
	FILE *f = fopen("/sys/power/resume", "re");
	char *line = NULL;
	size_t room = 0;

	if (f && getline(&line, &room, f) > 0)
		line[strcspn(line, "\n")] = '\0';
	if (f)
		fclose(f);
	return line;
}

bool at_boot_possible(struct tier_context *ctx, const char *volume, dev_t dev)
{
	/* The kernel, the boot loader's files, and the firmware's. */
	static const char *const needed[] = { "/boot", "/boot/grub", "/boot/grub2", "/boot/efi", "/efi" };
	char *resume = hibernation_device(), *number = xasprintf("%u:%u", major(dev), minor(dev));
	struct mounts mounts;
	bool possible = true;
	unsigned int i;

	if (mounts_read(&mounts)) {
		err(ctx, ERR_SYSTEM, "%s: nobody can say what is mounted.", volume);
		possible = false;
	}
	for (i = 0; possible && i < sizeof(needed) / sizeof(*needed); i++) {
		/* What is in the folder, on which another file system may be mounted */
		char *inside = xasprintf("%s/.", needed[i]);

		possible = access(inside, F_OK) || mounts_device_of(&mounts, inside) != dev;
		free(inside);
		if (!possible)
			err(ctx, ERR_UNSUITABLE,
			    "%s: %s lies on it, which has to be found before there is a set. Move it to a partition of its own first.",
			    volume, needed[i]);
	}
	if (possible && resume && !strcmp(resume, number)) {
		err(ctx, ERR_UNSUITABLE,
		    "%s: the machine hibernates to it, and would wake up from a volume that has changed. Choose another: echo 0:0 >/sys/power/resume, and resume= on the kernel's command line.",
		    volume);
		possible = false;
	}
	mounts_free(&mounts);
	free(resume);
	free(number);
	return possible;
}

/* The initramfs of all kernels are made anew, with the order or without. */
static bool script(struct tier_context *ctx, const char *what)
{
	const char *argv[] = { SCRIPT, what, NULL }, *why;

	if (ctx->dry_run) {
		say(ctx, "Would run: %s %s", SCRIPT, what);
		return true;
	}
	verbose(ctx, "running: %s %s", SCRIPT, what);
	why = program_run(argv);
	if (why)
		err(ctx, ERR_SYSTEM, "%s %s: %s.", SCRIPT, what, why);
	return !why;
}

/* The lines of the file: UUIDs of group and volume, tag, name, and the words, one a line. */
static bool write_order(struct tier_context *ctx, const char *volume, const char *tag, const struct strings *words)
{
	const char *argv[] = { "lvs", "-o", "vg_uuid,lv_uuid", volume, NULL };
	struct json_object *rows = lvm_report(ctx, argv, -1);
	struct text t = { 0 };
	bool good = rows;
	unsigned int i;

	if (!rows)
		return false;
	text_add(&t, "%s\n%s\n%s\n%s\n", lvm_field(rows, 0, "vg_uuid"), lvm_field(rows, 0, "lv_uuid"), tag, volume);
	for (i = 0; i < words->nr; i++)
		text_add(&t, "%s\n", words->s[i]);
	if (!ctx->dry_run && mkdir(FOLDER, 0755) && errno != EEXIST) {
		err(ctx, error_from(errno), FOLDER ": %s.", strerror(errno));
		good = false;
	}
	good = good && file_write(ctx, ORDER, t.s);
	text_free(&t);
	json_object_put(rows);
	return good;
}

static int change_tag(struct tier_context *ctx, const char *option, const char *tag, const char *volume)
{
	const char *argv[] = { "lvchange", option, tag, volume, NULL };

	return lvm_change(ctx, argv);
}

/* The tag and the volume's name in the order; false if there is none. The caller frees. */
static bool read_order(char **tag, char **volume)
{
	FILE *f = fopen(ORDER, "re");
	char *line[4] = { NULL };
	size_t room;
	ssize_t len;
	int n;

	*tag = *volume = NULL;
	for (n = 0; f && n < 4; n++) {
		room = 0;
		len = getline(&line[n], &room, f);
		if (len < 1)
			break;
		line[n][len - 1] = '\0';
	}
	if (f)
		fclose(f);
	if (n == 4) {
		*tag = line[2];
		*volume = line[3];
		line[2] = line[3] = NULL;
	}
	for (n = 0; n < 4; n++)
		free(line[n]);
	return *tag;
}

int at_boot_forget(struct tier_context *ctx, const char *volume)
{
	char *tag, *name, *tagged;
	bool good;

	if (!read_order(&tag, &name)) {
		say(ctx, "%s: nothing to undo.", volume);
		return EXIT_DONE;
	}
	if (strcmp(name, volume)) {
		err(ctx, ERR_NOT_FOUND, "%s: is not to be converted at boot, but %s is.", volume, name);
		good = false;
	} else {
		tagged = xasprintf("@%s", tag);
		good = !change_tag(ctx, "--deltag", tag, tagged) && file_remove(ctx, ORDER) && script(ctx, "rebuild");
		free(tagged);
	}
	free(tag);
	free(name);
	return good ? EXIT_DONE : EXIT_FAILED;
}

int at_boot_order(struct tier_context *ctx, const char *volume, const struct strings *words)
{
	char *tag, *name, hex[UUID_STR_LEN];
	uuid_t random;

	/* The dry run is also done where there is one already: in the new initramfs. */
	if (!ctx->dry_run && read_order(&tag, &name)) {
		err(ctx, ERR_UNFINISHED,
		    "%s: is to be converted at boot already. To think better of it: tierctl convert --at-boot --abort %s",
		    name, name);
		free(tag);
		free(name);
		return EXIT_FAILED;
	}
	uuid_generate(random);
	uuid_unparse_lower(random, hex);
	tag = xasprintf(TAG "%s", hex);
	ctx->changed = !ctx->dry_run;
	if (write_order(ctx, volume, tag, words) && !change_tag(ctx, "--addtag", tag, volume) &&
	    script(ctx, "rebuild") && script(ctx, "try")) {
		say(ctx, "%s: %s be converted when the machine boots next, before anything is mounted.", volume,
		    ctx->dry_run ? "would" : "will");
		say(ctx, "To think better of it: tierctl convert --at-boot --abort %s", volume);
		free(tag);
		return EXIT_DONE;
	}
	if (access(ORDER, F_OK) || !at_boot_forget(ctx, volume))
		say(ctx, "%s: is as it was.", volume);
	free(tag);
	return EXIT_FAILED;
}
