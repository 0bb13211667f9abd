// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/**
 * The shape of every protocol machine: no I/O, no thread, no clock of its own. It asks for store
 * requests, is given their replies and the time, and says when it wants to be woken. The client
 * drives machines with real stores; the simulator drives the same object files with a virtual one.
 *
 *     while (machine running) {
 *         while (next(&request)) send it;
 *         deliver a reply, or tick at due();
 *     }
 */
#ifndef PROTOCOL_MACHINE_H
#define PROTOCOL_MACHINE_H

#include "codec/key.h"
#include "store/store.h"

typedef struct machine_request {
    uint32_t id;          /* names the reply */
    store_op_kind kind;   /* get (whole), head, put, create, delete, list */
    object_key key;       /* list: prefix */
    object_key after;     /* list */
    const uint8_t *bytes; /* put, create: the machine's, unchanged until the reply */
    size_t size;
    size_t bytes_max;       /* get */
    const object_key *keys; /* delete: the machine's until the reply */
    uint32_t key_count;
} machine_request;

typedef struct machine_reply {
    uint32_t id;
    store_outcome outcome;
    uint8_t *bytes; /* get: from mem_alloc; the machine takes it and sets it NULL, else the driver
                       frees it */
    size_t size;
    store_list *list;    /* list: read during the call */
    bw_status code;      /* of a failure */
    const char *message; /* of a failure; read during the call */
} machine_reply;

typedef struct machine_type {
    const char *name;
    /** Takes the next request to send; false when there is none now. */
    bool (*next)(void *machine, machine_request *request);
    void (*reply)(void *machine, int64_t now_ns, machine_reply *reply);
    /** Called at or after due(); harmless at any time. */
    void (*tick)(void *machine, int64_t now_ns);
    int64_t (*due)(const void *machine); /* TIME_NEVER: nothing to wait for but replies */
    /** False when the machine wants nothing more and the driver holds none of its requests. */
    bool (*running)(const void *machine);
} machine_type;

/** What a failed outcome means: the reply's code, or one derived from the outcome. */
bw_status machine_status(const machine_reply *reply);

/** A machine and its functions, for drivers. */
typedef struct machine {
    const machine_type *type;
    void *self;
} machine;

#endif
