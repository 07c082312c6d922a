// SPDX-License-Identifier: GPL-2.0-only
#include "cmd/commands.h"

#define O(name, ...)	{ .id = OPT_##name, ##__VA_ARGS__ }
/* Every command that changes something takes the first three, every command the others. */
#define CHANGES		O(TEST), O(YES), O(FORCE)
#define COMMON		O(HELP), O(VERSION), O(QUIET), O(VERBOSE)
#define MANY	4096

const struct command commands[] = {
	{
		.name = "create",
		.synopsis = "NAME [OPTION]... DEV...",
		.summary = "make a tiered device of several devices",
		.help = "DEV... are the tiers, fastest first. Their contents and that of the metadata\n"
			"device are lost; devices that carry something are refused without --force, those\n"
			"in use always. The metadata is mirrored on two of the tiers, or lies on --metadata;\n"
			"whoever loses the metadata loses the set, so that device has to be a mirror.\n",
		.words = "@volume @file",
		.options = {
			O(METADATA, .more = ", a mirror. Without it the metadata is mirrored on the fastest tier and the "
				"next one on another disk."),
			O(MIRROR, .not_with = OPT_METADATA,
			  .more = ": nothing is mirrored, and whoever loses that tier loses the set."),
			O(CHUNKSIZE, .more = "A chunk moves as a whole."),
			O(SIZE, .help = "size of the tiered device, a multiple of 4k (default: all that fits)"),
			O(POLICY), O(FEATURE), O(SET),
			O(FORCE, .more = ": use devices that carry something."),
			O(TEST), O(YES), O(JSON), COMMON,
		},
		.min_words = 2, .max_words = 1 + TIER_MAX_TIERS, .run = cmd_create,
	}, {
		.name = "convert",
		.synopsis = "[OPTION]... VG/LV {--fast DEV... | --fast-size SIZE --fast-pv PV} [--metadata DEV]\n"
			    "[OPTION]... DEV --name NAME --fast DEV... --metadata DEV\n"
			    "--abort VG/LV | DEV --name NAME\n"
			    "--at-boot --abort VG/LV",
		.summary = "put faster devices in front of a device with data, in place",
		.help = "It must be closed. Give --fast DEV, or --fast-size SIZE --fast-pv PV, and --metadata\n"
			"DEV; for a logical volume it is made, mirrored if there are physical volumes for\n"
			"it. A logical volume keeps its name; what is no logical volume needs --name. The\n"
			"same command again goes on after an interruption.\n",
		.words = "@volume @file",
		.options = {
			O(FAST, .not_with = OPT_FAST_SIZE,
			  .more = "Its contents are lost. One that carries something is refused without "
				"--force, a logical volume whose name ends in _torig always."),
			O(FAST_SIZE), O(FAST_PV),
			O(METADATA, .more = ", best a mirrored one."),
			O(NAME, .help = "what to call the new device, if the old one is no logical volume"),
			O(CHUNKSIZE), O(POLICY),
			O(ABORT, .help = "undo a conversion that was interrupted and that nobody has used yet",
			  .more = "; also one that LVM or the kernel refused to finish. INTERRUPTED says how. A set "
				"that has been active is turned back by tierctl-revert(8). Of a set of "
				"logical volumes whose destruction was interrupted, it does the rest: the "
				"volume that was converted gets its name back and loses its tags. Asks if "
				"DEV does not begin with what was copied from the device by then, or no "
				"tier is there that has that."),
			O(AT_BOOT, .not_with = OPT_NAME,
			  .more = ": for a volume that cannot be closed, such as that of the root file system. AT "
				"BOOT says how. With --abort it takes that order back."),
			O(TEST, .more = "Each LVM command and the table line are shown."),
			O(YES), O(FORCE), O(JSON), COMMON,
		},
		.min_words = 1, .max_words = 1, .run = cmd_convert,
	}, {
		.name = "revert",
		.synopsis = "[OPTION]... SET",
		.summary = "turn a set into one of its tiers, in use",
		.help = "Everything goes back to the volume that was converted, or to the slowest tier or\n"
			"--tier, which then takes the set's place; the others become free. A volume that the\n"
			"set has outgrown is extended, after a question. Ctrl-C detaches, the moving goes on;\n"
			"the same command again goes on after an interruption.\n",
		.words = "@set",
		.options = {
			O(TIER, .help = "the tier that takes the set's place, 0 is the fastest",
			  .more = "Only if the set is not named by a logical volume."),
			O(ABORT, .help = "stay a set: chunks stop moving home",
			  .more = "Once all is back that is too late, and refused."),
			O(TEST, .more = "Each LVM command and the table line are shown."),
			O(YES), O(FORCE), O(JSON), COMMON,
		},
		.min_words = 1, .max_words = 1, .run = cmd_revert,
	}, {
		.name = "destroy",
		.synopsis = "[OPTION]... SET\n"
			    "[OPTION]... DEV...",
		.summary = "take a set apart, what is in it is lost",
		.help = "Removes the device and wipes the labels and, last, the metadata. DEV... are what\n"
			"is left of a set whose other devices are gone, or one of two that say they are\n"
			"the same part.\n",
		.words = "@set @file",
		.options = {
			O(FORCE,
			  .more = ": wipe also what may still be needed (see above), and what may be another "
				"name of a disk that is."),
			O(TEST), O(YES), O(JSON), COMMON,
		},
		.min_words = 1, .max_words = 1 + TIER_MAX_TIERS, .run = cmd_destroy,
	}, {
		.name = "activate",
		.synopsis = "[OPTION]... SET...\n"
			    "[OPTION]... --all | --auto [DEV]...",
		.summary = "make the device of a set that was found",
		.help = "A tier that is missing, an old copy of itself, or carries something else beside its\n"
			"label, makes it fail, unless --degraded: then the chunks on that tier give I/O errors\n"
			"until it is back, and the exit status is 3. --force writes over what lies beside a\n"
			"label.\n"
			"With --auto DEV: the set that DEV belongs to, if nothing of it is missing; else nothing.\n"
			"This is what udev starts for each device of a set.\n",
		.words = "@set",
		.options = {
			O(ALL, .help = "every set that was found", .not_with = OPT_AUTO),
			O(AUTO,
			  .more = "Every set that is complete, or the one that DEV belongs to. A set that "
				"is active, of which something is missing, or whose name or UUID is a "
				"line of */etc/dm-tier/not-auto* is left alone, and so is a "
				"device that belongs to none; the exit status is then 0. This is what "
				"udev starts for each device of a set that appears; calls for one set "
				"wait for each other, two minutes at most. What another command has in "
				"hand is left to it. Within an event of udev it works in the background."),
			O(DEGRADED, .more = ", or not what they were, see above."),
			O(FORCE,
			  .more = ": use a tier that carries something else beside its label, which is "
				"written over, and a device that is left out otherwise, see above."),
			O(READ_ONLY,
			  .more = ", its labels and metadata included. What tierctl-convert(8) or "
				"tierctl-revert(8) left half-done is not finished, and such a set is "
				"refused."),
			O(NO_CHECK, .not_with = OPT_READ_ONLY,
			  .more = "The flag needs_check stays, and such a set is read-only. Metadata that "
				"is damaged can then stop the kernel."),
			O(TAKE_OVER, .not_with = OPT_AUTO,
			  .more = "That machine must be off, or cut off from the devices: nothing here "
				"keeps it from writing to them, and two that write destroy the set. "
				"See SEVERAL MACHINES in lvmtier(7)."),
			O(RESERVE, .not_with = OPT_AUTO,
			  .more = "By persistent reservations of SCSI or NVMe, on whole disks that know them; "
				"deactivation ends them. With --take-over, the machine that has reserved them is shut out "
				"first. A disk with keys of another program, as a cluster's fence or LVM, is left to that. "
				"See SEVERAL MACHINES in lvmtier(7)."),
			O(FEATURE),
			O(NAME,
			  .more = "A read-write activation records the name in the set. One that was a "
				"logical volume keeps the name that it has by that."),
			O(TEST), O(YES), O(JSON), COMMON,
		},
		.min_words = 0, .max_words = MANY, .run = cmd_activate,
	}, {
		.name = "deactivate",
		.synopsis = "[OPTION]... SET...\n"
			    "[OPTION]... --all",
		.summary = "remove the device of a set, its contents stay",
		.words = "@set",
		.options = {
			O(ALL, .help = "every active set"),
			CHANGES, O(JSON), COMMON,
		},
		.min_words = 0, .max_words = MANY, .run = cmd_deactivate,
	}, {
		.name = "list",
		.synopsis = "[--json] [SET]...",
		.summary = "list sets, active or not",
		.words = "@set",
		.options = {
			O(JSON), COMMON,
		},
		.min_words = 0, .max_words = MANY, .run = cmd_list,
	}, {
		.name = "scan",
		.synopsis = "[--json] [DEV]...\n"
			    "[--json] --all",
		.summary = "list the devices that belong to sets",
		.help = "With --all, or named, also those that do not, and what they carry.\n",
		.words = "@file",
		.options = {
			O(ALL, .help = "also the devices that belong to no set, and what they carry"),
			O(JSON), COMMON,
		},
		.min_words = 0, .max_words = MANY, .run = cmd_scan,
	}, {
		.name = "status",
		.synopsis = "[--interval SECONDS] [--json] [SET]...",
		.summary = "show how sets are doing",
		.words = "@set",
		.options = {
			O(INTERVAL,
			  .more = "Rates are shown instead of counters: bytes a second and "
				"the mean time of a request for each device, moves included."),
			O(JSON), COMMON,
		},
		.min_words = 0, .max_words = MANY, .run = cmd_status,
	}, {
		.name = "pause",
		.synopsis = "[OPTION]... SET...",
		.summary = "stop migration",
		.help = "What tierctl migrate and pin ask for still moves. Lasts until tierctl resume.\n",
		.words = "@set",
		.options = {
			CHANGES, O(JSON), COMMON,
		},
		.min_words = 1, .max_words = MANY, .run = cmd_pause,
	}, {
		.name = "resume",
		.synopsis = "[OPTION]... SET...",
		.summary = "let migration go on",
		.help = "It is migration that resumes: I/O to the set never stopped.\n",
		.words = "@set",
		.options = {
			CHANGES, O(JSON), COMMON,
		},
		.min_words = 1, .max_words = MANY, .run = cmd_resume,
	}, {
		.name = "schedule",
		.synopsis = "[--apply] [OPTION]... SET HH:MM-HH:MM...\n"
			    "--clear [OPTION]... SET\n"
			    "[--json] SET",
		.summary = "let migration run at certain hours",
		.help = "Local time; installs a timer of systemd. Outside these hours migration is paused,\n"
			"at their beginning it is resumed. Without hours it says which there are; at most\n"
			"24 of them.\n",
		.words = "@set",
		.options = {
			O(APPLY, .not_with = OPT_CLEAR,
			  .more = "That is what the timer calls; another service like cron(8) can, too."),
			O(CLEAR, .help = "take the timer away: migration at all hours again",
			  .more = "A set that is inactive and may be paused is to be resumed by hand when "
				"it is active again, which is said. If systemd does not let go of the "
				"timer, migration is resumed until its next time, the exit status is 1, "
				"and the same command again finishes it."),
			O(JSON),
			O(TEST, .more = "The files that would be written and what would be run are shown."),
			O(YES), O(FORCE), COMMON,
		},
		.min_words = 1, .max_words = 25, .run = cmd_schedule,
	}, {
		.name = "set",
		.synopsis = "[OPTION]... SET KEY=VALUE...",
		.summary = "change tunables, for good",
		.help = "Target: migration_bandwidth (per second, 0 = no limit), migration_depth (chunks),\n"
			"latency_guard (percent, 0 = off), heat_interval (seconds), migration_min (per second, 0 =\n"
			"none); of a tier: tierN.endurance (a day, 0 = no limit), tierN.reserve, tierN.landing (yes,\n"
			"no, random or sequential), tierN.latency (of a small read, 0 = measured), tierN.watermark\n"
			"(percent), tierN.quiet and tierN.residence (seconds, 0 = off); those of the policy: see tierctl get.\n",
		.words = "@set,@key",
		.options = {
			CHANGES, O(JSON), COMMON,
		},
		.min_words = 2, .max_words = MANY, .run = cmd_set,
	}, {
		.name = "get",
		.synopsis = "[--json] SET [KEY]",
		.summary = "show tunables, in the kernel's units",
		.help = "KiB/s, GiB a day and chunks.\n",
		.words = "@set,@key",
		.options = {
			O(JSON), COMMON,
		},
		.min_words = 1, .max_words = 2, .run = cmd_get,
	}, {
		.name = "migrate",
		.synopsis = "SET CHUNK[-CHUNK]... --tier RANK [--home] [--wait]\n"
			    "[SET] FILE... --tier RANK [--wait]\n"
			    "SET --offset SIZE --length SIZE --tier RANK [--home] [--wait]",
		.summary = "move chunks to a tier",
		.help = "Or those of files, of all files below a directory, of a device that lies on the\n"
			"set, or the range that --offset and --length name. Goes ahead of everything else,\n"
			"also while migration is paused. Returns at once, without --wait.\n",
		.words = "@set @file",
		.options = {
			O(TIER, .help = "where to, 0 is the fastest tier"),
			O(HOME, .more = "What is there moves away first. Not for files."),
			O(WAIT), O(OFFSET), O(LENGTH), CHANGES, O(JSON), COMMON,
		},
		.min_words = 1, .max_words = MANY, .run = cmd_migrate,
	}, {
		.name = "wait",
		.synopsis = "[OPTION]... SET",
		.summary = "wait until nothing moves",
		.help = "Or, with --evacuated, until a tier is empty. Ctrl-C detaches, the work goes on.\n",
		.words = "@set",
		.options = {
			O(EVACUATED, .more = "The tier has to be one that is being evacuated."),
			O(TIMEOUT, .more = ", from 1 to 4294967295: exit status 1."),
			O(JSON), COMMON,
		},
		.min_words = 1, .max_words = 1, .run = cmd_wait,
	}, {
		.name = "pin",
		.synopsis = "SET CHUNK[-CHUNK]... --tier RANK [--wait]\n"
			    "[SET] FILE... --tier RANK [--wait]\n"
			    "SET --offset SIZE --length SIZE --tier RANK [--wait]\n"
			    "--refresh [SET | FILE]...",
		.summary = "keep chunks on a tier",
		.help = "Or those of files, of all files below a directory, of a device that lies on the\n"
			"set, or the range that --offset and --length name. A file system may move files:\n"
			"tierctl pin --refresh [SET | FILE]... pins again those that were pinned.\n",
		.words = "@set @file",
		.options = {
			O(TIER, .help = "where they are to stay, 0 is the fastest tier", .not_with = OPT_REFRESH),
			O(WAIT, .not_with = OPT_REFRESH), O(REFRESH),
			O(OFFSET, .not_with = OPT_REFRESH), O(LENGTH, .not_with = OPT_REFRESH), CHANGES,
			O(JSON), COMMON,
		},
		.min_words = 0, .max_words = MANY, .run = cmd_pin,
	}, {
		.name = "unpin",
		.synopsis = "SET CHUNK[-CHUNK]...\n"
			    "[SET] FILE...\n"
			    "SET --offset SIZE --length SIZE",
		.summary = "let chunks move again",
		.help = "Or give the range by --offset and --length.\n",
		.words = "@set @file",
		.options = {
			O(OFFSET), O(LENGTH), CHANGES, O(JSON), COMMON,
		},
		.min_words = 1, .max_words = MANY, .run = cmd_unpin,
	}, {
		.name = "evacuate",
		.synopsis = "[--background] [OPTION]... SET DEV|RANK",
		.summary = "empty a tier, place nothing on it",
		.help = "A half of the metadata on it moves first, if another tier can take it.\n"
			"Ctrl-C detaches, the work goes on; so it does after a crash.\n",
		.words = "@set,@rank @file,@file",
		.options = {
			O(BACKGROUND), CHANGES, O(JSON), COMMON,
		},
		.min_words = 2, .max_words = 2, .run = cmd_evacuate,
	}, {
		.name = "admit",
		.synopsis = "[OPTION]... SET DEV|RANK",
		.summary = "use a tier again after evacuate or errors",
		.words = "@set,@rank @file,@file",
		.options = {
			CHANGES, O(JSON), COMMON,
		},
		.min_words = 2, .max_words = 2, .run = cmd_admit,
	}, {
		.name = "top",
		.synopsis = "[OPTION]... [SET]...",
		.summary = "watch sets work",
		.help = "Keys: q quits, f names files, + and - change the interval.\n",
		.words = "@set",
		.options = {
			O(INTERVAL, .help = "between two screens, 1 to 86400 (default 2, with --once and --json 1)",
			  .more = "Rates are those since the last screen."),
			O(BATCH, .more = ", until interrupted."),
			O(ONCE, .help = "plain text, one screen",
			  .more = ", after measuring for a second or the interval."),
			O(FILES,
			  .more = ", by their part of the hottest chunks. All files of the file systems on "
				"the set are looked at first, and again every minute, or less often if "
				"that takes long."),
			O(JSON, .more = ", once, see tierctl(8). A set then has *hot_chunks* and *hot_files*, too."),
			COMMON,
		},
		.min_words = 0, .max_words = MANY, .run = cmd_top,
	}, {
		.name = "heatmap",
		.synopsis = "[OPTION]... SET [CHUNK[-CHUNK]... | FILE...]\n"
			    "[OPTION]... FILE...\n"
			    "[OPTION]... SET --offset SIZE --length SIZE",
		.summary = "draw where things lie and how hot they are",
		.help = "Of all of a set, of chunks, of files, of all files below a directory, or of the\n"
			"range that --offset and --length name.\n",
		.words = "@set @file",
		.options = {
			O(SVG,
			  .more = "- is standard output. Each square says what it is when it is pointed at."),
			O(PNG,
			  .more = "- is standard output. Nothing is drawn on the terminal then. A file that "
				"is there is replaced, but for an image of metadata or a tier."),
			O(OFFSET), O(LENGTH),
			O(JSON,
			  .more = ", see tierctl(8). A set then has *cells* with the first chunk and the number of chunks, "
				"what is mapped of them, their reads, writes and heat, and how many lie "
				"on each tier."),
			COMMON,
		},
		.min_words = 1, .max_words = MANY, .run = cmd_heatmap,
	}, {
		.name = "explain",
		.synopsis = "[--json] SET CHUNK[-CHUNK]...\n"
			    "[--json] [SET] FILE...\n"
			    "[--json] SET --offset SIZE --length SIZE",
		.summary = "say where chunks lie, and why",
		.help = "By number, or those of files, of all files below a directory, or of the range that\n"
			"--offset and --length name.\n",
		.words = "@set @file",
		.options = {
			O(OFFSET), O(LENGTH),
			O(JSON, .more = ", see tierctl(8). A set then has *paths* and *chunk_list*, with each chunk."),
			COMMON,
		},
		.min_words = 1, .max_words = MANY, .run = cmd_explain,
	}, {
		.name = "advise",
		.synopsis = "[--json] SET",
		.summary = "say what more fast storage would bring, and what holds chunks back",
		.words = "@set",
		.options = {
			O(JSON, .more = ", see tierctl(8). A set then has *share_now*, *fast_tier*, *held_back* and *last_day*."),
			COMMON,
		},
		.min_words = 1, .max_words = 1, .run = cmd_advise,
	}, {
		.name = "events",
		.synopsis = "[OPTION]... [SET]",
		.summary = "say what happens, as it happens",
		.help = "A line an event: mode, tier_errors, tier_missing, tier_back, evacuated... With\n"
			"--exec, TIER_SET, TIER_UUID, TIER_EVENT, TIER_RANK, TIER_MODE and TIER_TEXT tell\n"
			"the command what happened.\n",
		.words = "@set",
		.options = {
			O(EXEC,
			  .more = ", one after the other. *TIER_SET*, *TIER_UUID*, *TIER_EVENT* (a word from "
				"above), *TIER_RANK* (empty if it is not about a tier), *TIER_MODE* and "
				"*TIER_TEXT* are in its environment."),
			O(JOURNAL, .not_with = OPT_JSON,
			  .more = ": an entry an event, with a *MESSAGE_ID* that \"journalctl --catalog\" explains, and "
				"*TIER_SET*, *TIER_UUID*, *TIER_EVENT*, *TIER_RANK* and *TIER_MODE* as fields."),
			O(ONCE, .help = "end once something has happened",
			  .more = "Events that are found together are all told, and each of them runs "
				"COMMAND."),
			O(TIMEOUT, .help = "end after so long",
			  .more = ", from 1 to 1000000; with --once the exit status is 1 if nothing has "
				"happened by then."),
			O(JSON, .help = "an object a line, not wrapped as in other commands",
			  .more = ": *time*, *set*, *uuid*, *event*, *tier*, *mode*, *text*."),
			COMMON,
		},
		.min_words = 0, .max_words = 1, .run = cmd_events,
	}, {
		.name = "metrics",
		.synopsis = "[-o FILE | --json] [SET]...",
		.summary = "report in Prometheus' text format",
		.help = "Of active sets. tier-metrics.timer calls it each minute for node exporter.\n",
		.words = "@set",
		.options = {
			O(OUTPUT, .not_with = OPT_JSON,
			  .more = ". The old contents are there until the new ones are whole."),
			O(JSON), COMMON,
		},
		.min_words = 0, .max_words = MANY, .run = cmd_metrics,
	}, {
		.name = "check",
		.synopsis = "[--json] [OPTION]... SET | DEV | FILE",
		.summary = "check the metadata of a set",
		.help = "And, of an inactive set, the labels on its tiers. Clears the flag needs_check if\n"
			"nothing is wrong. An active set is checked as far as a metadata snapshot shows it.\n"
			"A FILE has the contents of a metadata device.\n",
		.words = "@set @file",
		.options = {
			O(JSON),
			O(TEST, .help = "leave the flag needs_check as it is",
			  .more = "For an active set, say only what would be done."),
			O(YES), O(FORCE), COMMON,
		},
		.min_words = 1, .max_words = 1, .run = cmd_check,
	}, {
		.name = "dump",
		.synopsis = "[OPTION]... SET | DEV | FILE",
		.summary = "write the metadata of a set as text",
		.help = "Keep it somewhere else: tierctl restore makes metadata of it again. An active set\n"
			"is dumped by way of a metadata snapshot; one that is held already is dumped with\n"
			"--force alone. A FILE has the contents of a metadata device.\n",
		.words = "@set @file",
		.options = {
			O(OUTPUT, .more = "; not over what is metadata or a tier."),
			O(FORCE, .help = "dump a metadata snapshot that is held already, and keep it",
			  .more = "; a warning says in which transaction it was made."),
			O(FORMAT), O(JSON, .help = "the same as --format json"), COMMON,
		},
		.min_words = 1, .max_words = 1, .run = cmd_dump,
	}, {
		.name = "backup",
		.synopsis = "[OPTION]... [SET]...",
		.summary = "keep dumps of the metadata of sets",
		.help = "Of all sets, active or not; tier-backup.timer calls it each day. A dump is of use only\n"
			"as long as nothing has moved since, see tierctl restore --help: a mirror is what\n"
			"keeps metadata safe.\n",
		.words = "@set",
		.options = {
			O(DIR, .more = ". It is made if it is missing. Choose one that is not on the set."),
			O(KEEP, .more = ", from 1 to 10000."),
			O(TEST), O(JSON), COMMON,
		},
		.min_words = 0, .max_words = MANY, .run = cmd_backup,
	}, {
		.name = "restore",
		.synopsis = "[OPTION]... FILE DEV|SET|NEWFILE",
		.summary = "make metadata of a dump",
		.help = "Only a dump of the set as it is now will do: one from before the last activation makes\n"
			"metadata that is refused as stale, and chunks that were moved, first written or\n"
			"discarded since are wrong.\n",
		.words = "@file",
		.options = {
			O(FORCE,
			  .more = ", also if another device holds metadata of the set, or if DEV carries "
				"something else than metadata of the set, or newer metadata than the "
				"dump."),
			O(TEST), O(YES), O(JSON), COMMON,
		},
		.min_words = 2, .max_words = 2, .run = cmd_restore,
	}, {
		.name = "repair",
		.synopsis = "[OPTION]... SET|DEV|FILE NEWDEV|NEWFILE [--tiers DEV...]\n"
			    "[OPTION]... --label RANK DEV SET",
		.summary = "save what can be read of damaged metadata, or write a tier's label anew",
		.help = "The damaged metadata is only read; NEWDEV becomes the metadata device.\n"
			"Chunks whose mapping cannot be read are named, and read as zeroes afterwards.\n"
			"Where records are lost, --force gives up the chunks on tiers that are not named.\n"
			"--label RANK: DEV is the missing tier of that rank, and its label was overwritten. It\n"
			"is said what speaks for that and against it, and asked.\n",
		.words = "@set @file",
		.options = {
			O(LABEL),
			O(TIERS, .not_with = OPT_LABEL, .more = "DEV... are then all tiers of the set."),
			O(FORCE,
			  .more = ", also if NEWDEV carries something else than metadata of the set, or newer "
				"metadata. Where records of tiers are lost, give up the chunks that lie "
				"on tiers which are not named; it says how many, and asks once more. With "
				"--label: also if DEV does not look like the tier."),
			O(TEST, .more = "With --label: show what speaks for it and against it."),
			O(YES), O(JSON), COMMON,
		},
		.min_words = 2, .max_words = 2 + TIER_MAX_TIERS, .run = cmd_repair,
	}, {
		.name = "add",
		.synopsis = "[OPTION]... SET DEV\n"
			    "[OPTION]... SET --size SIZE --pv PV",
		.summary = "add a tier to a set in use",
		.help = "The set stays as large as it is: tierctl resize makes it larger. With --size and\n"
			"--pv a logical volume is made first, called --name or SET_tvolN.\n",
		.words = "@set,@file",
		.options = {
			O(AT, .more = "The order is not asked for then."),
			O(SIZE, .help = "make a logical volume of that size",
			  .more = ", rounded up to whole extents."),
			O(PV),
			O(NAME, .help = "what to call the logical volume",
			  .more = "; otherwise SET_tvol0, SET_tvol1 and so on, whatever name is free, with "
				"the name of the volume for SET if a volume was converted. With a name, a "
				"repeated call finds the volume that it made, also after it has become a "
				"tier."),
			O(ABORT,
			  .more = ": a logical volume, a label. A volume that carries something else by now "
				"stays. A tier that was added by then is taken out by tierctl-remove(8)."),
			O(TEST, .more = "Each LVM command and each table line are shown."),
			O(YES), O(FORCE), O(JSON), COMMON,
		},
		.min_words = 1, .max_words = 2, .run = cmd_add,
	}, {
		.name = "remove",
		.synopsis = "[OPTION]... SET DEV|RANK",
		.summary = "empty a tier and take it out of the set",
		.help = "Ctrl-C detaches, the emptying goes on; the same command again finishes it. A\n"
			"logical volume that tierctl add made is removed, too.\n",
		.words = "@set,@rank @file,@file",
		.options = {
			O(BACKGROUND, .more = "The same command without this option finishes it."),
			O(ABORT, .help = "keep the tier: the emptying ends, and the tier is in use again",
			  .more = "What has moved stays where it is. Works until the tier is out."),
			CHANGES, O(JSON), COMMON,
		},
		.min_words = 2, .max_words = 2, .run = cmd_remove,
	}, {
		.name = "replace",
		.synopsis = "[OPTION]... SET OLD NEW",
		.summary = "put another device in the place of a tier",
		.help = "OLD is a DEV or RANK. Adds NEW, moves what is on OLD, takes OLD out. Ctrl-C\n"
			"detaches, the emptying goes on; the same command again finishes it.\n",
		.words = "@set,@rank @file,@file",
		.options = {
			O(BACKGROUND, .help = "do not wait until OLD is empty",
			  .more = "The same command without this option finishes it."),
			O(ABORT, .help = "go back: use OLD again, empty NEW and take it out",
			  .more = "Works until OLD is out. Asks if neither is being emptied: the call may "
				"have been cut short before, but NEW may just as well be a tier that "
				"replaces nothing."),
			CHANGES, O(JSON), COMMON,
		},
		.min_words = 3, .max_words = 3, .run = cmd_replace,
	}, {
		.name = "resize",
		.synopsis = "[--size SIZE] [OPTION]... SET",
		.summary = "make a set larger, or smaller",
		.help = "Without --size: as large as its tiers allow. Smaller only if nothing is stored\n"
			"above the new end.\n",
		.words = "@set",
		.options = {
			O(SIZE, .help = "how large, a multiple of 4k (default: all that fits)"),
			O(ABORT, .help = "forget a table that was loaded and not used",
			  .more = "There is one step, done or not, so that nothing else is to be undone."),
			O(TEST, .more = "The table line is shown."),
			O(YES), O(FORCE), O(JSON), COMMON,
		},
		.min_words = 1, .max_words = 1, .run = cmd_resize,
	}, {
		.name = "rename",
		.synopsis = "[OPTION]... OLD NEW",
		.summary = "give an active set another name",
		.words = "@set",
		.options = {
			O(ABORT, .help = "go back to OLD"),
			CHANGES, O(JSON), COMMON,
		},
		.min_words = 2, .max_words = 2, .run = cmd_rename,
	},
	{ .name = NULL },
};
