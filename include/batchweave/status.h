// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/**
 * Status codes: the one table from which the enum, the names, the texts and the classes come.
 *
 * Every function that can fail returns a `bw_status`. A released code never changes its number or
 * its meaning. `batchweave errors CODE` explains each one at length.
 */
#ifndef BATCHWEAVE_STATUS_H
#define BATCHWEAVE_STATUS_H

#ifdef __cplusplus
extern "C" {
#endif

/**
 * X(number, NAME, CLASS, "text"). Classes tell a caller what to do:
 *   OK       nothing failed
 *   USAGE    the call or its arguments are wrong: fix the caller
 *   WAIT     nothing is wrong, it is not there yet, or not in time: call again
 *   STATE    the namespace says no, for good unless its state changes: read the message
 *   STORE    the object store failed or refused: look at the store, then call again
 *   DATA     stored bytes are not what they must be: run `batchweave verify`
 *   FATAL    this handle is finished: close it and open a new one
 */
#define BW_STATUS_MAP(X)                                                                           \
    X(0, OK, OK, "success")                                                                        \
    X(1, INVALID, USAGE, "an argument or option is not valid")                                     \
    X(2, NOMEM, FATAL, "out of memory")                                                            \
    X(3, INTERRUPTED, WAIT, "the wait was interrupted")                                            \
    X(4, TIMEOUT, WAIT, "the time limit passed")                                                   \
    X(5, FORKED, USAGE, "the handle belongs to another process")                                   \
    X(6, FAILED, FATAL, "the handle failed earlier")                                               \
    X(7, UNSUPPORTED, USAGE, "not supported")                                                      \
    X(8, BUG, FATAL, "an internal rule was broken")                                                \
    X(9, TOO_LARGE, USAGE, "larger than a limit of the format or the namespace")                   \
    X(10, NO_NAMESPACE, STATE, "there is no namespace at this place")                              \
    X(11, NOT_READY, WAIT, "the namespace is not fully initialised yet")                           \
    X(12, NOT_EMPTY, STATE, "the place for a new namespace is not empty")                          \
    X(13, DENIED, STORE, "the store denied access")                                                \
    X(14, IO, STORE, "the store failed")                                                           \
    X(15, NO_SPACE, STORE, "the store has no room left")                                           \
    X(16, STORE_UNSAFE, STORE, "the store breaks a promise that commits rest on")                  \
    X(17, NOT_FOUND, STATE, "there is no such object")                                             \
    X(18, READ_ONLY, USAGE, "the namespace was opened for reading only")                           \
    X(20, CORRUPT, DATA, "stored bytes are damaged")                                               \
    X(21, FORMAT, DATA, "the object needs a newer reader or is of another kind")                   \
    X(22, CHAIN_BLOCKED, DATA, "a foreign or damaged object stands in the way of the chain")       \
    X(23, WRONG_NAMESPACE, DATA, "the object belongs to another namespace")                        \
    X(24, MANIFEST_FULL, STATE, "the manifest would grow beyond its hard cap")                     \
    X(30, FENCED, FATAL, "a newer incarnation took over")                                          \
    X(31, UNKNOWN, WAIT, "the outcome of the last commit is not known yet")                        \
    X(32, SEALED, STATE, "the namespace is sealed")                                                \
    X(33, FINISHED, STATE, "the producer has finished")                                            \
    X(34, SEAL_REFUSED, STATE, "producers have not finished")                                      \
    X(35, BLOCKED, WAIT, "producers stand at a limit of the namespace")                            \
    X(36, UNSET_ITEM, USAGE, "a batch has an item that was never set")                             \
    X(40, END, STATE, "the end of a sealed namespace")                                             \
    X(41, STARVED, WAIT, "no batch became available in time")                                      \
    X(42, TRIMMED, STATE, "the step is no longer retained")                                        \
    X(43, BEYOND_END, STATE, "the step lies beyond the end of the chain")                          \
    X(44, CURSOR_FOREIGN, STATE, "the cursor belongs to another namespace")                        \
    X(45, CURSOR_INVALID, USAGE, "the cursor is malformed")                                        \
    X(46, CURSOR_REWRITTEN, DATA, "the history behind the cursor is not the one it read")          \
    X(47, MESH_MISMATCH, USAGE, "the mesh of the job does not fit the namespace")                  \
    X(48, RANKS_DISAGREE, STATE, "ranks of one job start from different cursors")                  \
    X(49, LAUNCH_REUSED, STATE, "the launch id was used before with another cursor")               \
    X(50, GROUP_GONE, STATE, "the group was removed")                                              \
    X(51, PIN_EXISTS, STATE, "the pin exists with another cursor")                                 \
    X(52, PINS_FULL, STATE, "the group or the namespace holds all the pins it may")                \
    X(60, INPUT_BAD, DATA, "an input record is damaged")                                           \
    X(61, INPUT_CHANGED, STATE, "the input is not the one the producer started with")              \
    X(62, CHILD_FAILED, STORE, "the child process failed")                                         \
    X(63, UNCLEAN, DATA, "verification found faults")

typedef enum bw_status {
#define BW_STATUS_ENUM(number, name, class_name, text) BW_##name = number,
    BW_STATUS_MAP(BW_STATUS_ENUM)
#undef BW_STATUS_ENUM
} bw_status;

typedef enum bw_class {
    BW_CLASS_OK,
    BW_CLASS_USAGE,
    BW_CLASS_WAIT,
    BW_CLASS_STATE,
    BW_CLASS_STORE,
    BW_CLASS_DATA,
    BW_CLASS_FATAL
} bw_class;

/** "FENCED" for BW_FENCED; "UNKNOWN_STATUS" for a number that is no code. Static string, any
 * thread. */
const char *bw_status_name(bw_status status);
/** One line of text. Static string, any thread. */
const char *bw_status_text(bw_status status);
bw_class bw_status_class(bw_status status);
/** The code named `name` (any case, with or without "BW_"); 0 when found, else -1. */
int bw_status_parse(const char *name, bw_status *status);

#ifdef __cplusplus
}
#endif
#endif
