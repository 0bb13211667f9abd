// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/* What can be wrong with any object, tried on each kind. */
#include "rows.h"

#include "base/crc32c.h"
#include "codec/small.h"
#include <stdio.h>
#include <string.h>

typedef struct subject {
    const char *name;
    object_kind kind;
    bw_status (*decode)(const smith *s, buf *o, bw_error *error);
    void (*make)(smith *s, buf *o);
} subject;

/* ---- the kinds ---- */

static void take(smith *s, buf *o, const char *key)
{
    const buf *stored = smith_object_at(s, key);
    buf_put(o, stored->data, stored->size);
}

static void take_segment(smith *s, buf *o, const segment_ref *ref)
{
    object_key key;
    segment_ref_key(ref, &key);
    take(s, o, key.text);
}

static void make_genesis(smith *s, buf *o)
{
    take(s, o, "genesis");
}

static bw_status decode_genesis(const smith *s, buf *o, bw_error *error)
{
    (void)s;
    genesis g;
    return genesis_decode(view_of(o->data, o->size), &g, error);
}

static void make_manifest(smith *s, buf *o)
{
    take(s, o, "manifest/00000000000000000002.manifest");
}

static bw_status decode_manifest(const smith *s, buf *o, bw_error *error)
{
    manifest *m = NULL;
    const bw_status status = manifest_decode(o->data, o->size, s->genesis.dp, &m, error);
    if (m != NULL)
        m->object = NULL; /* it stays the row's */
    manifest_unref(m);
    return status;
}

static void make_segment(smith *s, buf *o)
{
    take_segment(s, o, &s->refs[1]);
}

static void make_index(smith *s, buf *o)
{
    take_segment(s, o, &s->refs[0]);
}

static bw_status decode_segment(const smith *s, buf *o, bw_error *error)
{
    segment decoded;
    return segment_decode(view_of(o->data, o->size), s->genesis.dp, &decoded, error);
}

static void make_page(smith *s, buf *o)
{
    object_key key;
    key_page(&key, s->m.page.version, s->m.page.nonce);
    take(s, o, key.text);
}

static bw_status decode_page(const smith *s, buf *o, bw_error *error)
{
    (void)s;
    page p;
    const bw_status status = page_decode(view_of(o->data, o->size), &p, error);
    if (status == BW_OK)
        page_free(&p);
    return status;
}

static void make_marker(smith *s, buf *o)
{
    must(marker_encode(s->genesis.uuid, 0, o) == BW_OK, "marker_encode");
}

static bw_status decode_marker(const smith *s, buf *o, bw_error *error)
{
    (void)s;
    uint8_t uuid[UUID_BYTES];
    uint64_t number;
    return marker_decode(view_of(o->data, o->size), uuid, &number, error);
}

static void make_hint(smith *s, buf *o)
{
    must(hint_encode(s->genesis.uuid, 2, o) == BW_OK, "hint_encode");
}

static bw_status decode_hint(const smith *s, buf *o, bw_error *error)
{
    (void)s;
    uint8_t uuid[UUID_BYTES];
    uint64_t version;
    return hint_decode(view_of(o->data, o->size), uuid, &version, error);
}

static void make_state(smith *s, buf *o)
{
    must(state_encode(s->genesis.uuid, 1, 10, view_text("resume here"), o) == BW_OK,
         "state_encode");
}

static bw_status decode_state(const smith *s, buf *o, bw_error *error)
{
    (void)s;
    uint8_t uuid[UUID_BYTES];
    uint32_t epoch;
    uint64_t seq;
    view state;
    return state_decode(view_of(o->data, o->size), uuid, &epoch, &seq, &state, error);
}

static void make_footer(smith *s, buf *o)
{
    const shape *last = &s->steps[0].shape;
    object_key key;
    smith_part_key(s, 0, last->parts - 1u, &key);
    const buf *part = smith_object_at(s, key.text);
    buf_put(o, part->data + part->size - last->footer_bytes, last->footer_bytes);
}

static bw_status decode_footer(const smith *s, buf *o, bw_error *error)
{
    (void)s;
    footer f;
    const bw_status status = footer_decode(view_of(o->data, o->size), &f, error);
    if (status == BW_OK)
        footer_free(&f);
    return status;
}

static const subject subjects[] = {
    {"genesis", OBJECT_GENESIS, decode_genesis, make_genesis},
    {"manifest", OBJECT_MANIFEST, decode_manifest, make_manifest},
    {"segment", OBJECT_SEGMENT, decode_segment, make_segment},
    {"index", OBJECT_SEGMENT, decode_segment, make_index},
    {"page", OBJECT_PAGE, decode_page, make_page},
    {"marker", OBJECT_MARKER, decode_marker, make_marker},
    {"hint", OBJECT_HINT, decode_hint, make_hint},
    {"state", OBJECT_STATE, decode_state, make_state},
    {"footer", OBJECT_FOOTER, decode_footer, make_footer},
};

/* ---- the rows ---- */

typedef struct row {
    const char *name;
    bw_status expected;
    bool resealed;
    void (*spoil)(buf *o);
} row;

/* Another body length, under a CRC that is right. */
static void lie(buf *o, uint64_t body_bytes)
{
    put64(o, 8, body_bytes);
    put32(o, o->size - 4, crc32c(0, o->data, o->size - 4));
}

#define ROW(name, status, resealed, ...)                                                           \
    static void ROW_NAME(spoil_, __LINE__)(buf * o)                                                \
    {                                                                                              \
        __VA_ARGS__;                                                                               \
    }
#include "object.def"
#undef ROW

static const row rows[] = {
#define ROW(name, status, resealed, ...) {name, BW_##status, resealed, ROW_NAME(spoil_, __LINE__)},
#include "object.def"
};

typedef struct trial {
    char name[80];
    const subject *subject;
    const row *row; /* NULL: one byte above the cap */
    smith smith;
    buf object;
} trial;

static bw_status attempt(void *context, bw_error *error)
{
    trial *t = context;
    return t->subject->decode(&t->smith, &t->object, error);
}

static void test_trial(void **state)
{
    trial *t = *state;
    smith_init(&t->smith, 2);
    buf_init(&t->object, (size_t)32 << 20);
    t->subject->make(&t->smith, &t->object);
    (void)expect_success(attempt, t);
    if (t->row == NULL) {
        grow(&t->object, t->object.size - 4,
             object_bytes_max(t->subject->kind) + 1 - t->object.size);
        reseal(&t->object);
    } else {
        t->row->spoil(&t->object);
        if (t->row->resealed)
            reseal(&t->object);
    }
    expect_refusal(attempt, t, t->row == NULL ? BW_CORRUPT : t->row->expected, 0);
    buf_free(&t->object);
    smith_free(&t->smith);
}

int main(void)
{
    static trial trials[COUNT(subjects) * (COUNT(rows) + 1)];
    static struct CMUnitTest tests[COUNT(trials)];
    size_t count = 0;
    for (size_t i = 0; i < COUNT(subjects); i++) {
        for (size_t k = 0; k <= COUNT(rows); k++) {
            trial *t = &trials[count];
            t->subject = &subjects[i];
            t->row = k < COUNT(rows) ? &rows[k] : NULL;
            snprintf(t->name, sizeof t->name, "%s: %s", subjects[i].name,
                     t->row != NULL ? t->row->name : "one byte above its cap");
            tests[count++] =
                (struct CMUnitTest){.name = t->name, .test_func = test_trial, .initial_state = t};
        }
    }
    return _cmocka_run_group_tests("hostile_object", tests, count, NULL, print_refusals);
}
