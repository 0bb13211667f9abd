// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/** A log sink that a runtime owns; no global state. Lines are cut at 1 KiB and carry no secrets. */
#ifndef BASE_LOG_H
#define BASE_LOG_H

typedef enum log_level {
    LOG_LEVEL_ERROR,
    LOG_LEVEL_WARN,
    LOG_LEVEL_INFO,
    LOG_LEVEL_DEBUG
} log_level;

typedef struct log_sink {
    log_level level; /* lines above it are dropped */
    void (*write)(void *context, log_level level, const char *line);
    void *context;
} log_sink;

/** Writes to stderr, one write call per line. */
void log_to_stderr(log_sink *sink, log_level level);
/** `sink` may be NULL: nothing is written. Any thread. */
void log_line(const log_sink *sink, log_level level, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif
