// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/* "steps" and "tail". */
#include "client/reports.h"

#include <inttypes.h>

#define TAIL_POLL_NS (50 * NS_PER_MS)
#define IDLE_NS NS_PER_S

static const char *form_name(shape_form form)
{
    static const char *const names[] = {"uniform", "inline", "footer"};
    return (unsigned)form <= FORM_FOOTER ? names[form] : "unknown";
}

void put_step(buf *out, uint64_t step, const descriptor *d)
{
    object_key key;
    key_part(&key, d->id, d->record.epoch, d->record.seq, d->record.nonce, 0);
    json_put_object(out, NULL);
    json_put_u64(out, "step", step);
    json_put_view(out, "producer", d->id);
    json_put_u64(out, "epoch", d->record.epoch);
    json_put_u64(out, "seq", d->record.seq);
    json_put_u64(out, "start", d->record.start);
    json_put_u64(out, "end", d->record.end);
    json_put_nonce(out, "nonce", d->record.nonce);
    json_put_text(out, "kind", kind_name(d->shape.kind));
    json_put_u64(out, "items", d->shape.items);
    json_put_text(out, "form", form_name(d->shape.form));
    json_put_u64(out, "parts", d->shape.parts);
    json_put_u64(out, "bytes", d->shape.total_bytes);
    json_put_u64(out, "samples", d->shape.samples);
    json_put_u64(out, "tokens", d->shape.tokens);
    json_put_u64(out, "tag", d->shape.tag);
    json_put_text(out, "key", key.text);
    json_put_object_end(out);
}

static bw_status emit_step(report *r, reader *from, uint64_t step, bw_error *error)
{
    step_entry entry;
    BW_TRY(reader_step(r->space, from, step, TIME_NEVER, &entry, error));
    put_step(&r->out, step, &entry.descriptor);
    return report_emit(r, error);
}

bw_status report_steps(report *r, bw_error *error)
{
    reader from;
    BW_TRY(reader_open(r->space, r->deadline_ns, r->options->stop, &from, error));
    const manifest *m = chain_held(from.chain);
    uint64_t step = r->options->has_first ? r->options->first : m->trim;
    const uint64_t end =
        r->options->has_last && r->options->last < m->next ? r->options->last : m->next;
    bw_status status = BW_OK;
    for (; step < end && status == BW_OK; step++)
        status = emit_step(r, &from, step, error);
    reader_close(&from);
    return status;
}

static bw_status emit_idle(report *r, const manifest *m, uint64_t step, int64_t idle_ns,
                           bw_error *error)
{
    uint64_t alive = 0;
    for (uint32_t i = 0; i < m->producer_count; i++)
        alive += !m->producers[i].finished && !m->producers[i].forgotten;
    json_put_object(&r->out, NULL);
    json_put_bool(&r->out, "idle", true);
    json_put_i64(&r->out, "idle_ms", idle_ns / NS_PER_MS);
    json_put_u64(&r->out, "step", step);
    json_put_u64(&r->out, "version", m->version);
    json_put_u64(&r->out, "producers", m->producer_count);
    json_put_u64(&r->out, "producers_alive", alive);
    json_put_i64(&r->out, "last_commit_age_ms", clock_age_ms(clock_system(), m->clock_ms));
    json_put_object_end(&r->out);
    return report_emit(r, error);
}

/* Behind the end of a sealed namespace nothing will ever come. */
static bw_status check_reachable(const manifest *m, uint64_t step, bw_error *error)
{
    if (!m->sealed || step <= m->next)
        return BW_OK;
    (void)error_set(error, BW_BEYOND_END,
                    "step %" PRIu64
                    " lies beyond the end: the namespace is sealed at step %" PRIu64,
                    step, m->next);
    error_set_step(error, step);
    return BW_BEYOND_END;
}

bw_status report_tail(report *r, bw_error *error)
{
    reader from;
    BW_TRY(reader_open(r->space, r->deadline_ns, r->options->stop, &from, error));
    uint64_t step = r->options->has_first ? r->options->first : chain_held(from.chain)->trim;
    int64_t news_ns = clock_now(clock_system()), idle_ns = news_ns;
    bw_status status = check_reachable(chain_held(from.chain), step, error);
    gate sleep;
    gate_init(&sleep);
    while (status == BW_OK) {
        const manifest *m = chain_held(from.chain);
        if (step < m->next) {
            status = emit_step(r, &from, step++, error);
            news_ns = idle_ns = clock_now(clock_system());
            continue;
        }
        if (m->sealed)
            break;
        const int64_t now_ns = clock_now(clock_system());
        if (now_ns - idle_ns >= IDLE_NS) {
            idle_ns = now_ns;
            status = emit_idle(r, m, step, now_ns - news_ns, error);
        }
        if (status == BW_OK) {
            gate_wait(&sleep, 0, now_ns + TAIL_POLL_NS);
            status = chain_walk(from.chain, from.drive, CHAIN_POLL, TIME_NEVER, NULL, error);
        }
    }
    reader_close(&from);
    return status;
}
