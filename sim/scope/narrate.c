// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/* A trace, for people. */
#include "world.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

typedef struct text {
    char *line;
    size_t size, used;
} text;

static void say(text *t, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void say(text *t, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    const int used = vsnprintf(t->line + t->used, t->size - t->used, format, args);
    va_end(args);
    if (used > 0)
        t->used += (size_t)used < t->size - t->used ? (size_t)used : t->size - t->used - 1;
}

static void say_content(text *t, uint32_t number)
{
    const content *c = contents_at(number);
    say(t, "version %u", c->version);
    if (c->version <= 1)
        return;
    const content *b = contents_at(c->base);
    for (uint32_t id = 0; id < IDS; id++)
        if (c->ids[id].epoch != b->ids[id].epoch)
            say(t, ", %c opens at epoch %u", 'a' + (int)id, c->ids[id].epoch);
    for (uint32_t i = b->step_count; i < c->step_count; i++)
        say(t, ", step %u is batch %" PRIu64 " of %c", i, c->steps[i].seq,
            'a' + (int)c->steps[i].id);
    say(t, " (manifest %u on %u)", number, c->base);
}

static void say_errand(text *t, const errand *e)
{
    static const char *const words[] = {
        [ERRAND_MANIFEST] = "get version",
        [ERRAND_MARKER] = "get the marker of block",
        [ERRAND_HEAD_MANIFEST] = "head of version",
        [ERRAND_HEAD_MARKER] = "head of the marker of block",
        [ERRAND_CREATE] = "create",
        [ERRAND_CREATE_MARKER] = "create the marker of block",
        [ERRAND_PUT] = "put segment",
        [ERRAND_DELETE] = "delete versions",
        [ERRAND_LIST] = "list",
        [ERRAND_WRONG] = "a request that nobody may make",
    };
    say(t, "%s", words[e->kind]);
    if (e->kind == ERRAND_CREATE) {
        say(t, " ");
        say_content(t, e->number);
    } else if (e->kind == ERRAND_DELETE) {
        for (uint32_t v = 1; v <= VERSIONS_MAX; v++)
            if ((e->number & 1u << v) != 0)
                say(t, " %u", v);
    } else if (e->kind != ERRAND_LIST && e->kind != ERRAND_WRONG) {
        say(t, " %u", e->number);
    }
}

static void say_change(text *t, const world *w, const world *next)
{
    if (next->head != w->head) {
        say(t, "; the chain is at ");
        say_content(t, next->head);
    }
    if (memcmp(next->ghosts, w->ghosts, sizeof w->ghosts) != 0)
        say(t, "; a ghost comes or goes");
    for (uint32_t p = 0; p < PROCESSES; p++) {
        if (w->local[p] == 0 || next->local[p] == 0)
            continue;
        const actor_face *was = locals_face(w->local[p]), *is = locals_face(next->local[p]);
        if (is->life != was->life)
            continue;
        if (is->epoch != was->epoch)
            say(t, "; it is told: open at epoch %u, seq %u", is->epoch, is->acked);
        else if (is->acked != was->acked)
            say(t, "; it is told: published up to batch %u", is->acked);
        if (is->end == ACTOR_FENCED && was->end == ACTOR_RUNS)
            say(t, "; it is told: FENCED");
    }
}

void world_tell(const world *w, const choice *c, char *line, size_t size)
{
    static const char *const how_words[] = {
        [HOW_TRULY] = "",
        [HOW_REPLY_LOST] = " [applied, the reply is lost]",
        [HOW_DELAYED] = " [delayed, the sender is told UNKNOWN]",
        [HOW_TWICE] = " [a duplicate stays on its way]",
        [HOW_REFUSED] = " [throttled]",
        [HOW_DAMAGED] = " [a wrong bit]",
        [HOW_LIST_EMPTY] = " [shows nothing]",
        [HOW_LIST_OLD] = " [shows what is deleted too]",
        [HOW_IN_PART] = " [only one of them as yet]",
        [HOW_LATE] = "a late write is applied",
        [HOW_KILLED] = " is killed, and starts again",
        [HOW_TAKEN_OVER] = " is taken over by another incarnation, and goes on",
        [HOW_DEADLINE] = ": the deadline of the commit passes",
    };
    text t = {line, size, 0};
    world next;
    line[0] = '\0';
    if (c->how != HOW_LATE) {
        const actor_face *f = locals_face(w->local[c->process]);
        if (f->sweeper)
            say(&t, "sweeper");
        else
            say(&t, "%c%s", 'a' + f->id, c->process > IDS ? "'" : "");
        if (c->how < HOW_LATE) {
            say(&t, ": ");
            say_errand(&t, &f->errands[c->errand]);
        }
    }
    say(&t, "%s", how_words[c->how]);
    if (world_take(w, c, &next))
        say_change(&t, w, &next);
}
