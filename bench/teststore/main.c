// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/* batchweave-teststore: an object store in memory that goes wrong on request
 * (docs/design/teststore.md). Exit codes: 0 stopped by a signal, 1 usage, 4 cannot start. */
#include "base/alloc.h"
#include "grab.h"
#include "server.h"
#include <getopt.h>
#include <jansson.h>
#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#define WARM_BLOCK (1u << 20)

typedef struct options {
    const char *host, *config;
    uint64_t port, threads, seed, bytes_max, journal_max, warm;
    const char *containers[16];
    size_t container_count;
    bool with_parent;
} options;

static void usage(FILE *out)
{
    fputs(
        "usage: batchweave-teststore [OPTION…]\n"
        "An object store in memory that speaks S3, GCS and Azure Blob, and goes wrong on request.\n"
        "Its first line is JSON with the port and the process id. Plain HTTP, IPv4.\n\n"
        "  --port N             0, the default, takes a free one\n"
        "  --host ADDRESS       default 127.0.0.1\n"
        "  --threads N          default: one a CPU\n"
        "  --container NAME     makes a bucket or container; may be repeated\n"
        "  --dialect NAME       s3, gcs or azure for every request; else by what it looks like\n"
        "  --config JSON        faults, latency, bandwidth: as of POST /_control; @FILE reads one\n"
        "  --seed N             of faults and latency, default 1\n"
        "  --digest             the journal has SHA-256 (its first half) beside CRC-32C\n"
        "  --bytes-max N        of all objects together, default 8 GiB\n"
        "  --journal-max N      entries of the journal, default 4,000,000\n"
        "  --warm N             touches N bytes of memory first: fresh pages are slow\n"
        "  --with-parent        ends when its parent does\n"
        "Signatures are checked only against keys that are given:\n"
        "  --access-key K --secret-key S [--region R] [--session-token T]     S3, SigV4\n"
        "  --account NAME --account-key BASE64                                Azure, SharedKey\n"
        "  --bearer TOKEN                                                     GCS and Azure\n"
        "  --s3-host SUFFIX     of host style, default s3.localhost\n",
        out);
}

enum {
    OPTION_PORT = 1000,
    OPTION_HOST,
    OPTION_THREADS,
    OPTION_CONTAINER,
    OPTION_DIALECT,
    OPTION_CONFIG,
    OPTION_SEED,
    OPTION_DIGEST,
    OPTION_BYTES_MAX,
    OPTION_JOURNAL_MAX,
    OPTION_WARM,
    OPTION_WITH_PARENT,
    OPTION_ACCESS_KEY,
    OPTION_SECRET_KEY,
    OPTION_REGION,
    OPTION_SESSION_TOKEN,
    OPTION_ACCOUNT,
    OPTION_ACCOUNT_KEY,
    OPTION_BEARER,
    OPTION_S3_HOST,
    OPTION_HELP
};

static const struct option long_options[] = {
    {"port", required_argument, NULL, OPTION_PORT},
    {"host", required_argument, NULL, OPTION_HOST},
    {"threads", required_argument, NULL, OPTION_THREADS},
    {"container", required_argument, NULL, OPTION_CONTAINER},
    {"dialect", required_argument, NULL, OPTION_DIALECT},
    {"config", required_argument, NULL, OPTION_CONFIG},
    {"seed", required_argument, NULL, OPTION_SEED},
    {"digest", no_argument, NULL, OPTION_DIGEST},
    {"bytes-max", required_argument, NULL, OPTION_BYTES_MAX},
    {"journal-max", required_argument, NULL, OPTION_JOURNAL_MAX},
    {"warm", required_argument, NULL, OPTION_WARM},
    {"with-parent", no_argument, NULL, OPTION_WITH_PARENT},
    {"access-key", required_argument, NULL, OPTION_ACCESS_KEY},
    {"secret-key", required_argument, NULL, OPTION_SECRET_KEY},
    {"region", required_argument, NULL, OPTION_REGION},
    {"session-token", required_argument, NULL, OPTION_SESSION_TOKEN},
    {"account", required_argument, NULL, OPTION_ACCOUNT},
    {"account-key", required_argument, NULL, OPTION_ACCOUNT_KEY},
    {"bearer", required_argument, NULL, OPTION_BEARER},
    {"s3-host", required_argument, NULL, OPTION_S3_HOST},
    {"help", no_argument, NULL, OPTION_HELP},
    {NULL, 0, NULL, 0}};

static bool set_dialect(settings *s, const char *name)
{
    const dialect *const all[] = {&dialect_s3, &dialect_gcs, &dialect_azure};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        if (strcmp(all[i]->name, name) == 0)
            s->forced = all[i];
    return s->forced != NULL;
}

static bool add_container(options *o, const char *name)
{
    if (o->container_count == sizeof o->containers / sizeof o->containers[0])
        return false;
    o->containers[o->container_count++] = name;
    return true;
}

/** Texts that the server keeps; false: not one of them. */
static bool set_text(options *o, settings *s, int option, const char *text)
{
    switch (option) {
    case OPTION_HOST:
        o->host = text;
        return true;
    case OPTION_CONFIG:
        o->config = text;
        return true;
    case OPTION_ACCESS_KEY:
        s->access_key = text;
        return true;
    case OPTION_SECRET_KEY:
        s->secret_key = text;
        return true;
    case OPTION_REGION:
        s->region = text;
        return true;
    case OPTION_SESSION_TOKEN:
        s->session_token = text;
        return true;
    case OPTION_ACCOUNT:
        s->account = text;
        return true;
    case OPTION_ACCOUNT_KEY:
        s->account_key = text;
        return true;
    case OPTION_BEARER:
        s->bearer = text;
        return true;
    case OPTION_S3_HOST:
        s->s3_host = text;
        return true;
    default:
        return false;
    }
}

static bool set_option(options *o, settings *s, int option, const char *text)
{
    if (set_text(o, s, option, text))
        return true;
    switch (option) {
    case OPTION_PORT:
        return request_number(text, &o->port) && o->port < 65536;
    case OPTION_THREADS:
        return request_number(text, &o->threads) && o->threads >= 1 && o->threads <= THREADS_MAX;
    case OPTION_SEED:
        return request_number(text, &o->seed);
    case OPTION_BYTES_MAX:
        return request_number(text, &o->bytes_max);
    case OPTION_JOURNAL_MAX:
        return request_number(text, &o->journal_max);
    case OPTION_WARM:
        return request_number(text, &o->warm);
    case OPTION_CONTAINER:
        return add_container(o, text);
    case OPTION_DIALECT:
        return set_dialect(s, text);
    case OPTION_DIGEST:
        s->digest = true;
        return true;
    case OPTION_WITH_PARENT:
        o->with_parent = true;
        return true;
    default:
        return false;
    }
}

/** -1: go on; else the exit code. */
static int parse_options(int argc, char **argv, options *o, settings *s)
{
    const long cpus = sysconf(_SC_NPROCESSORS_ONLN);
    *o = (options){.host = "127.0.0.1",
                   .threads = cpus < 1    ? 1
                              : cpus > 16 ? 16
                                          : (uint64_t)cpus,
                   .seed = 1,
                   .bytes_max = 8ull << 30,
                   .journal_max = 4000000};
    *s =
        (settings){.region = "us-east-1", .account = "devstoreaccount1", .s3_host = "s3.localhost"};
    for (int option; (option = getopt_long(argc, argv, "h", long_options, NULL)) != -1;) {
        if (option == 'h' || option == OPTION_HELP) {
            usage(stdout);
            return 0;
        }
        if (option == '?')
            return 1;
        if (!set_option(o, s, option, optarg)) {
            fprintf(stderr, "batchweave-teststore: %s is no value for %s\n", optarg,
                    argv[optind - 1] == optarg ? argv[optind - 2] : argv[optind - 1]);
            return 1;
        }
    }
    if (optind < argc || (s->access_key == NULL) != (s->secret_key == NULL)) {
        usage(stderr);
        return 1;
    }
    return -1;
}

static bool read_config(faults *f, const char *text)
{
    json_error_t where;
    buf why;
    buf_init(&why, 4096);
    json_t *wanted = text[0] == '@' ? json_load_file(text + 1, JSON_REJECT_DUPLICATES, &where)
                                    : json_loads(text, JSON_REJECT_DUPLICATES, &where);
    if (wanted == NULL)
        buf_printf(&why, "no JSON: %s", where.text);
    const bool good = wanted != NULL && faults_configure(f, wanted, &why);
    if (!good)
        fprintf(stderr, "batchweave-teststore: --config: %s\n", buf_text(&why));
    json_decref(wanted);
    buf_free(&why);
    return good;
}

/** As many sockets as the machine lets us have; bodies from one heap that keeps what it has, and
 * not each from the kernel, which would fetch and clear its pages every time. */
static void tune(void)
{
    struct rlimit files;
    if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
        files.rlim_cur = files.rlim_max;
        setrlimit(RLIMIT_NOFILE, &files);
    }
    mallopt(M_MMAP_THRESHOLD, 1 << 30);
    mallopt(M_TRIM_THRESHOLD, -1);
    mallopt(M_TOP_PAD, 64 << 20);
    mallopt(M_ARENA_MAX, 1);
}

/** Touches so much memory and gives it back to the heap: no put pays for fresh pages after this. */
static void warm(uint64_t bytes)
{
    void **blocks = NULL;
    size_t count = 0, capacity = 0;
    for (void *array = NULL; bytes >= WARM_BLOCK; bytes -= WARM_BLOCK) {
        grab_grow(&array, &capacity, count + 1, sizeof *blocks);
        blocks = array;
        blocks[count] = grab(WARM_BLOCK);
        memset(blocks[count++], 1, WARM_BLOCK);
    }
    while (count > 0)
        mem_free(blocks[--count]);
    mem_free(blocks);
}

static bool start(server *s, const options *o)
{
    s->thread_count = (size_t)o->threads;
    s->objects = objects_new(o->bytes_max, o->journal_max);
    s->faults = faults_new(o->seed);
    for (size_t i = 0; i < o->container_count; i++)
        objects_add_container(s->objects, o->containers[i]);
    return (o->config == NULL || read_config(s->faults, o->config)) &&
           server_listen(s, o->host, (unsigned)o->port) && server_start(s, o->seed);
}

int main(int argc, char **argv)
{
    static server s;
    options o;
    const int code = parse_options(argc, argv, &o, &s.settings);
    if (code >= 0)
        return code;
    if (o.with_parent && prctl(PR_SET_PDEATHSIG, SIGTERM) != 0)
        perror("batchweave-teststore: --with-parent");
    tune();
    warm(o.warm);
    sigset_t ends;
    sigemptyset(&ends);
    sigaddset(&ends, SIGTERM);
    sigaddset(&ends, SIGINT);
    sigprocmask(SIG_BLOCK, &ends, NULL);
    if (!start(&s, &o))
        return 4;
    printf("{\"port\":%u,\"pid\":%d}\n", s.port, (int)getpid());
    fflush(stdout);
    int which = 0;
    sigwait(&ends, &which);
    server_stop(&s);
    faults_free(s.faults);
    objects_free(s.objects);
    return 0;
}
