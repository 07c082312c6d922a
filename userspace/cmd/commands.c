// SPDX-License-Identifier: GPL-2.0-only
#include "cmd/commands.h"

#define B(id)	OPT_BIT(OPT_##id)
#define MANY	4096

const struct command commands[] = {
	{
		"create", "NAME --metadata DEV [OPTION]... DEV...",
		"make a tiered device of several devices",
		"DEV... are the tiers, fastest first. Their contents and that of the metadata\n"
		"device are lost; devices that carry something are refused without --force, those\n"
		"in use always. Losing the metadata device loses the set: put it on a mirror.\n",
		B(METADATA) | B(CHUNKSIZE) | B(SIZE) | B(POLICY) | B(FEATURE) | B(SET) | B(TEST),
		2, 1 + TIER_MAX_TIERS, cmd_create,
	}, {
		"convert", "[OPTION]... VG/LV | DEV",
		"put faster devices in front of a device with data, in place",
		"It must be closed. Give --fast DEV, or --fast-size SIZE --fast-pv PV, and --metadata\n"
		"DEV; for a logical volume it is made, mirrored if there are physical volumes for\n"
		"it. A logical volume keeps its name; what is no logical volume needs --name. The\n"
		"same command again goes on after an interruption.\n",
		B(ABORT) | B(CHUNKSIZE) | B(FAST) | B(FAST_PV) | B(FAST_SIZE) | B(METADATA) | B(NAME) |
		B(POLICY) | B(TEST), 1, 1, cmd_convert,
	}, {
		"revert", "[OPTION]... SET", "turn a set into one of its tiers, in use",
		"Everything goes back to the volume that was converted, or to the slowest tier or\n"
		"--tier, which then takes the set's place; the others become free. A volume that the\n"
		"set has outgrown is extended, after a question. Ctrl-C detaches, the moving goes on;\n"
		"the same command again goes on after an interruption.\n",
		B(ABORT) | B(TIER) | B(TEST), 1, 1, cmd_revert,
	}, {
		"destroy", "SET | DEV...",
		"take a set apart, what is in it is lost",
		"Removes the device and wipes the labels and, last, the metadata. DEV... are what\n"
		"is left of a set whose other devices are gone, or one of two that say they are\n"
		"the same part.\n",
		B(TEST), 1, 1 + TIER_MAX_TIERS, cmd_destroy,
	}, {
		"activate", "[OPTION]... SET... | --all | --auto [DEV]...",
		"make the device of a set that was found",
		"A tier that is missing, an old copy of itself, or carries something else beside its\n"
		"label, makes it fail, unless --degraded: then the chunks on that tier give I/O errors\n"
		"until it is back, and the exit status is 3. --force writes over what lies beside a\n"
		"label.\n"
		"With --auto DEV: the set that DEV belongs to, if nothing of it is missing; else nothing.\n"
		"This is what udev starts for each device of a set.\n",
		B(ALL) | B(DEGRADED) | B(READ_ONLY) | B(FEATURE) | B(AUTO) | B(NAME) | B(NO_CHECK) | B(TEST),
		0, MANY,
		cmd_activate,
	}, {
		"deactivate", "SET... | --all",
		"remove the device of a set, its contents stay",
		NULL, B(ALL) | B(TEST), 0, MANY, cmd_deactivate,
	}, {
		"list", "[SET]...", "list sets, active or not", NULL, B(JSON), 0, MANY, cmd_list,
	}, {
		"scan", "[--all] [DEV]...", "list the devices that belong to sets",
		"With --all, or named, also those that do not, and what they carry.\n",
		B(JSON) | B(ALL), 0, MANY, cmd_scan,
	}, {
		"status", "[--interval SECONDS] [SET]...", "show how sets are doing", NULL,
		B(JSON) | B(INTERVAL), 0, MANY, cmd_status,
	}, {
		"pause", "SET...", "stop migration",
		"What tierctl migrate and pin ask for still moves. Lasts until tierctl resume.\n",
		B(TEST), 1, MANY, cmd_pause,
	}, {
		"resume", "SET...", "let migration go on",
		"It is migration that resumes: I/O to the set never stopped.\n",
		B(TEST), 1, MANY, cmd_resume,
	}, {
		"schedule", "SET [HH:MM-HH:MM]... | --clear SET", "let migration run at certain hours",
		"Local time; installs a timer of systemd. Outside these hours migration is paused,\n"
		"at their beginning it is resumed. Without hours it says which there are; at most\n"
		"24 of them.\n",
		B(CLEAR) | B(APPLY) | B(JSON) | B(TEST), 1, 25, cmd_schedule,
	}, {
		"set", "SET KEY=VALUE...", "change tunables, for good",
		"Target: migration_bandwidth (per second, 0 = no limit), migration_depth (chunks),\n"
		"latency_guard (percent, 0 = off); of a tier: tierN.endurance (a day, 0 = no limit),\n"
		"tierN.reserve, tierN.landing (yes or no); those of the policy: see tierctl get.\n",
		B(TEST), 2, MANY, cmd_set,
	}, {
		"get", "SET [KEY]", "show tunables, in the kernel's units",
		"KiB/s, GiB a day and chunks.\n", B(JSON), 1, 2, cmd_get,
	}, {
		"migrate", "SET CHUNK[-CHUNK]... | [SET] FILE... --tier RANK [--home] [--wait]",
		"move chunks to a tier",
		"Or those of files, of all files below a directory, of a device that lies on the\n"
		"set, or the range that --offset and --length name. Goes ahead of everything else,\n"
		"also while migration is paused. Returns at once, without --wait.\n",
		B(TIER) | B(HOME) | B(OFFSET) | B(LENGTH) | B(WAIT) | B(TEST), 1, MANY, cmd_migrate,
	}, {
		"wait", "[OPTION]... SET", "wait until nothing moves",
		"Or, with --evacuated, until a tier is empty. Ctrl-C detaches, the work goes on.\n",
		B(EVACUATED) | B(TIMEOUT) | B(JSON), 1, 1, cmd_wait,
	}, {
		"pin", "SET CHUNK[-CHUNK]... | [SET] FILE... --tier RANK [--wait]",
		"keep chunks on a tier",
		"Or those of files, of all files below a directory, of a device that lies on the\n"
		"set, or the range that --offset and --length name. A file system may move files:\n"
		"tierctl pin --refresh [SET | FILE]... pins again those that were pinned.\n",
		B(TIER) | B(OFFSET) | B(LENGTH) | B(WAIT) | B(REFRESH) | B(TEST), 0, MANY, cmd_pin,
	}, {
		"unpin", "SET CHUNK[-CHUNK]... | [SET] FILE...", "let chunks move again",
		"Or give the range by --offset and --length.\n",
		B(OFFSET) | B(LENGTH) | B(TEST), 1, MANY, cmd_unpin,
	}, {
		"evacuate", "[--background] SET DEV|RANK", "empty a tier, place nothing on it",
		"Ctrl-C detaches, the work goes on; so it does after a crash.\n",
		B(BACKGROUND) | B(TEST), 2, 2, cmd_evacuate,
	}, {
		"admit", "SET DEV|RANK", "use a tier again after evacuate or errors",
		NULL, B(TEST), 2, 2, cmd_admit,
	}, {
		"top", "[OPTION]... [SET]...", "watch sets work",
		"Keys: q quits, f names files, + and - change the interval.\n",
		B(INTERVAL) | B(BATCH) | B(ONCE) | B(FILES) | B(JSON), 0, MANY, cmd_top,
	}, {
		"heatmap", "SET [CHUNK[-CHUNK]... | FILE...] | FILE...", "draw where things lie and how hot they are",
		"Of all of a set, of chunks, of files, of all files below a directory, or of the\n"
		"range that --offset and --length name.\n",
		B(SVG) | B(PNG) | B(OFFSET) | B(LENGTH) | B(JSON), 1, MANY, cmd_heatmap,
	}, {
		"explain", "SET CHUNK[-CHUNK]... | [SET] FILE...", "say where chunks lie, and why",
		"By number, or those of files, of all files below a directory, or of the range that\n"
		"--offset and --length name.\n",
		B(OFFSET) | B(LENGTH) | B(JSON), 1, MANY, cmd_explain,
	}, {
		"events", "[OPTION]... [SET]", "say what happens, as it happens",
		"A line an event: mode, tier_errors, tier_missing, tier_back, evacuated... With\n"
		"--exec, TIER_SET, TIER_UUID, TIER_EVENT, TIER_RANK, TIER_MODE and TIER_TEXT tell\n"
		"the command what happened.\n",
		B(EXEC) | B(ONCE) | B(TIMEOUT) | B(JSON), 0, 1, cmd_events,
	}, {
		"metrics", "[SET]...", "report in Prometheus' text format",
		"Of active sets.\n", B(JSON), 0, MANY, cmd_metrics,
	}, {
		"check", "SET | DEV | FILE", "check the metadata of a set",
		"And, of an inactive set, the labels on its tiers. Clears the flag needs_check if\n"
		"nothing is wrong. An active set is checked as far as a metadata snapshot shows it.\n"
		"A FILE has the contents of a metadata device.\n",
		B(JSON) | B(TEST), 1, 1, cmd_check,
	}, {
		"dump", "[OPTION]... SET | DEV | FILE", "write the metadata of a set as text",
		"Keep it somewhere else: tierctl restore makes metadata of it again. An active set\n"
		"is dumped by way of a metadata snapshot; one that is held already is dumped with\n"
		"--force alone. A FILE has the contents of a metadata device.\n",
		B(FORCE) | B(OUTPUT) | B(FORMAT), 1, 1, cmd_dump,
	}, {
		"restore", "FILE DEV|NEWFILE", "make metadata of a dump",
		"Only a dump of the set as it is now will do: one from before the last activation makes\n"
		"metadata that is refused as stale, and chunks that were moved, first written or\n"
		"discarded since are wrong.\n",
		B(TEST), 2, 2, cmd_restore,
	}, {
		"repair", "SET|DEV|FILE NEWDEV|NEWFILE [--tiers DEV...] | --label RANK DEV SET",
		"save what can be read of damaged metadata, or write a tier's label anew",
		"The damaged metadata is only read; NEWDEV becomes the metadata device.\n"
		"Chunks whose mapping cannot be read are named, and read as zeroes afterwards.\n"
		"Where records are lost, --force gives up the chunks on tiers that are not named.\n"
		"--label RANK: DEV is the missing tier of that rank, and its label was overwritten. It\n"
		"is said what speaks for that and against it, and asked.\n",
		B(LABEL) | B(TIERS) | B(TEST), 2, 2 + TIER_MAX_TIERS, cmd_repair,
	}, {
		"add", "SET DEV | SET --size SIZE --pv PV", "add a tier to a set in use",
		"The set stays as large as it is: tierctl resize makes it larger. With --size and\n"
		"--pv a logical volume is made first, called --name or SET_tvolN.\n",
		B(ABORT) | B(AT) | B(NAME) | B(PV) | B(SIZE) | B(TEST), 1, 2, cmd_add,
	}, {
		"remove", "[OPTION]... SET DEV|RANK", "empty a tier and take it out of the set",
		"Ctrl-C detaches, the emptying goes on; the same command again finishes it. A\n"
		"logical volume that tierctl add made is removed, too.\n",
		B(ABORT) | B(BACKGROUND) | B(TEST), 2, 2, cmd_remove,
	}, {
		"replace", "[OPTION]... SET OLD NEW", "put another device in the place of a tier",
		"OLD is a DEV or RANK. Adds NEW, moves what is on OLD, takes OLD out. Ctrl-C\n"
		"detaches, the emptying goes on; the same command again finishes it.\n",
		B(ABORT) | B(BACKGROUND) | B(TEST), 3, 3, cmd_replace,
	}, {
		"resize", "[--size SIZE] SET", "make a set larger, or smaller",
		"Without --size: as large as its tiers allow. Smaller only if nothing is stored\n"
		"above the new end.\n",
		B(ABORT) | B(SIZE) | B(TEST), 1, 1, cmd_resize,
	}, {
		"rename", "OLD NEW", "give an active set another name", NULL,
		B(ABORT) | B(TEST), 2, 2, cmd_rename,
	},
	{ NULL, NULL, NULL, NULL, 0, 0, 0, NULL },
};
