// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/*
 * One job of the executor puts one part: frame heads, with the items' CRCs that are computed here
 * and not in the caller's thread, and the items straight from the caller's memory. A part that
 * cannot be put for a reason that may pass comes back later and never keeps a thread.
 */
#include "client/producer.h"

#include "base/alloc.h"
#include "base/crc32c.h"
#include "base/faultpoint.h"

#define UPLOAD_RETRY_NS (200 * NS_PER_MS)
/* From here on to join two CRCs is cheaper than to read the bytes, although they are in the cache.
 */
#define JOIN_BYTES 16384u

static const uint8_t zeros[64];

/* The pieces of one part, gathered. */
typedef struct gather {
    struct iovec *pieces;
    size_t count, capacity;
    uint64_t at;  /* bytes so far */
    uint32_t crc; /* of them, for the store to check */
    buf heads;    /* reserved in full at first: its memory never moves */
    frame_item *rows;
} gather;

static void gather_piece(gather *g, const void *bytes, size_t size)
{
    if (size == 0)
        return;
    /* struct iovec serves reads and writes, so its pointer is not const. */
    g->pieces[g->count++] = (struct iovec){(void *)(uintptr_t)bytes, size};
    g->at += size;
}

static void gather_add(gather *g, const void *bytes, size_t size)
{
    gather_piece(g, bytes, size);
    g->crc = crc32c(g->crc, bytes, size);
}

static void gather_pad(gather *g, uint64_t to)
{
    gather_add(g, zeros, (size_t)(to - g->at));
}

static uint32_t item_crc(const batch_item *item)
{
    const struct iovec *pieces = batch_item_pieces(item);
    if (item->packed != NULL)
        return crc32c(0, item->packed, item->packed_bytes);
    uint32_t crc = 0;
    for (uint32_t i = 0; i < item->pieces; i++)
        crc = crc32c(crc, pieces[i].iov_base, pieces[i].iov_len);
    return crc;
}

static bw_status gather_slice(gather *g, const bw_batch *b, uint32_t slice)
{
    const batch_item *items = &b->table[(size_t)slice * b->items];
    const uint64_t start = b->places[slice].offset;
    frame_head head = {.nonce = b->nonce, .slice = slice, .items = b->items, .kind = b->shape.kind};
    batch_frame_items(b, slice, g->rows);
    for (uint32_t i = 0; i < b->items; i++)
        g->rows[i].crc = item_crc(&items[i]);
    BW_TRY(frame_layout(&head, g->rows));
    const size_t head_at = g->heads.size;
    BW_TRY(frame_encode_head(&head, g->rows, &g->heads));
    gather_pad(g, start);
    gather_add(g, g->heads.data + head_at, g->heads.size - head_at);
    for (uint32_t i = 0; i < b->items; i++) {
        const struct iovec *pieces = batch_item_pieces(&items[i]);
        gather_pad(g, start + g->rows[i].offset);
        const uint32_t before = g->crc;
        const bool joins = g->rows[i].stored_bytes >= JOIN_BYTES;
        void (*const add)(gather *, const void *, size_t) = joins ? gather_piece : gather_add;
        add(g, items[i].packed, items[i].packed_bytes);
        for (uint32_t k = 0; k < items[i].pieces && items[i].packed == NULL; k++)
            add(g, pieces[k].iov_base, pieces[k].iov_len);
        if (joins)
            g->crc = crc32c_join(before, g->rows[i].crc, g->rows[i].stored_bytes);
    }
    return BW_OK;
}

/* How many pieces a part can have: heads, paddings, items, footer. */
static size_t pieces_max(const part_job *part)
{
    const bw_batch *b = part->batch;
    size_t count = 2;
    for (uint32_t s = part->first_slice; s < part->end_slice; s++) {
        count += 2 + b->items;
        for (uint32_t i = 0; i < b->items; i++)
            count += b->table[(size_t)s * b->items + i].pieces;
    }
    return count;
}

static bw_status gather_part(gather *g, const part_job *part)
{
    const bw_batch *b = part->batch;
    const uint64_t heads = frame_table_end(b->items) * (part->end_slice - part->first_slice);
    g->capacity = pieces_max(part);
    g->pieces = mem_array(g->capacity, sizeof *g->pieces);
    g->rows = mem_array(b->items, sizeof *g->rows);
    buf_init(&g->heads, (size_t)heads);
    if (g->pieces == NULL || g->rows == NULL)
        return BW_NOMEM;
    BW_TRY(buf_reserve(&g->heads, (size_t)heads));
    for (uint32_t s = part->first_slice; s < part->end_slice; s++)
        BW_TRY(gather_slice(g, b, s));
    if (part->part + 1 == b->extent.parts) {
        gather_pad(g, b->extent.footer_offset);
        gather_add(g, b->footer.data, b->footer.size);
    }
    return BW_OK;
}

static void gather_free(gather *g)
{
    mem_free(g->pieces);
    mem_free(g->rows);
    buf_free(&g->heads);
}

/* How an upload went. What may pass by itself is repeated; anything else finishes the handle. */
typedef struct attempt {
    bw_status status;
    bool may_pass;
    uint64_t bytes;
    bw_error error;
} attempt;

static bool put(store *s, const object_key *key, const gather *g, attempt *a)
{
    store_op op;
    store_op_init(&op, STORE_PUT, key->text);
    op.pieces = g->pieces;
    op.piece_count = (uint32_t)g->count;
    op.has_crc = true;
    op.crc = g->crc;
    const store_outcome outcome = store_run(s, &op);
    a->status = BW_OK;
    if (outcome != STORE_OK) {
        a->status = store_op_status(&op);
        a->may_pass = outcome == STORE_RETRY;
        error_copy(&a->error, &op.error);
    }
    store_op_clear(&op);
    return a->status == BW_OK;
}

/* The state goes first, so that a published batch always has it. Part 0's job carries it. */
static bool put_state(const part_job *part, store *s, attempt *a)
{
    bw_batch *b = part->batch;
    bw_producer *p = b->producer;
    if (part->part != 0 || b->state_object.size == 0 || atomic_load(&b->state_put))
        return true;
    object_key key;
    key_state(&key, view_text(p->id), p->epoch, b->seq, b->nonce);
    struct iovec piece;
    gather g = {.pieces = &piece};
    gather_add(&g, b->state_object.data, b->state_object.size);
    if (!put(s, &key, &g, a))
        return false;
    atomic_store(&b->state_put, true);
    return true;
}

static void put_part(const part_job *part, store *s, attempt *a)
{
    const bw_batch *b = part->batch;
    gather g = {0};
    a->status = gather_part(&g, part);
    if (a->status == BW_OK) {
        object_key key;
        key_part(&key, view_text(b->producer->id), b->producer->epoch, b->seq, b->nonce,
                 part->part);
        (void)put(s, &key, &g, a);
        a->bytes = g.at;
    } else {
        (void)error_set(&a->error, a->status, "building a part: %s", bw_status_text(a->status));
        a->may_pass = a->status == BW_NOMEM;
    }
    gather_free(&g);
}

/* All parts are up, or the producer stops: the caller's memory is free again. */
static void batch_done_locked(bw_batch *b)
{
    bw_producer *p = b->producer;
    *b->link = b->next;
    if (b->next != NULL)
        b->next->link = b->link;
    if (!b->aborted) {
        const int64_t now_ns = clock_now(clock_system());
        hist_add(&p->locked.stats.upload_ns, now_ns - b->put_ns);
        stage_done(p->locked.stage, b->seq);
        if (b->seq == stage_published_seq(p->locked.stage) + 1)
            p->locked.ready_ns = now_ns;
    }
    if (b->released != NULL) {
        events_push(&p->locked.events, b->released);
        b->released = NULL;
    }
    batch_free(b);
}

static void finish_job_locked(part_job *part, bool uploaded)
{
    bw_batch *b = part->batch;
    part->finished = true;
    if (!uploaded)
        b->aborted = true;
    b->producer->locked.jobs--;
    if (--b->parts_left == 0)
        batch_done_locked(b);
}

static void settle_locked(part_job *part, const attempt *a)
{
    bw_producer *p = part->batch->producer;
    if (a->status == BW_OK) {
        p->locked.stats.bytes_uploaded += a->bytes;
        if (!p->locked.commit_blocked)
            error_clear(&p->locked.blocked);
        finish_job_locked(part, true);
    } else if (atomic_load(&p->stopping) != 0) {
        finish_job_locked(part, false);
    } else if (a->may_pass) {
        producer_blocked_locked(p, &a->error);
        executor_submit_at(p->space->runtime->executor, &part->job,
                           clock_now(clock_system()) + UPLOAD_RETRY_NS);
    } else {
        producer_fail_locked(p, &a->error);
        finish_job_locked(part, false);
    }
}

static void part_run(job *j, uint32_t worker)
{
    part_job *part = (part_job *)(void *)j;
    bw_producer *p = part->batch->producer;
    attempt a = {.status = BW_INTERRUPTED};
    store *s = NULL;
    if (atomic_load(&p->stopping) == 0) {
        a.status = space_worker_store(p->space, worker, &s, &a.error);
        a.may_pass = true;
        if (a.status == BW_OK && put_state(part, s, &a))
            put_part(part, s, &a);
        if (a.status == BW_OK)
            fault_point("staging");
    }
    lock_acquire(&p->lock);
    settle_locked(part, &a);
    /* Under the lock: once the last job is counted off and the lock is free, the producer may be
     * gone. */
    producer_mind_locked(p);
    gate_open(&p->work);
    gate_open(&p->changed);
    lock_release(&p->lock);
}

void upload_prepare(part_job *part)
{
    part->job.run = part_run;
}

void upload_start_locked(bw_batch *b)
{
    bw_producer *p = b->producer;
    b->next = p->locked.uploads;
    b->link = &p->locked.uploads;
    if (b->next != NULL)
        b->next->link = &b->next;
    p->locked.uploads = b;
    const uint32_t parts = b->extent.parts;
    b->parts_left = parts;
    p->locked.jobs += parts;
    for (uint32_t i = 0; i < parts; i++)
        executor_submit(p->space->runtime->executor, &b->parts[i].job);
}

/* The last part to end frees the batch. */
static void cancel_parts_locked(bw_batch *b)
{
    executor *e = b->producer->space->runtime->executor;
    const uint32_t parts = b->extent.parts;
    uint32_t left = b->parts_left;
    for (uint32_t i = 0; i < parts && left > 0; i++) {
        part_job *part = &b->parts[i];
        if (!part->finished && executor_cancel(e, &part->job)) {
            left--;
            finish_job_locked(part, false);
        }
    }
}

void upload_cancel_all(bw_producer *p)
{
    lock_acquire(&p->lock);
    for (bw_batch *b = p->locked.uploads, *next = NULL; b != NULL; b = next) {
        next = b->next;
        cancel_parts_locked(b);
    }
    while (p->locked.jobs > 0) {
        const uint32_t ticket = gate_ticket(&p->changed);
        lock_release(&p->lock);
        gate_wait(&p->changed, ticket, TIME_NEVER);
        lock_acquire(&p->lock);
    }
    lock_release(&p->lock);
}
