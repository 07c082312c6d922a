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
#include "block/device.h"
#include "block/mounts.h"
#include "lvm/lvm.h"

#define FOLDER	"/etc/dm-tier"
#define ORDER	FOLDER "/at-boot"
/* Taken back, but perhaps still in an initramfs; the hooks do not take it. */
#define DONE	ORDER ".done"
/* Until the next boot there is nothing to report. */
#define ORDERED	"/run/dm-tier/ordered"
#define SCRIPT	TIERCTL_DATADIR "/tierctl/initramfs"
#define TAG	LVM_TAG ".at-boot="

/* Whether the kernel's command line has that word, which dracut would follow. */
static bool command_line_has(const char *word)
{
	char *line = read_line("/proc/cmdline"), *words = xasprintf(" %s ", line ? line : "");
	char *wanted = xasprintf(" %s ", word);
	bool has = strstr(words, wanted);

	free(line);
	free(words);
	free(wanted);
	return has;
}

static int note_holder(void *context, dev_t holder)
{
	*(dev_t *)context = holder;
	return 1;
}

bool at_boot_possible(struct tier_context *ctx, const char *volume, dev_t dev)
{
	/* The kernel, the boot loader's files, and the firmware's. */
	static const char *const needed[] = { "/boot", "/boot/grub", "/boot/grub2", "/boot/efi", "/efi" };
	char *resume = read_line("/sys/power/resume"), *number = xasprintf("%u:%u", major(dev), minor(dev));
	char *word = xasprintf("rd.lvm.lv=%s", volume);
	struct mounts mounts;
	bool possible = true;
	dev_t holder;
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
	/* Whatever is made of it will be there before the initramfs comes to the order. */
	if (possible && device_for_each_holder(dev, note_holder, &holder)) {
		err(ctx, ERR_UNSUITABLE,
		    "%s: another device is made of it, which the initramfs opens before it comes to the conversion. Only a volume that carries the file system itself can be converted at boot.",
		    volume);
		possible = false;
	}
	if (possible && command_line_has(word)) {
		err(ctx, ERR_UNSUITABLE,
		    "%s: the kernel's command line has %s, with which dracut would take the name that the set needs. Say rd.lvm.vg=%.*s there instead.",
		    volume, word, (int)strcspn(volume, "/"), volume);
		possible = false;
	}
	mounts_free(&mounts);
	free(resume);
	free(number);
	free(word);
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
	bool good = true;
	unsigned int i;

	if (!rows)
		return false;
	if (!*lvm_field(rows, 0, "lv_uuid")) {
		err(ctx, ERR_LVM_REFUSED, "%s: LVM does not know it.", volume);
		json_object_put(rows);
		return false;
	}
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
	FILE *f = fopen(ORDER, "re") ? : fopen(DONE, "re");
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
	tagged = xasprintf("@%s", tag);
	if (strcmp(name, volume)) {
		err(ctx, ERR_NOT_FOUND, "%s: is not to be converted at boot, but %s is.", volume, name);
		good = false;
	} else {
		good = !change_tag(ctx, "--deltag", tag, tagged);
		if (good && !ctx->dry_run && rename(ORDER, DONE) && errno != ENOENT) {
			err(ctx, error_from(errno), ORDER ": %s.", strerror(errno));
			good = false;
		}
		good = good && script(ctx, "rebuild") && file_remove(ctx, DONE);
		if (good && !ctx->dry_run)
			unlink(ORDERED);
		if (good)
			say(ctx, "%s: %s not be converted at boot.", volume, ctx->dry_run ? "would" : "will");
	}
	free(tagged);
	free(tag);
	free(name);
	return good ? EXIT_DONE : EXIT_FAILED;
}

/* The next boot reports; until then there is nothing to say. */
static void wait_for_boot(void)
{
	FILE *f;

	mkdir("/run/dm-tier", 0755);
	f = fopen(ORDERED, "we");
	if (f)
		fclose(f);
}

int at_boot_order(struct tier_context *ctx, const char *volume, const struct strings *words)
{
	char *tag, *name, hex[UUID_STR_LEN];
	int code = EXIT_FAILED;
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
	if (!ctx->dry_run)
		wait_for_boot();
	/* Without the tag, which comes last, an initramfs does nothing. */
	if (write_order(ctx, volume, tag, words)) {
		ctx->changed = !ctx->dry_run;
		if (script(ctx, "rebuild") && script(ctx, "try") && !change_tag(ctx, "--addtag", tag, volume)) {
			say(ctx, "%s: %s be converted when the machine boots next, before anything is mounted.",
			    volume, ctx->dry_run ? "would" : "will");
			if (!ctx->dry_run)
				say(ctx, "To think better of it: tierctl convert --at-boot --abort %s", volume);
			code = EXIT_DONE;
		} else {
			at_boot_forget(ctx, volume);
		}
	}
	free(tag);
	return code;
}
