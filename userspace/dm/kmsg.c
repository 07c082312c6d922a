// SPDX-License-Identifier: GPL-2.0-only
#include "dm/kmsg.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/util.h"

int kmsg_open(void)
{
	int fd = open("/dev/kmsg", O_RDONLY | O_NONBLOCK | O_CLOEXEC);

	if (fd >= 0)
		lseek(fd, 0, SEEK_END);
	return fd;
}

enum weight {
	WEIGHT_NONE,
	WEIGHT_CONSEQUENCE,	/* "preresume failed, error = -22", from the core */
	WEIGHT_DETAIL,		/* from the target */
	WEIGHT_VERDICT,		/* the constructor's one line */
};

/*
 * The target names the device, "254:0: ", and the message, "message set: ": both are known
 * already.
 */
static const char *skip_context(const char *s)
{
	size_t digits = strspn(s, "0123456789:");
	size_t word;

	if (digits && s[digits - 1] == ':' && s[digits] == ' ')
		s += digits + 1;
	if (!strncmp(s, "message ", 8)) {
		word = strspn(s + 8, "abcdefghijklmnopqrstuvwxyz_");
		if (s[8 + word] == ':' && s[9 + word] == ' ')
			s += 10 + word;
	}
	return s;
}

char *kmsg_line_reason(const char *line, int *weight)
{
	static const char core[] = "device-mapper: ", target[] = "tier: ";
	const char *text = strstr(line, core), *from, *end, *error;
	bool table;

	*weight = WEIGHT_NONE;
	if (!text)
		return NULL;
	text += strlen(core);
	/* "table: 254:0: tier: REASON (-EINVAL)" from the core, "tier: REASON" from the target. */
	from = strstr(text, target);
	if (!from || (from != text && from[-1] != ' '))
		return NULL;
	from = skip_context(from + strlen(target));
	end = from + strcspn(from, "\n");
	table = !strncmp(text, "table: ", 7);
	error = table ? strstr(from, " (-E") : NULL;
	if (error && error < end)
		end = error;
	/* The caller's message goes on after the text. */
	while (end > from && end[-1] == '.')
		end--;
	if (end == from)
		return NULL;
	if (!table)
		*weight = WEIGHT_DETAIL;
	else
		*weight = strncmp(from, "preresume", 9) ? WEIGHT_VERDICT : WEIGHT_CONSEQUENCE;
	return xstrndup(from, end - from);
}

char *kmsg_reason(int handle)
{
	char record[8192], *reason = NULL, *text, *found;
	int weight, best = WEIGHT_NONE;

	if (handle < 0)
		return NULL;
	for (;;) {
		ssize_t n = read(handle, record, sizeof(record) - 1);

		if (n < 0 && (errno == EPIPE || errno == EINTR))
			continue;	/* the log has overwritten some lines: read on */
		if (n <= 0)
			break;
		record[n] = '\0';
		text = strchr(record, ';');
		found = text ? kmsg_line_reason(text + 1, &weight) : NULL;
		if (found && weight > best) {
			free(reason);
			reason = found;
			best = weight;
		} else {
			free(found);
		}
	}
	close(handle);
	return reason;
}
