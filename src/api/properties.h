// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/**
 * The one table of settings. P(ID, name, scope, type, default, least, most, help): `least` and
 * `most` bound sizes (bytes), times (ns) and integers. Types: "size", "integer", "time", "switch",
 * "text", or choices "a|b|c".
 */
#ifndef API_PROPERTIES_H
#define API_PROPERTIES_H

#include <stdint.h>

#define U32 UINT32_MAX
#define U63 INT64_MAX
#define NS_A_DAY 86400000000000ll

#define PROPERTY_MAP(P)                                                                            \
    P(THREADS, "threads", "runtime", "integer", "4", 1, 64,                                        \
      "threads for uploads and reads; behind a network as many as there are requests")             \
    P(MEMORY, "memory", "runtime", "size", "256MiB", 0, U63,                                       \
      "bytes that may be read ahead, over all consumers of the runtime; the step that a consumer " \
      "waits for is read in any case")                                                             \
    P(LOG, "log", "runtime", "error|warn|info|debug", "warn", 0, 0, "what is written to stderr")   \
    P(DP, "dp", "init,consumer", "integer", NULL, 1, 1 << 20,                                      \
      "data-parallel positions; for a consumer: of the job, default the namespace's")              \
    P(CP, "cp", "init,consumer", "integer", NULL, 1, 1 << 20,                                      \
      "context-parallel positions; init: default 1; for a consumer: of the job, default the "      \
      "namespace's")                                                                               \
    P(ITEMS, "items", "init", "integer", "1", 1, 1 << 20,                                          \
      "items (microbatches) of a slice: advice for tools")                                         \
    P(PRODUCERS, "producers", "init,doctor", "integer", "0", 0, U32,                               \
      "expected producers: when so many have finished, the namespace is sealed; 0: not set; "      \
      "doctor: of the job, 0: one")                                                                \
    P(MAX_LAG, "max_lag", "init", "integer", NULL, 1, U63,                                         \
      "steps that producers may be ahead of the training groups; default no limit")                \
    P(MAX_BYTES, "max_bytes", "init", "size", NULL, 1, U63,                                        \
      "bytes that may be stored; default no limit")                                                \
    P(BLOCK_SIZE, "block_size", "init", "integer", "1024", 2, U32,                                 \
      "manifests that are retired together")                                                       \
    P(TAIL_CAP, "tail_cap", "init", "size", "8KiB", 64, 1 << 20,                                   \
      "bytes of descriptors in a manifest before they are folded into a segment")                  \
    P(PART_SIZE, "part_size", "init", "size", "64MiB", 4096, 1ll << 40,                            \
      "largest data object, but for a slice that is larger; a multiple of 64")                     \
    P(PAGE_MIN, "page_min", "init", "integer", "64", 1, U32,                                       \
      "departed producers that leave the manifest together")                                       \
    P(LAYOUT, "layout", "init", "text", "", 0, 0,                                                  \
      "how context-parallel positions split a sequence: contiguous, headtail, or empty")           \
    P(SCHEMA, "schema", "init", "text", "", 0, 0,                                                  \
      "free text that describes the items, at most 64 KiB")                                        \
    P(MODE, "mode", "space", "read|write|raw", "read", 0, 0,                                       \
      "read never writes anything; write proves by a probe that the store keeps its promises; "    \
      "raw "                                                                                       \
      "does not read the chain: for the reports inspect and list on a damaged namespace")          \
    P(DURABLE, "durable", "space,init", "switch", "true", 0, 0,                                    \
      "false: nothing is flushed to the device; for benchmarks and tests only")                    \
    P(RETRY_LIMIT, "retry_limit", "space,init", "time", "30s", 0, NS_A_DAY,                        \
      "how long one request to the store is repeated while it fails in a way that may pass")       \
    P(RECLAIM, "reclaim", "space", "switch", "true", 0, 0,                                         \
      "after each pin a bounded pass of the sweep in the background; false: gc does it")           \
    P(ENDPOINT, "endpoint", "store", "text", "", 0, 0,                                             \
      "https://host:port of what speaks S3; default AWS's own for the region")                     \
    P(REGION, "region", "store", "text", "", 0, 0,                                                 \
      "region of the bucket; default as the environment and the profile say, else us-east-1")      \
    P(STYLE, "style", "store", "auto|path|virtual", "auto", 0, 0,                                  \
      "where the bucket stands: in the path or before the host; auto: before AWS's hosts")         \
    P(PROFILE, "profile", "store", "text", "", 0, 0,                                               \
      "of the shared credentials and config files; default AWS_PROFILE, else default")             \
    P(ANONYMOUS, "anonymous", "store", "switch", "false", 0, 0, "no keys: nothing is signed")      \
    P(SIGN_BODY, "sign_body", "store", "auto|always|never", "auto", 0, 0,                          \
      "whether the signature covers the SHA-256 of what is written; auto: only without TLS")       \
    P(CONDITION, "condition", "store", "auto|s3|oss|ibm", "auto", 0, 0,                            \
      "s3: how a create asks for only-if-absent: by If-None-Match (s3), x-oss-forbid-overwrite "   \
      "(oss) or x-ibm-forbid-overwrite (ibm); auto: oss on aliyuncs.com, else s3")                 \
    P(KMS_KEY, "kms_key", "store", "text", "", 0, 0,                                               \
      "s3: id, alias or ARN of the KMS key that what is written is encrypted with; default as "    \
      "the bucket is set")                                                                         \
    P(STORAGE_CLASS, "storage_class", "store", "text", "", 0, 0,                                   \
      "s3: of what is written; default the bucket's")                                              \
    P(BUCKET_OWNER, "bucket_owner", "store", "text", "", 0, 0,                                     \
      "s3: account that the bucket must belong to, twelve digits; another's is refused")           \
    P(REQUESTER_PAYS, "requester_pays", "store", "switch", "false", 0, 0,                          \
      "s3: requests are paid by who sends them")                                                   \
    P(CA_FILE, "ca_file", "store", "text", "", 0, 0,                                               \
      "certificates to trust, as PEM; default AWS_CA_BUNDLE, else the system's")                   \
    P(PLAIN_HTTP, "plain_http", "store", "switch", "false", 0, 0,                                  \
      "http:// to other machines, where everybody on the way sees what is stored")                 \
    P(HTTP, "http", "store", "1.1|2", "1.1", 0, 0,                                                 \
      "2: HTTP/2 over TLS, from servers that speak it, many requests on a connection")             \
    P(REQUEST_TIMEOUT, "request_timeout", "store", "time", "30s", NS_A_MS, NS_A_DAY,               \
      "of one attempt; a large body gets a second for each 256 KiB beside it")                     \
    P(REQUESTS, "requests", "store", "integer", "128", 1, 4096,                                    \
      "requests at once, at most; fewer while the store says that it is too much")                 \
    P(RETRY_BUDGET, "retry_budget", "store", "integer", "10", 0, 100,                              \
      "retries that fail again, of a hundred requests; ten a second are free")                     \
    P(HEDGE, "hedge", "store", "switch", "true", 0, 0,                                             \
      "reads that are late are asked for a second time, three of a hundred at most")               \
    P(POLICY, "policy", "producer", "text", "auto", 0, 0,                                          \
      "when to commit: auto (turn behind a network, else fixed:100), turn (one after the other), " \
      "naive, fixed:N with N in ms, incr, "                                                        \
      "aimd:interval, aimd:rate, "                                                                 \
      "dac, dac:P with P per cent of conflicts, or dac:map")                                       \
    P(KIND, "kind", "producer", "raw|samples|safetensors", "raw", 0, 0, "what the items are")      \
    P(COMPRESS, "compress", "producer", "text", "none", 0, 0,                                      \
      "how items are stored: none, zstd, or zstd:N with a level of 1 to 19; put packs them")       \
    P(MEDIA_TYPE, "media_type", "producer", "text", "", 0, 0,                                      \
      "kept in each batch's footer, at most 255 bytes")                                            \
    P(REOPEN, "reopen", "producer", "switch", "false", 0, 0, "open an id that has finished")       \
    P(COMMIT_TIMEOUT, "commit_timeout", "producer", "time", "60s", NS_A_MS, NS_A_DAY,              \
      "after so long a commit without an outcome is reported as UNKNOWN; it is still resolved")    \
    P(STAGED_BYTES, "staged_bytes", "producer", "size", "256MiB", 0, U63,                          \
      "bytes put and not yet published, beyond which put waits; one batch fits always")            \
    P(STAGED_BATCHES, "staged_batches", "producer", "integer", "1024", 1, 1 << 20,                 \
      "batches put and not yet published, beyond which put waits")                                 \
    P(EVENTS, "events", "producer", "integer", "65536", 0, 1 << 24,                                \
      "events queued, beyond which put waits; 0: RELEASED and COMMITTED are not queued")           \
    P(START, "start", "consumer", "text", "earliest", 0, 0,                                        \
      "where to begin without a cursor: earliest, latest or a step; a group begins where it "      \
      "stands unless this is set")                                                                 \
    P(LAUNCH, "launch", "consumer", "text", "", 0, 0,                                              \
      "with a group: this launch of the job, one id for all its ranks and another at each start; " \
      "else Slurm's or torchrun's")                                                                \
    P(D, "d", "consumer", "integer", NULL, 0, U32, "data-parallel position; with c")               \
    P(C, "c", "consumer", "integer", NULL, 0, U32, "context-parallel position; default 0")         \
    P(RANK, "rank", "consumer", "integer", NULL, 0, U32, "rank in the job; with world")            \
    P(WORLD, "world", "consumer", "integer", NULL, 1, U32, "ranks of the job")                     \
    P(TP, "tp", "consumer", "integer", "1", 1, U32, "tensor-parallel ranks that share a position") \
    P(PP, "pp", "consumer", "integer", "1", 1, U32,                                                \
      "pipeline-parallel ranks that share a position")                                             \
    P(RESCALE, "rescale", "consumer", "text", "same_batch", 0, 0,                                  \
      "a job with another dp than the namespace: same_batch keeps the global batch, scale_batch "  \
      "the batch of a rank")                                                                       \
    P(TAGS, "tags", "consumer", "text", "", 0, 0,                                                  \
      "only steps of these tags are read: N, N-M or N- (no end), by commas, ascending; all: "      \
      "every "                                                                                     \
      "tag; else as the cursor says; the same for all ranks")                                      \
    P(SKIP_TO_TIP, "skip_to_tip", "consumer", "switch", "false", 0, 0,                             \
      "go on at the next step to be committed, and skip what the cursor has not reached; without " \
      "a "                                                                                         \
      "cursor the same as start=latest")                                                           \
    P(PREFETCH, "prefetch", "consumer", "integer", NULL, 1, 4096,                                  \
      "steps read ahead; default as many as latency and the trainer's pace ask for, at most 64")   \
    P(LEND, "lend", "consumer", "switch", "false", 0, 0,                                           \
      "true: read ahead only into buffers that the caller lends (bw_consumer_lend)")               \
    P(VERIFY, "verify", "consumer", "switch", "true", 0, 0,                                        \
      "false: the bytes of items are not checked; for benchmarks only")                            \
    P(FIRST, "first", "report", "integer", NULL, 0, U63, "steps, tail: first step")                \
    P(LAST, "last", "report", "integer", NULL, 0, U63, "steps: the step to stop before")           \
    P(KEY, "key", "report", "text", NULL, 0, 0, "inspect: name of the object")                     \
    P(PREFIX, "prefix", "report", "text", "", 0, 0, "list: only names that begin so")              \
    P(DEEP, "deep", "report", "switch", "false", 0, 0, "verify: every byte of every item too")     \
    P(APPLY, "apply", "report", "switch", "false", 0, 0, "gc: delete, do not only say what")       \
    P(MANIFESTS_ONLY, "manifests_only", "report", "switch", "false", 0, 0,                         \
      "gc: old manifests only, neither data nor orphans")                                          \
    P(ORPHANS, "orphans", "report", "switch", "true", 0, 0,                                        \
      "gc: list the store for what no manifest names")                                             \
    P(STEPS_MAX, "steps_max", "report", "integer", "0", 0, U63,                                    \
      "gc: data of at most so many steps; 0: no limit")                                            \
    P(BLOCKS_MAX, "blocks_max", "report", "integer", "0", 0, U32,                                  \
      "gc: retire at most so many blocks; 0: no limit")                                            \
    P(PROGRESS, "progress", "report", "switch", "false", 0, 0,                                     \
      "verify, gc: a line a second of how far it is")                                              \
    P(RANKS, "ranks", "doctor", "integer", "8", 1, 1 << 24,                                        \
      "of the job that a store's times are told for: processes that read")                         \
    P(STEP_MS, "step_ms", "doctor", "integer", "1000", 1, 1 << 30,                                 \
      "of that job: milliseconds of a step")                                                       \
    P(PRICE_PUT, "price_put", "doctor", "integer", "500", 0, 1 << 30,                              \
      "US cents for a million writes; the list price of S3 Standard in us-east-1: check yours")    \
    P(PRICE_GET, "price_get", "doctor", "integer", "40", 0, 1 << 30,                               \
      "US cents for a million reads; likewise")                                                    \
    P(PRICE_DELETE, "price_delete", "doctor", "integer", "0", 0, 1 << 30,                          \
      "US cents for a million deletes; likewise")                                                  \
    P(REPORT_TIMEOUT, "report_timeout", "report", "time", "60s", 0, NS_A_DAY,                      \
      "how long a report waits for the newest manifest")

#define NS_A_MS 1000000ll

typedef enum property_id {
#define PROPERTY_ID(id, name, scope, type, preset, least, most, help) PROPERTY_##id,
    PROPERTY_MAP(PROPERTY_ID)
#undef PROPERTY_ID
        PROPERTY_COUNT
} property_id;

#endif
