// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/* Manifests that say something impossible, each in one way, with every check sum right. */
#include "rows.h"

#include <stdio.h>
#include <string.h>

static uint8_t long_name[300]; /* of the letter a */

typedef struct row {
    const char *name;
    bw_status expected;
    void (*field)(smith *s, manifest *m);
    void (*bytes)(const smith *s, const manifest *m, buf *o);
} row;

static void swap_refs(smith *s)
{
    const segment_ref first = s->refs[0];
    s->refs[0] = s->refs[1];
    s->refs[1] = first;
}

static void swap_producers(smith *s)
{
    const producer_entry first = s->producers[0];
    s->producers[0] = s->producers[1];
    s->producers[1] = first;
}

static void many_groups(smith *s)
{
    static char names[GROUPS_MAX + 1][8];
    for (uint32_t i = 0; i <= GROUPS_MAX; i++) {
        s->groups[i] = s->groups[0];
        snprintf(names[i], sizeof names[i], "g%03u", i);
        s->groups[i].name = view_text(names[i]);
    }
    s->m.group_count = GROUPS_MAX + 1;
}

/* Where the counts stand in the encoded object. */
static size_t at_producers(const manifest *m)
{
    return 332 + m->tail.bytes.size;
}

static size_t at_groups(const smith *s)
{
    buf entries;
    buf_init(&entries, 1 << 20);
    for (uint32_t i = 0; i < s->m.producer_count; i++)
        producer_entry_encode(&s->m.producers[i], &entries);
    const size_t at = at_producers(&s->m) + 4 + entries.size;
    buf_free(&entries);
    return at;
}

#define FIELD(name, status, ...)                                                                   \
    static void ROW_NAME(field_, __LINE__)(smith * s, manifest * m)                                \
    {                                                                                              \
        (void)s, (void)m;                                                                          \
        __VA_ARGS__;                                                                               \
    }
#define BYTES(name, status, ...)                                                                   \
    static void ROW_NAME(bytes_, __LINE__)(const smith *s, const manifest *m, buf *o)              \
    {                                                                                              \
        (void)s, (void)m;                                                                          \
        __VA_ARGS__;                                                                               \
    }
#include "manifest.def"
#undef FIELD
#undef BYTES

static const row rows[] = {
#define FIELD(name, status, ...) {name, BW_##status, ROW_NAME(field_, __LINE__), NULL},
#define BYTES(name, status, ...) {name, BW_##status, NULL, ROW_NAME(bytes_, __LINE__)},
#include "manifest.def"
};

/* The decoder takes over the bytes of what it accepts; here they stay the smith's. */
static bw_status attempt(void *context, bw_error *error)
{
    smith *s = context;
    buf *o = smith_object_at(s, "manifest/00000000000000000002.manifest");
    manifest *m = NULL;
    const bw_status status = manifest_decode(o->data, o->size, s->genesis.dp, &m, error);
    if (m != NULL)
        m->object = NULL;
    manifest_unref(m);
    return status;
}

static void test_row(void **state)
{
    const row *r = *state;
    smith s;
    smith_init(&s, 2);
    (void)expect_success(attempt, &s);
    buf *o = smith_object_at(&s, "manifest/00000000000000000002.manifest");
    if (r->field != NULL) {
        r->field(&s, &s.m);
        buf_reset(o);
        assert_int_equal(manifest_encode(&s.m, o), BW_OK);
    } else {
        r->bytes(&s, &s.m, o);
        reseal(o);
    }
    expect_refusal(attempt, &s, r->expected, 0);
    smith_free(&s);
}

int main(void)
{
    memset(long_name, 'a', sizeof long_name);
    return run_rows("hostile_manifest", rows, COUNT(rows), sizeof rows[0], test_row);
}
