// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "cli.h"

#include "patience.h"

#include <errno.h>
#include <jansson.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

bw_status cli_fail(cli *c, bw_status status, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    c->failed = status;
    if (vsnprintf(c->message, sizeof c->message, format, args) < 0)
        c->message[0] = '\0';
    va_end(args);
    c->key[0] = '\0';
    c->step = -1;
    c->attempts = 0;
    return status;
}

void cli_add_facts(cli *c, const bw_error *error)
{
    snprintf(c->key, sizeof c->key, "%s", bw_error_key(error));
    c->step = bw_error_step(error);
    c->attempts = bw_error_attempts(error);
}

void cli_keep_failure(cli *c, bw_status status)
{
    if (c->failed == status || bw_error_code(c->error) != status)
        return;
    cli_fail(c, status, "%s", bw_error_message(c->error));
    cli_add_facts(c, c->error);
}

void cli_notice(const char *format, ...)
{
    char line[CLI_MESSAGE_MAX];
    va_list args;
    va_start(args, format);
    const int length = vsnprintf(line, sizeof line, format, args);
    va_end(args);
    if (length >= 0)
        fprintf(stderr, "batchweave: %s\n", line);
}

/** Where the facts of a failure lie: its own message, or the library's error object. */
static const char *failure_message(const cli *c, bw_status status)
{
    if (c->failed == status && c->message[0] != '\0')
        return c->message;
    if (bw_error_code(c->error) == status && bw_error_message(c->error)[0] != '\0')
        return bw_error_message(c->error);
    return bw_status_text(status);
}

static const char *failure_key(const cli *c, bw_status status)
{
    if (c->failed == status)
        return c->key;
    return bw_error_code(c->error) == status ? bw_error_key(c->error) : "";
}

static const char *class_name(bw_status status)
{
    static const char *const names[] = {"OK", "USAGE", "WAIT", "STATE", "STORE", "DATA", "FATAL"};
    const unsigned index = (unsigned)bw_status_class(status);
    return index < COUNT_OF(names) ? names[index] : "FATAL";
}

static void report_json(const cli *c, bw_status status)
{
    const bool library = c->failed != status && bw_error_code(c->error) == status;
    const int64_t step = library ? bw_error_step(c->error) : c->failed == status ? c->step : -1;
    const uint32_t attempts = library               ? bw_error_attempts(c->error)
                              : c->failed == status ? c->attempts
                                                    : 0;
    json_t *error = json_pack(
        "{s:{s:s, s:s, s:i, s:s%, s:s%, s:I, s:I}}", "error", "code", bw_status_name(status),
        "class", class_name(status), "exit", exit_of(status), "message", failure_message(c, status),
        strlen(failure_message(c, status)), "key", failure_key(c, status),
        strlen(failure_key(c, status)), "step", (json_int_t)step, "attempts", (json_int_t)attempts);
    if (error != NULL) {
        json_dumpf(error, stderr, JSON_COMPACT);
        fputc('\n', stderr);
    } else { /* a path that is no UTF-8 */
        cli_notice("%s [%s]", failure_message(c, status), bw_status_name(status));
    }
    json_decref(error);
}

void cli_report(const cli *c, bw_status status)
{
    cli_flush();
    if (c->json) {
        report_json(c, status);
        return;
    }
    /* Where bytes are wrong or cannot be had, the next thing to look at is the object. */
    const char *message = failure_message(c, status), *key = failure_key(c, status);
    const bw_class kind = bw_status_class(status);
    const bool shown = (kind == BW_CLASS_DATA || kind == BW_CLASS_STORE) && *key != '\0' &&
                       strstr(message, key) == NULL;
    cli_notice("%s%s%s (batchweave errors %s explains) [%s]", message, shown ? "; at " : "",
               shown ? key : "", bw_status_name(status), bw_status_name(status));
}

static int output_errno; /* of the first failure of standard output, or 0 */

void cli_write(const void *data, size_t size)
{
    errno = 0;
    if (fwrite(data, 1, size, stdout) < size && output_errno == 0)
        output_errno = errno;
}

bool cli_flush(void)
{
    errno = 0;
    if (fflush(stdout) != 0 && output_errno == 0)
        output_errno = errno;
    return ferror(stdout) == 0;
}

bool cli_output_closed(void)
{
    return output_errno == EPIPE;
}

bw_status cli_output_failed(cli *c)
{
    char text[128];
    return cli_fail(c, output_errno == ENOSPC || output_errno == EDQUOT ? BW_NO_SPACE : BW_IO,
                    "standard output cannot be written%s%s", output_errno != 0 ? ": " : "",
                    output_errno != 0 ? strerror_r(output_errno, text, sizeof text) : "");
}

bw_status cli_open(cli *c, const char *mode)
{
    return cli_resume(c, mode, NULL);
}

bw_status cli_resume(cli *c, const char *mode, const bw_cursor *from)
{
    bw_status status = bw_config_set(c->config, "mode", mode, c->error);
    if (status == BW_OK)
        status = bw_runtime_open(c->config, &c->runtime, c->error);
    if (status != BW_OK)
        return status;
    patience_begin("the store answers while the namespace is opened");
    status = bw_space_resume(c->runtime, c->operands[0], c->config, from, c->timeout_ns, &c->space,
                             c->error);
    patience_end();
    return status;
}

void cli_close(cli *c)
{
    bw_space_close(c->space);
    bw_runtime_close(c->runtime);
    c->space = NULL;
    c->runtime = NULL;
}

int64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000ll + now.tv_nsec;
}
