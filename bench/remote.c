// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "remote.h"

#include "base/clock.h"
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static void become(const char *program, int out)
{
    if (dup2(out, STDOUT_FILENO) < 0)
        _exit(127);
    (void)execl(program, program, "--with-parent", "--container", REMOTE_BUCKET, (char *)NULL);
    _exit(127);
}

static bw_status read_port(remote *r, int from, bw_error *error)
{
    char line[256];
    FILE *in = fdopen(from, "r");
    if (in == NULL) {
        close(from);
        return bench_failed(error, "fdopen");
    }
    const bool told = fgets(line, sizeof line, in) != NULL;
    fclose(in);
    if (!told || sscanf(line, "{\"port\":%u", &r->port) != 1)
        return error_set(error, BW_IO, "the test store did not start");
    return BW_OK;
}

bw_status remote_start(remote *r, const char *program, bw_error *error)
{
    int ends[2];
    *r = (remote){0};
    /* The server looks at signatures only when it is given keys: what is measured is this side. */
    (void)setenv("AWS_ACCESS_KEY_ID", "bench", 0);
    (void)setenv("AWS_SECRET_ACCESS_KEY", "bench", 0);
    if (access(program, X_OK) != 0)
        return bench_failed(error, program);
    if (pipe2(ends, O_CLOEXEC) != 0)
        return bench_failed(error, "pipe");
    r->process = fork();
    if (r->process == 0)
        become(program, ends[1]);
    close(ends[1]);
    if (r->process < 0) {
        close(ends[0]);
        return bench_failed(error, "fork");
    }
    return read_port(r, ends[0], error);
}

void remote_stop(remote *r)
{
    if (r->process <= 0)
        return;
    (void)kill(r->process, SIGTERM);
    (void)waitpid(r->process, NULL, 0);
    r->process = 0;
}

bw_status remote_store(const remote *r, s3_sign_body sign_body, store **out, bw_error *error)
{
    char endpoint[64];
    (void)snprintf(endpoint, sizeof endpoint, "http://127.0.0.1:%" PRIu32, r->port);
    const s3_options options = {
        .bucket = REMOTE_BUCKET,
        .prefix = "",
        .endpoint = endpoint,
        .region = "us-east-1",
        .profile = "",
        .ca_file = "",
        .sign_body = sign_body,
        .request_timeout_ns = 30 * NS_PER_S,
    };
    return s3_store_open(&options, out, error);
}
