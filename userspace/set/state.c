// SPDX-License-Identifier: GPL-2.0-only
#include "set/state.h"

#include <fcntl.h>
#include <unistd.h>

#include "base/context.h"
#include "base/util.h"
#include "format/metadata.h"

int set_write_state(const struct set *s, u32 state, unsigned int survivor)
{
	int fd = device_open(&s->meta_dev, O_RDWR | O_DIRECT), r = fd;
	const char *reason = "metadata cannot be opened";

	if (fd >= 0) {
		s->ctx->changed = true;
		r = md_set_state(fd, state, survivor, &reason);
		close(fd);
	}
	if (r < 0)
		err(s->ctx, ERR_IO, "%s: %s.", s->meta_dev.name, reason);
	return r < 0 ? r : 0;
}
