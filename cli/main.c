// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "cli.h"
#include "help.h"
#include "signals.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define OUTPUT_BUFFER_BYTES 65536u

/** Runs one command; its status, after everything it opened is closed. */
static bw_status run_command(cli *c, const command *what, int argc, char **argv)
{
    bw_status status = args_parse(c, what, argc, argv);
    if (status == BW_OK && args_given(c, "help")) {
        help_command(what, stdout);
        return BW_OK;
    }
    if (status == BW_OK)
        status = what->run(c);
    signals_clear();
    cli_close(c);
    return status;
}

/** What was printed is data: that it could not be written is a failure. */
static bw_status check_output(cli *c, bw_status status)
{
    const bool written = cli_flush();
    /* `| head` has seen enough. Threads block signals: one that wrote only got the error. */
    if (cli_output_closed())
        raise(SIGPIPE);
    return written || status != BW_OK ? status : cli_output_failed(c);
}

/** A large buffer, so that little is written but by cli_write and cli_flush, which keep errors. */
static void buffer_output(void)
{
    static char buffer[OUTPUT_BUFFER_BYTES];
    if (!isatty(STDOUT_FILENO))
        setvbuf(stdout, buffer, _IOFBF, sizeof buffer);
}

static int finish(cli *c, bw_status status)
{
    status = check_output(c, status);
    int code = exit_of(status);
    if (status != BW_OK)
        cli_report(c, status);
    if (status == BW_INTERRUPTED && signals_seen() != 0)
        code = EXIT_SIGNAL + signals_seen();
    free(c->operands);
    bw_config_free(c->config);
    bw_error_free(c->error);
    return code;
}

int main(int argc, char **argv)
{
    signals_install();
    buffer_output();
    cli c = {.config = bw_config_new(), .error = bw_error_new()};
    if (c.config == NULL || c.error == NULL)
        return finish(&c, cli_fail(&c, BW_NOMEM, "out of memory"));
    const char *name = argc > 1 ? argv[1] : "help";
    if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0)
        name = "help";
    if (strcmp(name, "--version") == 0)
        name = "version";
    const command *what = command_find(name);
    if (what == NULL)
        return finish(
            &c, cli_fail(&c, BW_INVALID, "%s: no such command; batchweave help lists them", name));
    const bw_status status =
        run_command(&c, what, argc > 2 ? argc - 2 : 0, argc > 2 ? argv + 2 : argv + argc);
    if (argc < 2) { /* help was shown, but nothing was asked for */
        finish(&c, status);
        return EXIT_USAGE;
    }
    return finish(&c, status);
}
