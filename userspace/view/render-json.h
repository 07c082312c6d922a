/* SPDX-License-Identifier: GPL-2.0-only */
/* Shared by the sources that make JSON. */
#ifndef TIERCTL_RENDER_JSON_H
#define TIERCTL_RENDER_JSON_H

#include <json-c/json.h>
#include <stdbool.h>
#include <stdint.h>

#include "set/set.h"

void put_number(json_object *o, const char *key, uint64_t n);
/* NULL gives null. */
void put_string(json_object *o, const char *key, const char *s);
void put_bool(json_object *o, const char *key, bool b);
/* A rank; null for a negative one. */
void put_rank(json_object *o, const char *key, int rank);
/* name, uuid, device */
void put_identity(json_object *o, const struct set *s);

/* The object of the set that was reported last. */
json_object *json_last_set(void);
/* A new object in sets. */
json_object *json_new_set(const struct set *s);

#endif
