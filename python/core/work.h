// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/**
 * work: the arguments and results of a call that runs apart (wait.h): copies and counted handles,
 * no Python objects.
 */
#ifndef PYTHON_WORK_H
#define PYTHON_WORK_H

#include "owned.h"
#include "wait.h"

typedef struct work {
    owned *on; /* the handle that it is a call of, or NULL */
    int64_t timeout_ns;
    bw_config *config;
    bw_cursor *cursor;
    /* Copied texts, NULL where None: */
    char *url, *group, *launch, *id;
    char **ids;
    size_t id_count;
    uint64_t step;
    uint32_t d, c, item, epoch;
    bool force;
    /* results */
    owned *made;
    bw_item *item_made;
    bw_cursor *cursor_made;
    char *text_made;
    uint32_t count_made;
} work;

/** Zeroed; holds `on` (may be NULL). NULL: exception set. */
work *work_new(owned *on);
void work_drop(void *w);
/** Copies a str, or None as NULL. False: exception set. */
bool work_text(char **slot, PyObject *text);
/** Copies a sequence of str into `ids`. */
bool work_ids(work *w, PyObject *ids);
/** Parses a cursor's JSON; None is no cursor. */
bool work_cursor(core_state *state, work *w, PyObject *json);
bool work_config(core_state *state, work *w, PyObject *settings);

/** wait_apart, when `ready`: its arguments were good; else drops `w` (may be NULL), with the
 * exception that is set. */
wait_call *work_run(core_state *state, wait_run run, work *w, bool ready);
/** The same, and None on success. */
PyObject *work_none(core_state *state, wait_run run, work *w, bool ready);

#endif
