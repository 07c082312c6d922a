/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Probes of functions that have other names from version to version: those that this kernel has are
 * registered.  Included after the array probes[].
 */
static bool registered[ARRAY_SIZE(probes)];

static void probes_exit(void)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(probes); i++)
		if (registered[i])
			unregister_kprobe(&probes[i]);
}

static int __init probes_init(void)
{
	unsigned int i;
	int r = -ENOENT;

	for (i = 0; i < ARRAY_SIZE(probes); i++) {
		registered[i] = !register_kprobe(&probes[i]);
		if (registered[i])
			r = 0;
	}
	return r;
}

module_init(probes_init);
module_exit(probes_exit);
