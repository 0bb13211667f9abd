// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/**
 * The object store: submit operations, poll completions.
 *
 * A `store` is used by one thread at a time; store_clone gives another thread its own handle on the
 * same backend. Drivers that block (file) complete an operation inside submit; drivers with many
 * requests in flight (HTTP) complete them in poll. Either way an operation is the store's from
 * submit until poll returns it.
 *
 * What a store must promise (docs/guarantees.md): read-after-write of single keys, and an atomic
 * create-if-absent. Nothing else.
 */
#ifndef STORE_STORE_H
#define STORE_STORE_H

#include "base/buf.h"
#include "base/clock.h"
#include "base/error.h"
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

#define STORE_KEY_MAX 1024u
#define STORE_DELETE_MAX 1000u /* keys of one delete */

typedef enum store_op_kind {
    STORE_GET,    /* whole object, up to out.max bytes, into `out` */
    STORE_READ,   /* exactly [offset, offset + length), length ≥ 1, into `dest` */
    STORE_MAP,    /* the same range as a read-only mapping (only with STORE_CAN_MAP) */
    STORE_PUT,    /* whole object, replaces */
    STORE_CREATE, /* whole object, only if absent: the one conditional write */
    STORE_HEAD,   /* existence and size */
    STORE_LIST,   /* keys with a prefix, after a key: a hint, never a truth */
    STORE_DELETE, /* a number of keys; absent ones are fine */
    STORE_OP_KINDS
} store_op_kind;

/**
 * How an operation ended. `create` ends in CREATED, EXISTS, RETRY (nothing landed), UNKNOWN (may
 * have landed, may still land), UNSUPPORTED or FATAL; all others in OK, NOT_FOUND, RETRY, DENIED or
 * FATAL. A create that the store refuses for want of permission is FATAL with error code BW_DENIED.
 */
typedef enum store_outcome {
    STORE_PENDING,
    STORE_OK,
    STORE_NOT_FOUND,
    STORE_RETRY,
    STORE_DENIED,
    STORE_FATAL,
    STORE_CREATED,
    STORE_EXISTS,
    STORE_UNKNOWN,
    STORE_UNSUPPORTED,
    STORE_OUTCOMES
} store_outcome;

typedef struct store_mapping {
    const uint8_t *data; /* of the range asked for */
    size_t size;
    void *base; /* what to unmap */
    size_t base_bytes;
    void (*release)(struct store_mapping *mapping); /* any thread; outlives the store */
} store_mapping;

typedef struct store_entry {
    char *key; /* owned by the list */
    uint64_t bytes;
    int64_t modified_ms; /* unix; advisory; 0 when unknown */
} store_entry;

typedef struct store_list {
    store_entry *entries;
    size_t count, capacity;
    bool more; /* ask again, after the last key */
} store_list;

/** One operation. The caller fills the first part, and keeps it and what it points to until
 * completion. */
typedef struct store_op {
    store_op_kind kind;
    char key[STORE_KEY_MAX + 1]; /* list: the prefix */
    uint64_t offset, length;     /* read, map */
    void *dest;                  /* read */
    buf out; /* get: initialise with the cap (buf_init); a larger object is FATAL BW_TOO_LARGE */
    bool of_bucket; /* get: no object, but what the bucket is set to; with STORE_TELLS_BUCKET */
    const struct iovec *pieces; /* put, create */
    uint32_t piece_count;
    bool has_crc; /* put, create: the caller knows the CRC-32C of all pieces: nobody need read them
                     for that */
    uint32_t crc;
    char after[STORE_KEY_MAX + 1]; /* list: strictly after this key; "" from the start */
    bool list_any;                 /* list: names that no key can have, too */
    uint32_t list_max;             /* list: most entries of this page; 0 = driver's choice */
    const char *const *keys;       /* delete: all below `key_count` (key is ignored) */
    uint32_t key_count;
    void *owner; /* the caller's */

    /* results */
    store_outcome outcome;
    uint32_t attempts;
    uint64_t object_bytes; /* head, get, read: size of the whole object where known */
    int64_t modified_ms;   /* head, get: advisory */
    store_mapping mapping; /* map */
    store_list list;       /* list: release with store_list_free */
    bool lost; /* no write will ever be taken again by this store, nor by a clone: open another */
    bool throttled;         /* it failed because the store wants fewer requests */
    int64_t retry_after_ns; /* … and none like it for so long; 0: it did not say */
    bw_error
        error; /* any outcome that is not OK, CREATED, EXISTS or NOT_FOUND: code, key, message */

    struct store_op *next; /* the store's queue links and private fields */
    int64_t due_ns;
    void *driver;
} store_op;

typedef enum store_feature {
    STORE_CAN_MAP =
        1u << 0, /* STORE_MAP works here; without it a vanished file would be SIGBUS in the host */
    STORE_BLOCKS = 1u << 1,       /* submit runs the operation: parallelism needs threads */
    STORE_IS_LOCAL = 1u << 2,     /* round trips are microseconds */
    STORE_TAKES_BACK = 1u << 3,   /* store_take_back works here */
    STORE_TELLS_BUCKET = 1u << 4, /* a get may be `of_bucket` */
} store_feature;

typedef struct store store;
struct store_facts;
struct store_bucket;

/** Functions of a driver or a decorator. All required but those marked optional. */
typedef struct store_driver {
    const char *name;
    void (*submit)(store *s, store_op *op);
    /** Moves up to `max` completed operations to `done`, waiting up to `timeout_ns` (0: not at all)
     * for the first. */
    size_t (*poll)(store *s, store_op **done, size_t max, int64_t timeout_ns);
    bw_status (*clone)(store *s, store **out, bw_error *error);
    void (*close)(store *s); /* cancels what is in flight: those operations end UNKNOWN or RETRY in
                                no later poll */
    /** Optional: proves at open for writing that the promises hold (create, create again must fail,
     * read back, delete). */
    bw_status (*probe)(store *s, uint64_t nonce, bw_error *error);
    /** Optional: makes a poll that waits in another thread return early. Any thread. */
    void (*wake)(store *s);
    /** Optional: what waits to be tried again ends as it last did, and what is on the network as if
     * the connection had been cut, in the next poll. The thread that polls. */
    void (*cancel)(store *s);
    /** With STORE_TAKES_BACK. */
    void (*take_back)(store *s, store_op *op);
    /** Optional: store_failing. The thread that polls. */
    bool (*failing)(store *s, bw_error *why);
    /** Optional, of drivers: store/store_about.h. */
    bool (*about)(store *s, struct store_facts *out);
    void (*bucket)(store *s, struct store_bucket *out);
} store_driver;

/** How many requests a store is to be given; zeros: as many as come. Whoever opens it says so, and
 * whoever makes handles of it wraps it in the decorators that see to it. */
typedef struct store_pacing {
    uint32_t requests_max;  /* at once */
    uint32_t retry_percent; /* of requests: retries that fail again */
    bool hedge;             /* reads that are late are asked for a second time */
} store_pacing;

struct store {
    const store_driver *driver;
    uint32_t features;
    uint32_t inflight_max; /* how many operations are worth having in flight on this handle */
    store_pacing pacing;   /* of what was opened; clones and decorators do not have it */
    /* Set by the thread that uses this handle, for as long as it likes; NULL: never. Once it is not
     * zero, what runs on the handle ends: store_run cancels, and begins nothing more. */
    const atomic_int *stop;
};

/** Whether its `stop` says so. */
bool store_stopped(const store *s);

void store_submit(store *s, store_op *op);
/** With nothing in flight it returns 0 at once, whatever the timeout. */
size_t store_poll(store *s, store_op **done, size_t max, int64_t timeout_ns);
bw_status store_clone(store *s, store **out, bw_error *error);
void store_close(store *s); /* NULL is fine */
bw_status store_probe(store *s, uint64_t nonce, bw_error *error);
void store_wake(store *s);
/** Before a close with operations in flight: those that wait to be tried again, or for an answer
 * from the network, come back at once. */
void store_cancel(store *s);
/** An operation in flight is the caller's again at once, in no later poll, and without an outcome:
 * it may have been applied. Nothing of it is written to any more. With STORE_TAKES_BACK. */
void store_take_back(store *s, store_op *op);

/** Why what is in flight has not ended yet: what an operation that is tried again failed with last;
 * false when none is, or nobody here tries again. */
bool store_failing(store *s, bw_error *why);

/** Submits and polls until this operation is done; for handles with nothing else in flight. One
 * that is not begun because the handle was stopped is FATAL BW_INTERRUPTED. */
store_outcome store_run(store *s, store_op *op);

/** Polls until at least one operation is done; what is in flight ends when the handle is stopped.
 */
size_t store_await(store *s, store_op **done, size_t max);

/** Zeroes an operation for reuse and sets kind and key. */
void store_op_init(store_op *op, store_op_kind kind, const char *key);
/** Releases results (out, list, mapping). */
void store_op_clear(store_op *op);
void store_list_free(store_list *list);
bw_status store_list_add(store_list *list, const char *key, uint64_t bytes, int64_t modified_ms);
void store_mapping_release(store_mapping *mapping);

const char *store_op_name(store_op_kind kind);         /* "create" */
const char *store_outcome_name(store_outcome outcome); /* "UNKNOWN" */
/** The status that a failed outcome means to a user: op->error.code, or one derived from the
 * outcome. */
bw_status store_op_status(const store_op *op);
/** For drivers: sets outcome and error (code, key, message) at once. */
void store_op_end(store_op *op, store_outcome outcome, bw_status code, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* ---- drivers and decorators; each takes over `inner` on success ---- */

/**
 * Local directory. `durable` false skips every fsync (benchmarks and tests on memory file systems
 * only). Writing makes the directory and removes what dead processes left in its tmp/; reading
 * writes nothing. BW_NO_NAMESPACE when there is no directory to read, BW_UNSUPPORTED for writing on
 * a file system that may remember absence (NFS, SMB, FUSE). Directories stay when they get empty.
 */
typedef struct store_file_options {
    bool durable;
    bool writable;
} store_file_options;
bw_status store_file_open(const char *path, const store_file_options *options, store **out,
                          bw_error *error);

/** Opens by URL: `file:///path`, `mem://name` is refused here (tests make mem stores by hand).
 * Unknown schemes: BW_UNSUPPORTED names them. */
bw_status store_open_url(const char *url, bool writable, bool durable, store **out,
                         bw_error *error);
/** The directory that a URL of a file store, or a plain path, names. */
bw_status store_url_path(const char *url, char *path, size_t capacity, bw_error *error);

/** What all retries on one store may spend together (store/retry_budget.h has the rule). */
typedef struct store_retry_purse store_retry_purse;
bw_status store_retry_purse_new(const clock_source *clock, uint32_t percent,
                                store_retry_purse **out);
/** Once no retry decorator uses it. NULL is fine. */
void store_retry_purse_free(store_retry_purse *purse);

/** Retries RETRY outcomes of everything but create, with full-jitter backoff and not before the
 * store's own Retry-After. */
typedef struct store_retry_options {
    const clock_source *clock;
    uint64_t seed;
    int64_t backoff_min_ns, backoff_max_ns;
    int64_t limit_ns; /* per operation, from its submit: no try begins after it */
    uint32_t attempts_max;
    store_retry_purse *purse; /* NULL: as many retries as come */
} store_retry_options;
bw_status store_retry_wrap(store *inner, const store_retry_options *options, store **out,
                           bw_error *error);

#endif
