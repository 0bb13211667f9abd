// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "base/alloc.h"
#include "store_s3/s3_internal.h"
#include "store_s3/s3_outcome.h"

#include <inttypes.h>
#include <string.h>

/* ---- bodies, as they come ---- */

static bool take_whole(s3_call *call, const uint8_t *bytes, size_t size)
{
    buf *out = &call->op->out;
    const http_head *head = &call->http.head;
    call->parsed = BW_OK;
    if (call->got == 0 && head->has_length)
        call->parsed =
            head->length > out->max ? BW_TOO_LARGE : buf_reserve(out, (size_t)head->length);
    if (call->parsed == BW_OK) {
        buf_put(out, bytes, size);
        call->parsed = buf_status(out);
    }
    call->got += size;
    return call->parsed == BW_OK;
}

static bool take_range(s3_call *call, const uint8_t *bytes, size_t size)
{
    if (size > call->op->length - call->got) {
        call->parsed = BW_TOO_LARGE;
        return false;
    }
    memcpy((uint8_t *)call->op->dest + call->got, bytes, size);
    call->got += size;
    return true;
}

static bool take_xml(s3_call *call, const uint8_t *bytes, size_t size)
{
    const bool is_list = call->op->kind == STORE_LIST;
    if (call->reader == NULL) {
        call->page.list = &call->op->list;
        call->parsed = is_list ? s3_page_new(&call->page, &call->reader)
                               : s3_deleted_new(&call->deleted, &call->reader);
    }
    if (call->parsed == BW_OK)
        call->parsed = xml_feed(call->reader, bytes, size);
    return call->parsed == BW_OK;
}

bool s3_answer_sink(http_request *request, const uint8_t *bytes, size_t size)
{
    s3_call *call = request->owner;
    const int status = request->head.status;
    const bool good = status >= 200 && status <= 299;
    if (good && call->op->kind == STORE_GET)
        return take_whole(call, bytes, size);
    if (good && call->op->kind == STORE_READ)
        return take_range(call, bytes, size);
    if (good && (call->op->kind == STORE_LIST || call->method == HTTP_POST))
        return take_xml(call, bytes, size);
    const size_t room = call->text.max - call->text.size;
    buf_put(&call->text, bytes, size < room ? size : room); /* the rest is read and forgotten */
    return true;
}

/* ---- what failed ---- */

static store_outcome outcome_of(const store_op *op, const s3_outcome *row)
{
    return op->kind == STORE_CREATE ? row->create : row->other;
}

/* The clock of the store, by its answer to a request that was signed for another time. */
static void learn_skew(s3_call *call)
{
    const int64_t date_ms = call->http.head.date_ms;
    if (date_ms != 0)
        atomic_store(&call->owner->backend->skew_ms, date_ms - clock_wall_ms(clock_system()));
}

/* The operation ends by what the server said. */
static void fail(s3_call *call, const s3_error *e)
{
    store_op *op = call->op;
    const http_head *head = &call->http.head;
    const char *region = e->region[0] != '\0' ? e->region : head->region;
    const s3_outcome *row = s3_outcome_find(head->status, e->code);
    if (strcmp(e->code, "RequestTimeTooSkewed") == 0)
        learn_skew(call);
    const store_outcome outcome = outcome_of(op, row);
    op->throttled = head->status == 429 || head->status == 503;
    op->retry_after_ns = head->retry_after_s > 0 ? head->retry_after_s * NS_PER_S : 0;
    if (outcome == STORE_NOT_FOUND || outcome == STORE_EXISTS) {
        op->outcome = outcome;
        return;
    }
    store_op_end(op, outcome, row->meaning == BW_OK ? BW_IO : row->meaning,
                 "%s: %s answered %d%s%s%s%s%s%s%s%s%s%s", store_op_name(op->kind),
                 call->owner->backend->name, head->status, e->code[0] != '\0' ? " " : "", e->code,
                 e->message[0] != '\0' ? ": " : "", e->message, row->advice,
                 region[0] != '\0' ? "; the bucket's region is " : "", region,
                 head->request_id[0] != '\0' ? " (request " : "", head->request_id,
                 head->request_id[0] != '\0' ? ")" : "");
}

/* No answer, or half of one. */
static void fail_unanswered(s3_call *call)
{
    store_op *op = call->op;
    const http_request *r = &call->http;
    const char *what = op->kind == STORE_CREATE && r->end == HTTP_CUT ? "it may have been stored"
                                                                      : "nothing is known of it";
    if (r->end == HTTP_REFUSED)
        store_op_end(op, STORE_FATAL, BW_DENIED, "%s: %s cannot be asked: %s",
                     store_op_name(op->kind), call->owner->backend->name, r->why);
    else if (r->end == HTTP_NOT_SENT)
        store_op_end(op, STORE_RETRY, BW_IO, "%s: %s cannot be reached: %s",
                     store_op_name(op->kind), call->owner->backend->name, r->why);
    else
        store_op_end(op, op->kind == STORE_CREATE ? STORE_UNKNOWN : STORE_RETRY,
                     op->kind == STORE_CREATE ? BW_UNKNOWN : BW_IO, "%s: %s did not answer, %s: %s",
                     store_op_name(op->kind), call->owner->backend->name, what, r->why);
}

/* A body that was not wanted any further. */
static void fail_stopped(s3_call *call)
{
    store_op *op = call->op;
    const char *name = store_op_name(op->kind);
    if (call->parsed == BW_NOMEM)
        store_op_end(op, STORE_RETRY, BW_NOMEM, "%s: no memory for the answer", name);
    else if (op->kind == STORE_GET)
        store_op_end(op, STORE_FATAL, BW_TOO_LARGE,
                     "object of more than %zu bytes, which are expected at most", op->out.max);
    else if (op->kind == STORE_READ)
        store_op_end(op, STORE_FATAL, BW_STORE_UNSAFE,
                     "%s: the store answers a range with more than was asked for", name);
    else
        store_op_end(op, STORE_RETRY, BW_CORRUPT, "%s: the answer of %s cannot be read", name,
                     call->owner->backend->name);
}

/* ---- what was answered with 2xx ---- */

static void end_get(s3_call *call)
{
    store_op *op = call->op;
    const http_head *head = &call->http.head;
    if (head->status != 200 || (!head->has_length && !head->chunked)) {
        store_op_end(op, STORE_RETRY, BW_IO, "get: %s answered %d, of a length that is not said",
                     call->owner->backend->name, head->status);
        return;
    }
    op->object_bytes = op->out.size;
    op->modified_ms = head->modified_ms;
    op->outcome = STORE_OK;
}

static void end_short(store_op *op, uint64_t object_bytes)
{
    op->object_bytes = object_bytes;
    store_op_end(op, STORE_FATAL, BW_CORRUPT,
                 "object has %" PRIu64 " bytes; %" PRIu64 " at offset %" PRIu64 " were asked for",
                 object_bytes, op->length, op->offset);
}

static void end_read(s3_call *call)
{
    store_op *op = call->op;
    const http_head *head = &call->http.head;
    const uint64_t last = op->offset + op->length - 1;
    const bool ranged = head->status == 206 && head->has_range;
    /* A server may answer the whole object, when it is just what was asked for. */
    const bool whole =
        head->status == 200 && op->offset == 0 && head->has_length && head->length == op->length;
    if (ranged && head->range_first == op->offset && head->range_last < last && head->has_total &&
        head->range_total == head->range_last + 1) {
        end_short(op, head->range_total);
    } else if ((ranged && head->range_first == op->offset && head->range_last == last &&
                call->got == op->length) ||
               (whole && call->got == op->length)) {
        op->object_bytes = whole ? head->length : head->has_total ? head->range_total : 0;
        op->modified_ms = head->modified_ms;
        op->outcome = STORE_OK;
    } else {
        store_op_end(op, STORE_FATAL, BW_STORE_UNSAFE,
                     "read: %s answered %d with another range than %" PRIu64 " bytes at %" PRIu64,
                     call->owner->backend->name, head->status, op->length, op->offset);
    }
}

static void end_head(s3_call *call)
{
    store_op *op = call->op;
    const http_head *head = &call->http.head;
    if (head->status != 200 || !head->has_length) {
        store_op_end(op, STORE_RETRY, BW_IO, "head: %s answered %d, of a length that is not said",
                     call->owner->backend->name, head->status);
        return;
    }
    op->object_bytes = head->length;
    op->modified_ms = head->modified_ms;
    op->outcome = STORE_OK;
}

/* 200 with an error behind it is an error. */
static void end_write(s3_call *call)
{
    store_op *op = call->op;
    s3_error e;
    s3_error_parse(call->text.data, call->text.size, &e);
    const s3_outcome *row = s3_outcome_find(call->http.head.status, "");
    op->outcome = outcome_of(op, row);
    if (e.code[0] != '\0')
        store_op_end(op, op->kind == STORE_CREATE ? STORE_UNKNOWN : STORE_RETRY, BW_IO,
                     "%s: %s answered %d with the error %s", store_op_name(op->kind),
                     call->owner->backend->name, call->http.head.status, e.code);
    else if (row->meaning != BW_OK || op->outcome == STORE_UNKNOWN)
        fail(call, &e);
}

static bool xml_is_whole(s3_call *call, bool root)
{
    if (call->reader != NULL && xml_end(call->reader) == BW_OK && root)
        return true;
    store_op_end(call->op, STORE_RETRY, BW_CORRUPT, "%s: the answer of %s cannot be read",
                 store_op_name(call->op->kind), call->owner->backend->name);
    return false;
}

static bool end_list(s3_call *call)
{
    store_op *op = call->op;
    s3_page *page = &call->page;
    if (page->error.code[0] != '\0') {
        fail(call, &page->error);
        return true;
    }
    if (!xml_is_whole(call, page->whole))
        return true;
    const size_t came = op->list.count;
    if (s3_page_finish(page, call->owner->backend->prefix, op->list_any) != BW_OK) {
        store_op_end(op, STORE_RETRY, BW_CORRUPT, "list: %s answered names that were not asked for",
                     call->owner->backend->name);
        return true;
    }
    op->list.more = page->truncated && came > 0;
    op->outcome = STORE_OK;
    /* A page of foreign names only: the next one is asked for, after the last of them. */
    return !op->list.more || op->list.count > 0;
}

static void end_batch(s3_call *call)
{
    store_op *op = call->op;
    const s3_deleted *d = &call->deleted;
    if (d->error.code[0] == '\0' && !xml_is_whole(call, d->whole))
        return;
    op->outcome = STORE_OK;
    if (d->failed > 0 || d->error.code[0] != '\0') {
        const s3_outcome *row = s3_outcome_find(call->http.head.status, d->error.code);
        const store_outcome outcome = row->other == STORE_OK ? STORE_RETRY : row->other;
        store_op_end(op, outcome, row->meaning == BW_OK ? BW_IO : row->meaning,
                     "delete: of %u objects %u could not be deleted: %s%s%s", op->key_count,
                     d->failed, d->error.code, d->error.message[0] != '\0' ? ": " : "",
                     d->error.message);
    }
}

static bool end_good(s3_call *call)
{
    store_op *op = call->op;
    switch (op->kind) {
    case STORE_GET:
        end_get(call);
        return true;
    case STORE_READ:
        if (call->asks_size && call->http.head.has_length)
            end_short(op, call->http.head.length);
        else
            end_read(call);
        return true;
    case STORE_HEAD:
        end_head(call);
        return true;
    case STORE_LIST:
        return end_list(call);
    case STORE_DELETE:
        if (call->method == HTTP_POST) {
            end_batch(call);
            return true;
        }
        call->delete_at++;
        op->outcome = STORE_OK;
        return call->delete_at == op->key_count;
    default:
        end_write(call);
        return true;
    }
}

/* ---- all of it ---- */

/* A range that begins behind the end: 416, and not every server says how long the object is. */
static bool take_beyond(s3_call *call)
{
    s3_error e;
    const http_head *head = &call->http.head;
    s3_error_parse(call->text.data, call->text.size, &e);
    if (head->has_total || e.has_size) {
        end_short(call->op, head->has_total ? head->range_total : e.size);
        return true;
    }
    call->asks_size = true;
    return false;
}

/* true when the operation is over. */
static bool take_failure(s3_call *call)
{
    store_op *op = call->op;
    s3_error e;
    const int status = call->http.head.status;
    if (op->kind == STORE_READ && status == 416 && !call->asks_size)
        return take_beyond(call);
    if (call->method == HTTP_HEAD && status == 404) {
        op->outcome = STORE_NOT_FOUND;
        return true;
    }
    s3_error_parse(call->text.data, call->text.size, &e);
    const s3_outcome *row = s3_outcome_find(status, e.code);
    if (call->method == HTTP_POST && row->meaning == BW_UNSUPPORTED) {
        atomic_store(&call->owner->backend->no_batch, true);
        return false;
    }
    if (op->kind == STORE_DELETE && row->other == STORE_NOT_FOUND) {
        call->delete_at++;
        op->outcome = STORE_OK;
        return call->delete_at == op->key_count;
    }
    fail(call, &e);
    return true;
}

bool s3_answer_take(s3_call *call)
{
    const http_request *r = &call->http;
    const int status = r->head.status;
    if (r->end == HTTP_STOPPED) {
        fail_stopped(call);
        return true;
    }
    /* An answer that began with a refusal is one, even when its text was cut. */
    if (r->end == HTTP_ANSWERED || (r->end == HTTP_CUT && status >= 300))
        return status >= 200 && status <= 299 ? end_good(call) : take_failure(call);
    fail_unanswered(call);
    return true;
}
