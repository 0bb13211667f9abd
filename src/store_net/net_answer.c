// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "base/crc32c.h"
#include "http/secret.h"
#include "store_net/net_store.h"

#include <inttypes.h>
#include <string.h>
#include <strings.h>

/* ---- bodies, as they come ---- */

static bool take_whole(net_call *call, const uint8_t *bytes, size_t size)
{
    buf *out = &call->op->out;
    const http_head *head = &call->http.head;
    if (call->got == 0 && head->has_length)
        call->parsed =
            head->length > out->max ? BW_TOO_LARGE : buf_reserve(out, (size_t)head->length);
    if (call->parsed == BW_OK) {
        buf_put(out, bytes, size);
        call->parsed = buf_status(out);
        if (head->has_crc32c)
            call->crc = crc32c(call->crc, bytes, size);
    }
    call->got += size;
    return call->parsed == BW_OK;
}

static bool take_range(net_call *call, const uint8_t *bytes, size_t size)
{
    if (size > call->op->length - call->got) {
        call->parsed = BW_TOO_LARGE;
        return false;
    }
    memcpy((uint8_t *)call->op->dest + call->got, bytes, size);
    call->got += size;
    return true;
}

bool net_answer_sink(http_request *request, const uint8_t *bytes, size_t size)
{
    net_call *call = request->owner;
    const int status = request->head.status;
    const store_op_kind kind = call->op->kind;
    const bool good = status >= 200 && status <= 299 && !call->asks_size && !call->asks_absence;
    if (good && kind == STORE_GET)
        return take_whole(call, bytes, size);
    if (good && kind == STORE_READ)
        return take_range(call, bytes, size);
    if (good && (kind == STORE_LIST || call->is_batch))
        return call->owner->backend->dialect->sink(call, bytes, size);
    const size_t room = call->text.max - call->text.size;
    buf_put(&call->text, bytes, size < room ? size : room); /* the rest is read and forgotten */
    return true;
}

/* ---- what it said ---- */

/* What of a signature in the query was sent, as it stands there and plain: servers tell either. */
static bool tells_signature(const char *url, const char *text)
{
    char plain[256];
    const char *sig = strstr(url, "sig=");
    if (sig == NULL || (sig[-1] != '?' && sig[-1] != '&'))
        return false;
    sig += strlen("sig=");
    size_t size = strcspn(sig, "&");
    size = size < sizeof plain - 1 ? size : sizeof plain - 1;
    memcpy(plain, sig, size);
    plain[size] = '\0';
    bool told = secret_is_told(plain, text);
    if (uri_decode(plain, false) != SIZE_MAX)
        told = told || secret_is_told(plain, text);
    secret_wipe(plain, sizeof plain);
    return told;
}

/* What was signed with a key does not give it away; tokens and shared access signatures are keys.
 */
static bool tells_key(const http_request *r, const char *text)
{
    static const char bearer[] = "Bearer ";
    for (size_t i = 0; i < r->header_count; i++) {
        const http_header *h = &r->headers[i];
        if (strcasecmp(h->name, "x-amz-security-token") == 0 && secret_is_told(h->value, text))
            return true;
        if (strcasecmp(h->name, "authorization") == 0 &&
            strncmp(h->value, bearer, sizeof bearer - 1) == 0 &&
            secret_is_told(h->value + sizeof bearer - 1, text))
            return true;
    }
    return tells_signature(r->url, text);
}

/* Not a word of it where a key of ours is among them. */
static void hush(net_call *call, net_error *e)
{
    http_request *r = &call->http;
    char *const said[] = {e->code, e->message, e->region, r->head.request_id, r->head.region};
    for (size_t i = 0; i < sizeof said / sizeof said[0]; i++)
        if (tells_key(r, said[i]))
            said[i][0] = '\0';
}

/* ---- what failed ---- */

static const net_outcome *row_of(const net_call *call, int status, const char *code)
{
    return net_outcome_find(call->owner->backend->dialect->outcomes, status, code);
}

static store_outcome outcome_of(const store_op *op, const net_outcome *row)
{
    return op->kind == STORE_CREATE ? row->create : row->other;
}

static const char *place_of(const net_call *call)
{
    return call->owner->backend->name;
}

static bool reads_object(const store_op *op)
{
    return op->kind == STORE_GET || op->kind == STORE_READ || op->kind == STORE_HEAD;
}

/* Keys that came so late are not the reason. */
#define FRESH_NS (5 * NS_PER_S)

bool net_call_is_past_end(const net_call *call)
{
    const int64_t end_ns = call->keys->keys.expires_ns;
    return end_ns != 0 && end_ns <= clock_now(clock_system());
}

bool net_call_has_fresh_keys(const net_call *call)
{
    return clock_now(clock_system()) - call->keys->since_ns <= FRESH_NS;
}

bool net_call_has_ended(const net_call *call, const net_error *e)
{
    const int status = call->http.head.status;
    (void)e;
    if (net_call_is_past_end(call))
        return status >= 400 && status <= 403;
    return status == 401 && !net_call_has_fresh_keys(call);
}

static const char *keys_of(const net_call *call)
{
    return call->keys != NULL ? call->keys->keys.source : "";
}

/* What an operator would have to grant, where the row of the table ends in that. */
static const char *permission_of(const net_call *call, const net_outcome *row)
{
    const net_dialect *d = call->owner->backend->dialect;
    return strcmp(row->advice, NET_PERMIT) == 0 ? d->permissions[call->op->kind] : "";
}

/* Refused for keys that have ended, where others are on their way: nothing was applied, a create
 * neither, and whoever asks again asks with the new ones. */
static bool fail_expired(net_call *call, const net_error *e, store_outcome outcome)
{
    char why[512];
    const net_backend *b = call->owner->backend;
    const int status = call->http.head.status;
    if (call->keys == NULL || (outcome != STORE_FATAL && outcome != STORE_DENIED) ||
        b->dialect->has_ended == NULL || !b->dialect->has_ended(call, e) ||
        !net_keyring_expired(b->keyring, call->keys, why, sizeof why))
        return false;
    store_op_end(call->op, STORE_RETRY, BW_DENIED,
                 "%s: %s answered %d%s%s: the keys (%s) have expired, and new ones %s%s",
                 store_op_name(call->op->kind), place_of(call), status,
                 e->code[0] != '\0' ? " " : "", e->code, keys_of(call),
                 why[0] != '\0' ? "did not come: " : "are fetched", why);
    return true;
}

void net_fail(net_call *call, const net_error *answered)
{
    store_op *op = call->op;
    net_error said = *answered;
    const net_error *e = &said;
    hush(call, &said);
    const http_head *head = &call->http.head;
    const char *region = e->region[0] != '\0' ? e->region : head->region;
    const net_outcome *row = row_of(call, head->status, e->code);
    store_outcome outcome = outcome_of(op, row);
    bw_status meaning = row->meaning;
    op->throttled = head->status == 429 || head->status == 503;
    op->retry_after_ns = head->retry_after_s > 0 ? head->retry_after_s * NS_PER_S : 0;
    if (outcome == STORE_NOT_FOUND && !reads_object(op))
        outcome = STORE_FATAL; /* it is the bucket that is not there */
    if (outcome == STORE_NOT_FOUND || outcome == STORE_EXISTS) {
        op->outcome = outcome;
        return;
    }
    if (fail_expired(call, e, outcome))
        return;
    const char *keys = meaning == BW_DENIED ? keys_of(call) : "";
    if (meaning == BW_OK) /* a failure inside an answer that says that all is well */
        outcome = op->kind == STORE_CREATE ? STORE_UNKNOWN : STORE_RETRY;
    if (meaning == BW_OK || meaning == BW_NOT_FOUND)
        meaning = BW_IO;
    store_op_end(op, outcome, meaning, "%s: %s answered %d%s%s%s%s%s%s%s%s%s%s%s%s%s",
                 store_op_name(op->kind), place_of(call), head->status,
                 e->code[0] != '\0' ? " " : "", e->code, e->message[0] != '\0' ? ": " : "",
                 e->message, row->advice, permission_of(call, row),
                 keys[0] != '\0' ? "; the keys are from " : "", keys,
                 region[0] != '\0' ? "; the bucket's region is " : "", region,
                 head->request_id[0] != '\0' ? " (request " : "", head->request_id,
                 head->request_id[0] != '\0' ? ")" : "");
}

void net_fail_unread(net_call *call)
{
    store_op_end(call->op, STORE_RETRY, BW_CORRUPT, "%s: the answer of %s cannot be read",
                 store_op_name(call->op->kind), place_of(call));
}

/* No answer, or half of one. */
static void fail_unanswered(net_call *call)
{
    store_op *op = call->op;
    const http_request *r = &call->http;
    const bool is_create = op->kind == STORE_CREATE;
    if (r->end == HTTP_REFUSED)
        store_op_end(op, STORE_FATAL, BW_DENIED, "%s: %s cannot be asked: %s",
                     store_op_name(op->kind), place_of(call), r->why);
    else if (r->end == HTTP_NOT_SENT)
        store_op_end(op, STORE_RETRY, BW_IO, "%s: %s cannot be reached: %s",
                     store_op_name(op->kind), place_of(call), r->why);
    else
        store_op_end(op, is_create ? STORE_UNKNOWN : STORE_RETRY, is_create ? BW_UNKNOWN : BW_IO,
                     "%s: %s did not answer%s: %s", store_op_name(op->kind), place_of(call),
                     is_create ? ", it may have been stored" : "", r->why);
}

/* A body that was not wanted any further. */
static void fail_stopped(net_call *call)
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
        net_fail_unread(call);
}

/* ---- what was answered with 2xx ---- */

static void end_get(net_call *call)
{
    store_op *op = call->op;
    const http_head *head = &call->http.head;
    if (head->status != 200 || (!head->has_length && !head->chunked && !head->framed)) {
        store_op_end(op, STORE_RETRY, BW_IO, "get: %s answered %d, of a length that is not said",
                     place_of(call), head->status);
        return;
    }
    if (!net_sum_is_right(call)) {
        store_op_end(op, STORE_RETRY, BW_CORRUPT,
                     "get: what came from %s is not what it says it has: another checksum",
                     place_of(call));
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

/* What was answered is another range than the one asked for. */
static void fail_range(net_call *call)
{
    const store_op *op = call->op;
    store_op_end(call->op, STORE_FATAL, BW_STORE_UNSAFE,
                 "read: %s answered %d with another range than %" PRIu64 " bytes at %" PRIu64,
                 place_of(call), call->http.head.status, op->length, op->offset);
}

/* true when the operation is over. */
static bool end_read(net_call *call)
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
    } else if (((ranged && head->range_first == op->offset && head->range_last == last) || whole) &&
               call->got == op->length) {
        op->object_bytes = whole ? head->length : head->has_total ? head->range_total : 0;
        op->modified_ms = head->modified_ms;
        op->outcome = STORE_OK;
    } else if (head->status == 206 && call->got == 0) {
        call->asks_size = true; /* nothing of an object that ends before: some say so in this way */
        return false;
    } else {
        fail_range(call);
    }
    return true;
}

static void end_head(net_call *call)
{
    store_op *op = call->op;
    const http_head *head = &call->http.head;
    const net_dialect *dialect = call->owner->backend->dialect;
    uint64_t bytes = head->length;
    int64_t modified_ms = head->modified_ms;
    const bool said =
        dialect->object != NULL ? dialect->object(call, &bytes, &modified_ms) : head->has_length;
    if (head->status != 200 || !said) {
        store_op_end(op, STORE_RETRY, BW_IO, "%s: %s answered %d, of a length that is not said",
                     store_op_name(op->kind), place_of(call), head->status);
    } else if (call->asks_absence) {
        store_op_end(op, STORE_RETRY, BW_IO, "%s: %s said that it is not there, and now it is",
                     store_op_name(op->kind), place_of(call));
    } else if (call->asks_size && op->offset + op->length <= bytes) {
        fail_range(call);
    } else if (call->asks_size) {
        end_short(op, bytes);
    } else {
        op->object_bytes = bytes;
        op->modified_ms = modified_ms;
        op->outcome = STORE_OK;
    }
}

/* A 2xx with an error behind it is an error. */
static void end_write(net_call *call)
{
    net_error e;
    call->owner->backend->dialect->error(call, &e);
    hush(call, &e);
    const net_outcome *row = row_of(call, call->http.head.status, "");
    call->op->outcome = outcome_of(call->op, row);
    if (e.code[0] != '\0')
        store_op_end(call->op, call->op->kind == STORE_CREATE ? STORE_UNKNOWN : STORE_RETRY, BW_IO,
                     "%s: %s answered %d with the error %s", store_op_name(call->op->kind),
                     place_of(call), call->http.head.status, e.code);
    else if (row->meaning != BW_OK || call->op->outcome == STORE_UNKNOWN)
        net_fail(call, &e);
}

/* One of those that are deleted one by one. */
static bool end_delete(net_call *call)
{
    call->delete_at++;
    call->op->outcome = STORE_OK;
    return call->delete_at == call->op->key_count;
}

/* true when the operation is over. */
static bool end_good(net_call *call)
{
    if (call->asks_size || call->asks_absence) {
        end_head(call);
        return true;
    }
    switch (call->op->kind) {
    case STORE_GET:
        end_get(call);
        return true;
    case STORE_READ:
        return end_read(call);
    case STORE_HEAD:
        end_head(call);
        return true;
    case STORE_LIST:
        return call->owner->backend->dialect->end(call);
    case STORE_DELETE:
        return call->is_batch ? call->owner->backend->dialect->end(call) : end_delete(call);
    default:
        end_write(call);
        return true;
    }
}

/* ---- all of it ---- */

/* A range that begins behind the end: not every server says how long the object is. */
static bool take_beyond(net_call *call, const net_error *e)
{
    const http_head *head = &call->http.head;
    if (head->has_total || e->has_size) {
        end_short(call->op, head->has_total ? head->range_total : e->size);
        return true;
    }
    call->asks_size = true;
    return false;
}

/* The clock of the store, by its answer to a request that was signed for another time. */
static void learn_skew(net_call *call)
{
    const int64_t date_ms = call->http.head.date_ms;
    if (date_ms != 0)
        atomic_store(&call->owner->backend->skew_ms, date_ms - clock_wall_ms(clock_system()));
}

/* true when the operation is over. */
static bool take_failure(net_call *call)
{
    store_op *op = call->op;
    net_error e;
    const int status = call->http.head.status;
    call->owner->backend->dialect->error(call, &e);
    if (op->kind == STORE_READ && status == 416 && !call->asks_size)
        return take_beyond(call, &e);
    const bool reads = op->kind == STORE_GET || op->kind == STORE_READ;
    if (reads && status == 404 && e.code[0] == '\0' && !call->asks_absence &&
        call->owner->backend->dialect->confirms_absence) {
        call->asks_absence = true;
        return false;
    }
    if (call->method == HTTP_HEAD && status == 404 && e.code[0] == '\0') {
        op->outcome = STORE_NOT_FOUND; /* there is no body that could say more */
        return true;
    }
    const net_outcome *row = row_of(call, status, e.code);
    /* A bare 404 is not the bucket's: nobody is there who knows of batches. */
    const bool nobody = status == 404 && e.code[0] == '\0';
    if (call->is_batch && (row->meaning == BW_UNSUPPORTED || nobody)) {
        atomic_store(&call->owner->backend->no_batch, true);
        return false;
    }
    if (op->kind == STORE_DELETE && !call->is_batch && row->other == STORE_NOT_FOUND)
        return end_delete(call);
    if (strcmp(e.code, NET_SKEWED) == 0)
        learn_skew(call);
    net_fail(call, &e);
    return true;
}

bool net_answer_take(net_call *call)
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
