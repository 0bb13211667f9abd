// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/* Namespaces that lie, opened and used as users do: through the public functions. */
#include "rows.h"

#include "../fuzz/meter.h"
#include "codec/small.h"
#include <batchweave/batchweave.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define SECOND 1000000000ll
#define FIRST "manifest/00000000000000000001.manifest"
#define NEWEST "manifest/00000000000000000002.manifest"
#define NEXT "manifest/00000000000000000003.manifest"
#define SMITH_UUID "0102030405060708090a0b0c0d0e0f10"
#define CURSOR(uuid, step, item, dp, nonce, skips)                                                 \
    "{\"batchweave\":1,\"namespace\":\"" uuid "\",\"step\":" step ",\"item\":" item                \
    ",\"mode\":\"same_batch\",\"dp\":" dp ",\"nonce\":" nonce ",\"version\":1,\"skips\":" skips    \
    "}"

static char long_key[1026]; /* of the letter a */

/* What a row asks for beside the objects. */
static bool raw, link_out;
static const char *directory, *fifo, *spoiled;

typedef struct trial {
    char root[64], url[96];
    bw_runtime *runtime;
    bw_space *space;
    const struct action *action;
} trial;

typedef struct action {
    bw_status (*run)(trial *t, bw_error *error);
    const char *text;
    uint64_t number;
    bool writes;
} action;

/* ---- actions ---- */

static int no_line(void *context, const char *json)
{
    (void)context;
    (void)json;
    return 0;
}

static bw_status run_nothing(trial *t, bw_error *error)
{
    (void)t, (void)error;
    return BW_OK;
}

static bw_status report(trial *t, const char *what, const char *name, const char *value,
                        bw_error *error)
{
    bw_config *config = bw_config_new();
    must(config != NULL, "memory");
    must(name == NULL || bw_config_set(config, name, value, NULL) == BW_OK, name);
    const bw_status status = bw_space_report(t->space, what, config, no_line, NULL, error);
    bw_config_free(config);
    return status;
}

static bw_status run_info(trial *t, bw_error *error)
{
    BW_TRY(report(t, "info", NULL, NULL, error));
    return report(t, "inspect", "key", NEWEST, error);
}

static bw_status run_steps(trial *t, bw_error *error)
{
    return report(t, "steps", NULL, NULL, error);
}

static bw_status run_verify(trial *t, bw_error *error)
{
    return report(t, "verify", NULL, NULL, error);
}

static bw_status run_deep(trial *t, bw_error *error)
{
    return report(t, "verify", "deep", "true", error);
}

static bw_status run_inspect(trial *t, bw_error *error)
{
    return report(t, "inspect", "key", t->action->text, error);
}

static bw_status run_item(trial *t, bw_error *error)
{
    bw_item *item = NULL;
    const bw_status status =
        bw_space_item(t->space, t->action->number, 0, 0, 0, 10 * SECOND, &item, error);
    if (status == BW_OK)
        bw_item_release(item);
    return status;
}

static bw_status run_meta(trial *t, bw_error *error)
{
    char *json = NULL;
    const bw_status status =
        bw_space_step_meta(t->space, t->action->number, 10 * SECOND, &json, error);
    if (status == BW_OK)
        bw_text_free(json);
    return status;
}

/* All steps that are there; the first call may already meet what lies ahead. */
static bw_status run_consumer(trial *t, const bw_cursor *from, uint32_t items, bw_error *error)
{
    bw_config *config = bw_config_new();
    bw_consumer *consumer = NULL;
    must(config != NULL && bw_config_set(config, "d", "0", NULL) == BW_OK, "memory");
    bw_status status =
        bw_consumer_open(t->space, NULL, config, from, 10 * SECOND, &consumer, error);
    bw_config_free(config);
    for (uint32_t i = 0; i < items && status == BW_OK; i++) {
        bw_item *item = NULL;
        status = bw_consumer_next(consumer, 10 * SECOND, &item, error);
        if (status == BW_OK)
            bw_item_release(item);
    }
    bw_consumer_close(consumer);
    return status;
}

static bw_status run_hand_out(trial *t, bw_error *error)
{
    return run_consumer(t, NULL, SMITH_STEPS, error);
}

static bw_status run_resume(trial *t, bw_error *error)
{
    bw_cursor *from = NULL;
    BW_TRY(bw_cursor_parse(t->action->text, strlen(t->action->text), &from, error));
    const bw_status status = run_consumer(t, from, 1, error);
    bw_cursor_free(from);
    return status;
}

static bw_status put_one(trial *t, bw_producer *p, bw_error *error)
{
    bw_batch *batch = NULL;
    uint64_t offset = 0;
    BW_TRY(bw_producer_resume(p, &offset, NULL, NULL));
    BW_TRY(bw_batch_new(p, 1, &batch, error));
    for (uint32_t d = 0; d < bw_space_dp(t->space); d++)
        BW_TRY(bw_batch_pad(batch, d, 0, 0, error));
    const bw_status status = bw_producer_put(p, batch, offset + 1, NULL, 0, 0, SECOND, error);
    if (status != BW_OK) {
        bw_batch_free(batch);
        return status;
    }
    return bw_producer_flush(p, BW_URGENT, 10 * SECOND, error);
}

static bw_status run_produce(trial *t, bw_error *error)
{
    bw_producer *p = NULL;
    BW_TRY(bw_producer_open(t->space, t->action->text, NULL, 10 * SECOND, &p, error));
    const bw_status status = put_one(t, p, error);
    (void)bw_producer_close(p, 0, NULL);
    return status;
}

#define opened()                                                                                   \
    {                                                                                              \
        run_nothing, NULL, 0, false                                                                \
    }
#define writable()                                                                                 \
    {                                                                                              \
        run_nothing, NULL, 0, true                                                                 \
    }
#define info()                                                                                     \
    {                                                                                              \
        run_info, NULL, 0, false                                                                   \
    }
#define steps()                                                                                    \
    {                                                                                              \
        run_steps, NULL, 0, false                                                                  \
    }
#define verified()                                                                                 \
    {                                                                                              \
        run_verify, NULL, 0, false                                                                 \
    }
#define deep()                                                                                     \
    {                                                                                              \
        run_deep, NULL, 0, false                                                                   \
    }
#define inspected(key)                                                                             \
    {                                                                                              \
        run_inspect, key, 0, false                                                                 \
    }
#define item(step)                                                                                 \
    {                                                                                              \
        run_item, NULL, step, false                                                                \
    }
#define item_of(step)                                                                              \
    {                                                                                              \
        run_item, NULL, step, false                                                                \
    }
#define meta(step)                                                                                 \
    {                                                                                              \
        run_meta, NULL, step, false                                                                \
    }
#define handed_out()                                                                               \
    {                                                                                              \
        run_hand_out, NULL, 0, false                                                               \
    }
#define resumed(json)                                                                              \
    {                                                                                              \
        run_resume, json, 0, false                                                                 \
    }
#define produced(id)                                                                               \
    {                                                                                              \
        run_produce, id, 0, true                                                                   \
    }

static bw_status attempt(void *context, bw_error *error)
{
    trial *t = context;
    bw_config *config = bw_config_new();
    must(config != NULL, "memory");
    must(bw_config_set(config, "mode", t->action->writes ? "write" : "read", NULL) == BW_OK,
         "mode");
    must(bw_config_set(config, "durable", "false", NULL) == BW_OK, "durable");
    bw_status status = bw_space_open(t->runtime, t->url, config, 10 * SECOND, &t->space, error);
    bw_config_free(config);
    if (status != BW_OK)
        return status;
    status = t->action->run(t, error);
    bw_space_close(t->space);
    return status;
}

/* ---- ways to spoil a namespace ---- */

static buf *at(smith *s, const char *key)
{
    return smith_object_at(s, key);
}

static const char *part(const smith *s, uint32_t step)
{
    static object_key key;
    smith_part_key(s, step, 0, &key);
    return key.text;
}

static void no_manifests(smith *s)
{
    smith_remove(s, FIRST);
    smith_remove(s, NEWEST);
}

static void marker(smith *s, uint64_t number)
{
    object_key key;
    key_marker(&key, number);
    must(marker_encode(s->genesis.uuid, number, at(s, key.text)) == BW_OK, "marker_encode");
}

static void hint(smith *s, uint64_t version)
{
    must(hint_encode(s->genesis.uuid, version, at(s, "hint")) == BW_OK, "hint_encode");
}

/* The newest manifest also under the name of the next, claiming to be `version`. */
static void again(smith *s, uint64_t version)
{
    s->m.version = version;
    buf_reset(at(s, NEXT));
    must(manifest_encode(&s->m, at(s, NEXT)) == BW_OK, "manifest_encode");
    s->m.version = 2;
}

/* Version 1 says what version 2 says, and more. */
static void first_is_ahead(smith *s)
{
    manifest first = s->m;
    first.version = 1;
    first.previous = s->genesis_hash;
    first.page.version = 1;
    first.nonce = (token128){{1}};
    first.committed_bytes++;
    buf_reset(at(s, FIRST));
    must(manifest_encode(&first, at(s, FIRST)) == BW_OK, "manifest_encode");
    must(hash_bytes(at(s, FIRST)->data, at(s, FIRST)->size, &s->m.previous) == BW_OK, "hash");
}

static const char *segment_key(const smith *s, uint32_t ref)
{
    static object_key key;
    segment_ref_key(&s->refs[ref], &key);
    return key.text;
}

static buf *segment_at(smith *s, uint32_t ref)
{
    return at(s, segment_key(s, ref));
}

static void remove_segment(smith *s, uint32_t ref)
{
    smith_remove(s, segment_key(s, ref));
}

static void exchange(buf *a, buf *b)
{
    const buf kept = *a;
    *a = *b;
    *b = kept;
}

static void exchange_segments(smith *s)
{
    exchange(segment_at(s, 0), segment_at(s, 1));
}

static void exchange_parts(smith *s, uint32_t a, uint32_t b)
{
    object_key key;
    smith_part_key(s, a, 0, &key);
    exchange(at(s, key.text), at(s, part(s, b)));
}

static void no_tail(smith *s)
{
    buf_reset(&s->tail);
    must(block_encode(NULL, 0, NULL, 0, &s->tail) == BW_OK, "block_encode");
    s->m.tail = (block){.bytes = view_of(s->tail.data, s->tail.size)};
}

/* Steps 18 and 19 by the segment of steps 16 and 17, under the name that it would have. */
static void same_segment(smith *s)
{
    s->refs[2] = s->refs[1];
    s->refs[2].first = 18;
    s->refs[2].last = 19;
    s->m.ref_count = 3;
    no_tail(s);
    object_key key;
    segment_ref_key(&s->refs[2], &key);
    const buf *same = segment_at(s, 1);
    uint8_t *bytes = mem_dup(same->data, same->size);
    const size_t size = same->size;
    must(bytes != NULL, "memory");
    buf_put(at(s, key.text), bytes, size);
    mem_free(bytes);
}

/* Steps 16 to 31 by the index of steps 0 to 15. Step 3 is read first, so that it is known. */
static void same_index(smith *s)
{
    s->refs[1] = s->refs[0];
    s->refs[1].first = 16;
    s->refs[1].last = 31;
    s->m.next = 32;
    no_tail(s);
    object_key key;
    segment_ref_key(&s->refs[1], &key);
    const buf *same = segment_at(s, 0);
    uint8_t *bytes = mem_dup(same->data, same->size);
    const size_t size = same->size;
    must(bytes != NULL, "memory");
    buf_put(at(s, key.text), bytes, size);
    mem_free(bytes);
}

/* The second reference reaches so far that the two steps of the tail end at `next`. */
static void wide(smith *s, uint64_t next)
{
    s->refs[1].last = next - 3;
    s->refs[1].level = 1;
    s->m.next = next;
}

static void footer_nonce(smith *s, uint32_t step)
{
    buf *b = at(s, part(s, step));
    const size_t footer_at = b->size - s->steps[step].shape.footer_bytes;
    buf object = {.data = b->data + footer_at, .size = b->size - footer_at, .max = b->size};
    put64(&object, 16, 12345);
    reseal(&object);
}

static void state_ref_to(smith *s, uint32_t bytes)
{
    producer_entry *e = &s->producers[0];
    e->state = view_of(NULL, 0);
    e->state_is_object = true;
    e->state_ref = (state_ref){.epoch = 1, .seq = 10, .nonce = 4, .bytes = bytes, .hash = {{1}}};
}

static void state_object(smith *s, bool hashed)
{
    object_key key;
    key_state(&key, view_text("p0"), 1, 10, 4);
    buf *b = at(s, key.text);
    must(state_encode(s->genesis.uuid, 1, 9, view_text("0123456789ab"), b) == BW_OK, "state");
    s->producers[0].state_ref.bytes = (uint32_t)b->size;
    if (hashed)
        must(hash_bytes(b->data, b->size, &s->producers[0].state_ref.hash) == BW_OK, "hash");
}

static void trim(smith *s)
{
    s->m.trim = 5;
    s->groups[0].hold = 5;
}

/* ---- rows ---- */

typedef struct row {
    const char *name;
    bw_status expected;
    action action;
    void (*spoil)(smith *s, manifest *m);
} row;

#define ROW(name, status, how, ...)                                                                \
    static void ROW_NAME(spoil_, __LINE__)(smith * s, manifest * m)                                \
    {                                                                                              \
        (void)s, (void)m;                                                                          \
        __VA_ARGS__;                                                                               \
    }
#include "space.def"
#undef ROW

static const row rows[] = {
#define ROW(name, status, how, ...) {name, BW_##status, how, ROW_NAME(spoil_, __LINE__)},
#include "space.def"
};

static int remove_one(const char *path, const struct stat *st, int flag, struct FTW *where)
{
    (void)st, (void)flag, (void)where;
    return remove(path);
}

static void set_down(trial *t, smith *s)
{
    const char *parent = getenv("TMPDIR");
    snprintf(t->root, sizeof t->root, "%.40s/bw-hostile-XXXXXX", parent != NULL ? parent : "/tmp");
    must(mkdtemp(t->root) != NULL, "mkdtemp");
    snprintf(t->url, sizeof t->url, "file://%s", t->root);
    char path[512];
    smith_write(s, t->root);
    if (directory != NULL) {
        snprintf(path, sizeof path, "%s/%s", t->root, directory);
        smith_parents(path);
        must(mkdir(path, 0777) == 0, path);
    }
    if (fifo != NULL) {
        snprintf(path, sizeof path, "%s/%s", t->root, fifo);
        smith_parents(path);
        must(mkfifo(path, 0666) == 0, path);
    }
    if (link_out) {
        snprintf(path, sizeof path, "%s/link", t->root);
        must(symlink("/etc", path) == 0, path);
    }
}

static void clear(trial *t)
{
    must(nftw(t->root, remove_one, 16, FTW_DEPTH | FTW_PHYS) == 0, "nftw");
}

static size_t usual_bytes(const row *r)
{
    static const action plain[] = {opened(),
                                   writable(),
                                   produced("p0"),
                                   item(5),
                                   meta(5),
                                   inspected("genesis"),
                                   resumed(CURSOR(SMITH_UUID, "3", "0", "2", "null", "[]"))};
    trial t = {.action = &r->action};
    /* What names something odd is measured by something plain of its kind. */
    for (size_t i = 0; i < COUNT(plain); i++)
        if (plain[i].run == r->action.run && r->action.run != run_nothing)
            t.action = &plain[i];
    smith s;
    smith_init(&s, 2);
    set_down(&t, &s);
    must(bw_runtime_open(NULL, &t.runtime, NULL) == BW_OK, "runtime");
    const size_t bytes = expect_success(attempt, &t);
    bw_runtime_close(t.runtime);
    clear(&t);
    smith_free(&s);
    return bytes;
}

static void test_row(void **state)
{
    const row *r = *state;
    trial t = {.action = &r->action};
    smith s;
    raw = link_out = false;
    directory = fifo = NULL;
    const size_t usual = usual_bytes(r);
    smith_init(&s, 2);
    r->spoil(&s, &s.m);
    if (!raw)
        smith_publish(&s);
    set_down(&t, &s);
    must(bw_runtime_open(NULL, &t.runtime, NULL) == BW_OK, "runtime");
    expect_refusal(attempt, &t, r->expected, usual);
    bw_runtime_close(t.runtime);
    clear(&t);
    smith_free(&s);
}

int main(void)
{
    memset(long_key, 'a', sizeof long_key - 1);
    meter_jansson();
    return run_rows("hostile_space", rows, COUNT(rows), sizeof rows[0], test_row);
}
