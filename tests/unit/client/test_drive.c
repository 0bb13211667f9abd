// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "stand.h"

#include "base/alloc.h"
#include "client/drive.h"
#include <string.h>

/* A machine that sends one request of each kind at once, then waits a while, then is done. */
typedef struct probe {
    uint32_t sent, replied;
    int64_t due_ns;
    bool waits;
    uint32_t seen[STORE_OUTCOMES];
    object_key keys[2];
    uint8_t got[64];
    size_t got_bytes;
    size_t listed;
} probe;

static bool probe_next(void *self, machine_request *r)
{
    static const store_op_kind kinds[] = {STORE_PUT, STORE_CREATE, STORE_CREATE, STORE_GET,
                                          STORE_GET, STORE_HEAD,   STORE_LIST,   STORE_DELETE};
    static const uint8_t bytes[] = "bytes";
    probe *p = self;
    if (p->sent == sizeof kinds / sizeof kinds[0])
        return false;
    r->id = 100 + p->sent;
    r->kind = kinds[p->sent++];
    const char *key = r->id == 104 ? "a/none" : r->kind == STORE_LIST ? "a/" : "a/key";
    memcpy(r->key.text, key, strlen(key) + 1);
    r->bytes = bytes;
    r->size = 5;
    r->bytes_max = 100;
    memcpy(p->keys[0].text, "a/key", 6);
    memcpy(p->keys[1].text, "a/other", 8);
    r->keys = p->keys;
    r->key_count = 2;
    return true;
}

static void probe_reply(void *self, int64_t now_ns, machine_reply *r)
{
    probe *p = self;
    p->replied++;
    p->seen[r->outcome]++;
    if (r->id == 103) {
        assert_int_equal(r->outcome, STORE_OK);
        assert_true(r->size <= sizeof p->got);
        memcpy(p->got, r->bytes, r->size);
        p->got_bytes = r->size;
        mem_free(r->bytes); /* taken */
        r->bytes = NULL;
    }
    if (r->id == 106)
        p->listed = r->list->count;
    if (p->replied == 8) {
        p->waits = true;
        p->due_ns = now_ns + 30 * NS_PER_MS;
    }
}

static void probe_tick(void *self, int64_t now_ns)
{
    probe *p = self;
    if (p->waits && now_ns >= p->due_ns)
        p->waits = false;
}

static int64_t probe_due(const void *self)
{
    const probe *p = self;
    return p->waits ? p->due_ns : TIME_NEVER;
}

static bool probe_running(const void *self)
{
    const probe *p = self;
    return p->replied < 8 || p->waits;
}

static const machine_type probe_machine = {"probe",    probe_next, probe_reply,
                                           probe_tick, probe_due,  probe_running};

static void test_every_kind(void **state)
{
    (void)state;
    mem_space *contents = NULL;
    store *s = NULL;
    drive *d = NULL;
    probe p = {0};
    assert_int_equal(mem_space_new(&contents), BW_OK);
    assert_int_equal(store_mem_open(contents, &s, NULL), BW_OK);
    assert_int_equal(drive_new(s, &d), BW_OK);
    const int64_t began = clock_now(clock_system());
    assert_int_equal(drive_run(d, (machine){&probe_machine, &p}, TIME_NEVER, NULL), BW_OK);
    assert_true(clock_now(clock_system()) - began >= 30 * NS_PER_MS);
    assert_int_equal(p.got_bytes, 5);
    assert_memory_equal(p.got, "bytes", 5);
    assert_int_equal(p.listed, 1);
    assert_int_equal(p.seen[STORE_EXISTS], 2);
    assert_int_equal(p.seen[STORE_NOT_FOUND], 1);
    assert_int_equal(p.seen[STORE_OK], 5);
    assert_false(mem_space_get(contents, "a/key", NULL, NULL));
    drive_free(d);
    drive_free(NULL);
    mem_space_free(contents);
}

static void test_deadline_and_stop(void **state)
{
    (void)state;
    mem_space *contents = NULL;
    store *s = NULL;
    drive *d = NULL;
    probe p = {0};
    gate g;
    atomic_int on;
    gate_init(&g);
    atomic_init(&on, 0);
    const drive_stop stop = {&g, &on};
    const machine m = {&probe_machine, &p};
    assert_int_equal(mem_space_new(&contents), BW_OK);
    assert_int_equal(store_mem_open(contents, &s, NULL), BW_OK);
    store_mem_set_stepped(s, true);
    assert_int_equal(drive_new(s, &d), BW_OK);
    assert_ptr_equal(drive_store(d), s);
    const int64_t soon = clock_now(clock_system()) + 20 * NS_PER_MS;
    assert_int_equal(drive_run(d, m, soon, &stop), BW_TIMEOUT);
    atomic_store(&on, 1);
    gate_open(&g);
    assert_int_equal(drive_run(d, m, TIME_NEVER, &stop), BW_INTERRUPTED);
    assert_int_equal(p.replied, 0);
    /* Driven on, nothing was lost. */
    store_op *sent[16];
    const size_t count = store_mem_sent(s, sent, 16);
    assert_int_equal(count, 8);
    for (size_t i = 0; i < count; i++) {
        (void)store_mem_apply(s, sent[i]);
        store_mem_answer(s, sent[i], STORE_PENDING);
    }
    atomic_store(&on, 0);
    assert_int_equal(drive_run(d, m, TIME_NEVER, &stop), BW_OK);
    assert_int_equal(p.replied, 8);
    drive_free(d);
    mem_space_free(contents);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_kind),
        cmocka_unit_test(test_deadline_and_stop),
    };
    return cmocka_run_group_tests_name("drive", tests, NULL, NULL);
}
