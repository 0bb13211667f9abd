// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "base/log.h"

#include <errno.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define LOG_LINE_BYTES 1024u

static void write_stderr(void *context, log_level level, const char *line)
{
    static const char *const names[] = {"error", "warning", "info", "debug"};
    (void)context;
    char text[LOG_LINE_BYTES + 64];
    const int size = snprintf(text, sizeof text, "batchweave: %s: %s\n", names[level], line);
    if (size > 0) {
        /* One call per line keeps lines of several processes whole; a lost log line is no failure.
         */
        const ssize_t written = write(STDERR_FILENO, text, (size_t)size);
        (void)written;
    }
}

void log_to_stderr(log_sink *sink, log_level level)
{
    *sink = (log_sink){level, write_stderr, NULL};
}

void log_line(const log_sink *sink, log_level level, const char *format, ...)
{
    if (sink == NULL || sink->write == NULL || level > sink->level)
        return;
    const int saved_errno = errno;
    char line[LOG_LINE_BYTES];
    va_list args;
    va_start(args, format);
    const int length = vsnprintf(line, sizeof line, format, args);
    va_end(args);
    if (length >= 0)
        sink->write(sink->context, level, line);
    errno = saved_errno;
}
