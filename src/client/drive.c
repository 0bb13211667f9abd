// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "client/drive.h"

#include "base/alloc.h"
#include "base/faultpoint.h"
#include "base/invariant.h"
#include <string.h>

#define DRIVE_INFLIGHT_MAX 64u
/* A poll of a store with requests in flight looks at its stop this often: the store's own wake is
 * no signal-safe call. */
#define DRIVE_POLL_NS (50 * NS_PER_MS)
/* The same where it is the store that is stopped. */
#define DRIVE_STOP_NS (20 * NS_PER_MS)
/* How often a commit is looked at for being in doubt on a store that is lost. */
#define DRIVE_LOOK_NS (50 * NS_PER_MS)

typedef struct slot {
    store_op op;
    struct slot *next_free;
    uint32_t request_id;
    struct iovec piece;
    const char **keys; /* delete: room for STORE_DELETE_MAX, made at first use */
} slot;

struct drive {
    store *store;
    uint32_t slots_max;
    uint32_t slots_made;
    uint32_t inflight;
    slot *free;
    const void *owner; /* machine with operations in flight */
    bw_error lost;     /* what a store said that takes no write any more */
    bool created;      /* a manifest's create was answered CREATED, its marker not yet read */
    bw_error broken;   /* BW_BUG for good once an invariant was broken */
};

bw_status drive_new(store *s, drive **out)
{
    drive *d = mem_zalloc(sizeof *d);
    if (d == NULL) {
        store_close(s);
        return BW_NOMEM;
    }
    d->store = s;
    d->slots_max = s->inflight_max < 1u                   ? 1u
                   : s->inflight_max > DRIVE_INFLIGHT_MAX ? DRIVE_INFLIGHT_MAX
                                                          : s->inflight_max;
    *out = d;
    return BW_OK;
}

static void slot_free(slot *s)
{
    store_op_clear(&s->op);
    mem_free(s->keys);
    mem_free(s);
}

void drive_free(drive *d)
{
    if (d == NULL)
        return;
    (void)invariant_taken(NULL); /* it ends with its handle */
    /* What is still in flight is polled for a moment so that its memory can be released; a store
     * that answers no more keeps it. */
    store_op *done[DRIVE_INFLIGHT_MAX];
    store_cancel(d->store);
    while (d->inflight > 0) {
        const size_t count = store_poll(d->store, done, DRIVE_INFLIGHT_MAX, DRIVE_POLL_NS);
        if (count == 0)
            break;
        for (size_t i = 0; i < count; i++)
            slot_free(done[i]->owner);
        d->inflight -= (uint32_t)count;
    }
    store_close(d->store);
    while (d->free != NULL) {
        slot *s = d->free;
        d->free = s->next_free;
        slot_free(s);
    }
    mem_free(d);
}

bw_status drive_tell(const drive *d, bw_status status, bw_error *error, const char *what)
{
    bw_error why;
    if (status == BW_TIMEOUT && store_failing(d->store, &why))
        return error_set(error, status, "%s: %s; last: %s", what, bw_status_text(status),
                         why.message);
    if (status == BW_TIMEOUT && d->inflight > 0)
        return error_set(error, status, "%s: %s; the store has not answered", what,
                         bw_status_text(status));
    return error_set(error, status, "%s: %s", what,
                     status == BW_BUG ? d->broken.message : bw_status_text(status));
}

bool drive_lost(const drive *d, bw_error *why)
{
    if (d->lost.code == BW_OK)
        return false;
    error_copy(why, &d->lost);
    return true;
}

store *drive_store(drive *d)
{
    return d->store;
}

/* A free slot before a request is taken from the machine, since a taken request must be sent. */
static slot *slot_get(drive *d)
{
    slot *s = d->free;
    if (s != NULL) {
        d->free = s->next_free;
        return s;
    }
    if (d->slots_made == d->slots_max)
        return NULL;
    s = mem_zalloc(sizeof *s);
    if (s != NULL)
        d->slots_made++;
    return s;
}

static void slot_put(drive *d, slot *s)
{
    s->next_free = d->free;
    d->free = s;
}

/* What was broken since the last look was broken by the machine, or by who started it. */
static bool is_broken(drive *d)
{
    return d->broken.code != BW_OK || invariant_taken(&d->broken);
}

static bool key_begins(const store_op *op, const char *prefix)
{
    return strncmp(op->key, prefix, strlen(prefix)) == 0;
}

/* Crash tests kill the process between these two: made but not proved, proved but not acknowledged.
 */
static void pass_fault_points(drive *d, const store_op *op)
{
    if (op->kind == STORE_CREATE && op->outcome == STORE_CREATED && key_begins(op, "manifest/")) {
        d->created = true;
        fault_point("created");
    } else if (d->created && op->outcome == STORE_NOT_FOUND && key_begins(op, "retired/")) {
        d->created = false;
        fault_point("before-ack");
    }
}

static void deliver(drive *d, machine m, slot *s)
{
    store_op *op = &s->op;
    machine_reply reply = {.id = s->request_id, .outcome = op->outcome};
    pass_fault_points(d, op);
    if (op->kind == STORE_GET && op->outcome == STORE_OK) {
        reply.bytes = buf_take(&op->out, &reply.size);
        if (reply.bytes == NULL)
            reply.bytes = mem_alloc(
                0); /* an empty object is an object; NULL means that memory ran out below */
    }
    if (op->kind == STORE_LIST)
        reply.list = &op->list;
    const bool failed = op->outcome != STORE_OK && op->outcome != STORE_NOT_FOUND &&
                        op->outcome != STORE_CREATED && op->outcome != STORE_EXISTS;
    if (failed) {
        reply.code = store_op_status(op);
        reply.message = op->error.message;
    }
    if (op->lost && d->lost.code == BW_OK)
        error_copy(&d->lost, &op->error);
    if (!is_broken(d))
        m.type->reply(m.self, clock_now(clock_system()), &reply);
    mem_free(reply.bytes);
    store_op_clear(op);
    slot_put(d, s);
}

/* Memory for the keys ran out: the machine hears of a failed request, as from a store. */
static void refuse(drive *d, machine m, slot *s)
{
    s->op.outcome = STORE_RETRY;
    error_set(&s->op.error, BW_NOMEM, "out of memory");
    deliver(d, m, s);
}

static bool fill_keys(slot *s, const machine_request *request)
{
    MUST_OR(request->key_count <= STORE_DELETE_MAX, return false);
    if (s->keys == NULL)
        s->keys = mem_array(STORE_DELETE_MAX, sizeof *s->keys);
    if (s->keys == NULL)
        return false;
    for (uint32_t i = 0; i < request->key_count; i++)
        s->keys[i] = request->keys[i].text;
    s->op.keys = s->keys;
    s->op.key_count = request->key_count;
    return true;
}

static void send(drive *d, machine m, slot *s, const machine_request *request)
{
    store_op *op = &s->op;
    store_op_init(op, request->kind, request->key.text);
    op->owner = s;
    s->request_id = request->id;
    switch (request->kind) {
    case STORE_GET:
        buf_init(&op->out, request->bytes_max);
        break;
    case STORE_PUT:
    case STORE_CREATE:
        /* struct iovec serves reads and writes, so its pointer is not const. */
        s->piece.iov_base = (void *)(uintptr_t)request->bytes;
        s->piece.iov_len = request->size;
        op->pieces = &s->piece;
        op->piece_count = 1;
        break;
    case STORE_LIST:
        memcpy(op->after, request->after.text, sizeof request->after.text);
        break;
    case STORE_DELETE:
        if (!fill_keys(s, request)) {
            refuse(d, m, s);
            return;
        }
        break;
    default:
        break;
    }
    d->inflight++;
    d->owner = m.self;
    store_submit(d->store, op);
}

static void send_all(drive *d, machine m)
{
    if (is_broken(d) || !m.type->running(m.self))
        return;
    for (slot *s = slot_get(d); s != NULL; s = slot_get(d)) {
        machine_request request = {0};
        if (!m.type->next(m.self, &request) || is_broken(d)) {
            slot_put(d, s);
            return;
        }
        send(d, m, s, &request);
    }
}

static int64_t earlier(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* Waits for a reply, the machine's own time, the deadline or the stop; delivers what came. */
static void wait_and_deliver(drive *d, machine m, int64_t deadline_ns, const drive_stop *stop,
                             uint32_t ticket)
{
    const int64_t now_ns = clock_now(clock_system());
    int64_t until_ns = earlier(m.type->due(m.self), deadline_ns);
    if (d->store->stop != NULL)
        until_ns = earlier(until_ns, now_ns + DRIVE_STOP_NS);
    if (d->inflight == 0) {
        gate local;
        gate_init(&local);
        if (until_ns > now_ns)
            gate_wait(stop != NULL ? stop->gate : &local, stop != NULL ? ticket : 0u, until_ns);
        return;
    }
    int64_t wait_ns = until_ns == TIME_NEVER ? DRIVE_POLL_NS : until_ns - now_ns;
    wait_ns = wait_ns < 0 ? 0 : earlier(wait_ns, DRIVE_POLL_NS);
    store_op *done[DRIVE_INFLIGHT_MAX];
    const size_t count = store_poll(d->store, done, DRIVE_INFLIGHT_MAX, wait_ns);
    for (size_t i = 0; i < count; i++) {
        d->inflight--;
        deliver(d, m, done[i]->owner);
    }
}

bw_status drive_run(drive *d, machine m, int64_t deadline_ns, const drive_stop *stop)
{
    MUST(d->inflight == 0 || d->owner == m.self);
    if (is_broken(d))
        return BW_BUG;
    if (d->inflight == 0)
        d->created = false;
    /* What a machine that came to its end has still in flight uses its memory: those replies are
     * waited for. */
    while (m.type->running(m.self) || d->inflight > 0) {
        const uint32_t ticket = stop != NULL ? gate_ticket(stop->gate) : 0u;
        if ((stop != NULL && atomic_load(stop->on) != 0) || store_stopped(d->store))
            return BW_INTERRUPTED;
        const int64_t now_ns = clock_now(clock_system());
        if (now_ns >= m.type->due(m.self))
            m.type->tick(m.self, now_ns);
        send_all(d, m);
        if (is_broken(d))
            return BW_BUG;
        if (d->slots_made == 0 && m.type->running(m.self))
            return BW_NOMEM;
        if (m.type->running(m.self) || d->inflight > 0)
            wait_and_deliver(d, m, deadline_ns, stop, ticket);
        if (is_broken(d))
            return BW_BUG;
        if (m.type->running(m.self) && deadline_ns != TIME_NEVER &&
            clock_now(clock_system()) >= deadline_ns)
            return BW_TIMEOUT;
    }
    return BW_OK;
}

bw_status drive_commit(drive *d, commit *c, int64_t deadline_ns, const drive_stop *stop)
{
    const machine m = {&commit_machine, c};
    const commit_report *r = commit_reported(c);
    for (;;) {
        const int64_t look_ns = clock_now(clock_system()) + DRIVE_LOOK_NS;
        const bw_status status = drive_run(d, m, earlier(look_ns, deadline_ns), stop);
        if (status != BW_TIMEOUT)
            return status;
        if (r->end == COMMIT_RUNNING && r->overdue && drive_lost(d, NULL))
            return BW_IO;
        if (deadline_ns != TIME_NEVER && clock_now(clock_system()) >= deadline_ns)
            return BW_TIMEOUT;
    }
}
