// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "explain.h"

#include <stddef.h>

/* One row for each row of BW_STATUS_MAP, in its order; a test compares. */
static const explanation explanations[] = {
    {BW_OK, "Nothing failed.", "-", "Nothing to do."},
    {BW_INVALID, "An argument, an option or a setting is not valid; nothing was done.",
     "A typing error, a value out of range, options that exclude each other, a producer id with "
     "other "
     "characters than a-z 0-9 . _ -, ranks in the environment that are incomplete or disagree.",
     "The message names the argument and what is legal. batchweave COMMAND --help shows all "
     "options, "
     "batchweave help settings all settings."},
    {BW_NOMEM, "The process could not get memory.",
     "A limit of the process or its container; very large items, sequences or many ranks in one "
     "process.",
     "Raise the limit or lower what is in flight (batchweave help settings: memory). Nothing "
     "acknowledged is "
     "lost: start again with the same command."},
    {BW_INTERRUPTED, "A wait was ended from outside.",
     "A signal (Ctrl-C), or the program called an interrupt function.",
     "Nothing is lost. Start again with the same command: it goes on where the chain, or the "
     "cursor file, "
     "stands."},
    {BW_TIMEOUT, "The time limit passed before the call was done.",
     "A slow or unreachable store, a limit at which producers stand, or a --timeout that is too "
     "short.",
     "Call again: what was staged or committed stays. Without --timeout the command waits and says "
     "why."},
    {BW_FORKED, "A handle was used in a process that inherited it by fork().",
     "A program that opens BatchWeave before it forks (multiprocessing with the start method "
     "fork).",
     "Open runtime, namespace, producer and consumer in the process that uses them."},
    {BW_FAILED, "This handle failed before and does nothing more.",
     "An earlier error of the same handle, which was reported then; a failed fsync of the store.",
     "Look for the first error, remove its cause, and start again with the same command."},
    {BW_UNSUPPORTED, "This version, or this store, cannot do it.",
     "A URL with another scheme than file://, a network file system to write to, settings that "
     "exclude each other, bench where it was not built, a file system without link(2) or "
     "renameat2.",
     "The message says what is supported."},
    {BW_BUG, "An internal rule was broken; the handle stopped rather than go on.",
     "A defect of BatchWeave.",
     "Keep the namespace, run batchweave verify --deep, and report both outputs. Acknowledged data "
     "is not at "
     "risk: a broken rule stops before a commit."},
    {BW_TOO_LARGE, "Something is larger than a limit of the format or of the namespace.",
     "An item or slice above 4 GiB, metadata above 1 MiB, a batch above max_bytes, a resume state "
     "above 1 MiB.",
     "The message names the limit. Split the item, or make a namespace with other limits."},
    {BW_NO_NAMESPACE, "There is no namespace at this URL.",
     "A wrong path, or batchweave init was not run.",
     "Check the URL; batchweave init URL --dp D makes a namespace."},
    {BW_NOT_READY, "The namespace is being made: its genesis is there, its first manifest is not.",
     "init is running at this moment, or was killed between its two writes.",
     "Try again. If it stays: any command that opens for writing (produce, seal) finishes the "
     "init."},
    {BW_NOT_EMPTY, "The place for a new namespace holds something already.",
     "A namespace was made there before, or the directory holds other files.",
     "Choose another URL; batchweave info URL shows what is there. init never overwrites."},
    {BW_DENIED, "The store refused access.",
     "Permissions of the directory, another user's files, a read-only mount, a security policy.",
     "The message names the object. Reading needs read permission; producing needs to create files "
     "and "
     "directories beneath the namespace."},
    {BW_IO, "The store failed.",
     "A disk error, a failed fsync, a mount that vanished; also a local file of the command itself "
     "(cursor, "
     "--out) that cannot be written.",
     "Look at the kernel's log and the mount. Nothing was acknowledged that is not durable: start "
     "again with "
     "the same command."},
    {BW_NO_SPACE, "The store, or standard output, has no room left.", "A full disk or quota.",
     "Make room outside the namespace, or grow the file system; a producer that waits goes on by "
     "itself, else start again with the same command. batchweave gc URL says what could be "
     "deleted; with "
     "--apply it needs a little room itself. See operations.md."},
    {BW_STORE_UNSAFE, "The store breaks a promise that commits rest on.",
     "A file system on which creating a name twice succeeds, or a name that was created is not "
     "found.",
     "Do not write there: two producers could both believe they committed. batchweave doctor URL "
     "shows what is wrong with it. Use a local file system."},
    {BW_NOT_FOUND, "There is no such object.",
     "A key that was never written, that was reclaimed, or is misspelt.",
     "batchweave inspect URL lists the objects that are there."},
    {BW_READ_ONLY, "The namespace was opened for reading, and the call changes it.",
     "A program that opens without mode=write.", "Open with the setting mode=write."},
    {BW_CORRUPT, "Stored bytes are damaged: a checksum, a hash or a length does not fit.",
     "Bit rot, a truncated file, somebody who edited the namespace, a file lost by the file "
     "system.",
     "batchweave verify URL --deep names every damaged object. Restore it from a copy: names never "
     "change their "
     "content, so any old copy is right. See operations.md."},
    {BW_FORMAT, "An object is of another kind, or needs a newer version of BatchWeave.",
     "A namespace written by a newer version, or a foreign file under one of our names.",
     "batchweave inspect URL KEY shows the object's head. Upgrade the reader, or remove the "
     "foreign file."},
    {BW_CHAIN_BLOCKED, "A foreign or damaged object stands where the next manifest must go.",
     "A file copied into manifest/, or a damaged newest manifest. It is never skipped, since it "
     "could be a "
     "commit that somebody relies on.",
     "Stop all producers, then follow the repair in operations.md."},
    {BW_WRONG_NAMESPACE, "An object carries the identity of another namespace.",
     "Files of two namespaces were mixed, by a copy or a wrong mount.",
     "batchweave verify URL names the objects. Move them out; nothing of this namespace refers to "
     "them."},
    {BW_MANIFEST_FULL, "The next manifest would be larger than its hard cap of 16 MiB.",
     "Very many producers, or very large resume states.",
     "Use fewer producer ids; finish those that are done. Nothing was published and nothing is "
     "lost."},
    {BW_FENCED,
     "A newer incarnation of this producer id, or a newer launch of this group, took over; this "
     "one commits nothing more.",
     "The same producer or job was started a second time (a supervisor, another machine) while "
     "this process ran or was frozen; --epoch or --launch names one that is no longer the newest.",
     "Nothing to repair: the new one goes on at the exact offset, or where its launch began. Make "
     "sure that one process runs per id, and one launch per group."},
    {BW_UNKNOWN, "It is not known yet whether the last commit landed.",
     "The store did not answer the create, nor a read after it, within the deadline.",
     "Call again: the handle keeps resolving it. After a restart, open tells the exact offset; "
     "never publish "
     "those records under another id meanwhile."},
    {BW_SEALED, "The namespace is sealed: it takes no more producers and no more batches.",
     "batchweave seal, or the expected number of producers has finished.",
     "Sealing is for good. Make a new namespace for more data; the message says how many batches "
     "were not "
     "published."},
    {BW_FINISHED, "This producer id has finished.", "It published all of its input before.",
     "Usually nothing to do (the command line exits 0). --reopen goes on under the same id at the "
     "same offset."},
    {BW_SEAL_REFUSED, "Not all producers have finished, so sealing would cut their data off.",
     "A producer still runs, or died and was not started again; fewer have finished than init "
     "--producers says.",
     "Let them finish (start dead ones again with the same command), or batchweave seal URL "
     "--force."},
    {BW_BLOCKED, "Producers stand at a limit of the namespace (max_lag or max_bytes).",
     "Training is behind, or has stopped.",
     "batchweave info URL shows who holds it. Progress resumes by itself once the trainer moves "
     "on."},
    {BW_UNSET_ITEM, "A batch was put in which an item was never set.",
     "A program forgot a slot; a slot without data must be set with bw_batch_pad.",
     "The message names the first such item. Set it and put again."},
    {BW_END, "The namespace is sealed and everything was handed out.", "The normal end of a run.",
     "Nothing to do: all ranks end at this same step."},
    {BW_STARVED, "No new batch became available in time.",
     "Producers are slower than the trainer, stand still, or died.",
     "The message says what is newest, which producers are alive and how old their last commit is. "
     "Call again, "
     "or wait longer (--timeout)."},
    {BW_TRIMMED, "The step is no longer retained.",
     "A cursor, or --from, that lies before the first retained step.",
     "batchweave info URL shows the first retained step; start there, or from a later checkpoint."},
    {BW_BEYOND_END, "The step does not exist yet.",
     "A step number above the newest, or a cursor of a longer history.",
     "batchweave info URL shows the next step. --from latest begins there."},
    {BW_CURSOR_FOREIGN, "The cursor belongs to another namespace.", "A cursor file of another run.",
     "Use the cursor of this namespace, or remove the file to start at --from. It is never taken "
     "as 0."},
    {BW_CURSOR_INVALID, "The cursor is not one.",
     "A file that something else wrote, or an edited cursor.",
     "The message says where. Restore the cursor from a checkpoint, or remove the file to start at "
     "--from."},
    {BW_CURSOR_REWRITTEN, "The batch behind the cursor is not the one that was read.",
     "The namespace was restored from an older copy, or made again under the same identity.",
     "Do not go on: ranks would train on other data than the checkpoint says. Start from a "
     "checkpoint older than "
     "the restore, or from the beginning."},
    {BW_MESH_MISMATCH, "The mesh of the job does not fit the namespace.",
     "world is not dp x cp (x tp x pp), a rank or position is outside the mesh, text: input with "
     "cp above 1.",
     "batchweave info URL shows dp and cp. Start as many ranks, say how many share a position "
     "(--set tp=N, --set pp=N) or that the job has another dp (--set dp=N, which divides the "
     "namespace's or is a multiple of it), or make a namespace for this mesh."},
    {BW_RANKS_DISAGREE, "Ranks of one job start from different cursors.",
     "Each rank has its own cursor file, and one is older.",
     "Give all ranks the cursor of one checkpoint; the message names both."},
    {BW_LAUNCH_REUSED, "The launch id was used before, with another cursor.",
     "A restart under the same launch id.", "Give each launch an id of its own."},
    {BW_GROUP_GONE, "The consumer group was removed.", "An operator removed it.",
     "Training may go on; nothing is held for it any more."},
    {BW_PIN_EXISTS, "A pin of this name exists with another cursor.",
     "Two checkpoints under one name.", "Choose another name, or release the old pin."},
    {BW_PINS_FULL, "The group, or the namespace, holds as many pins as it may.",
     "Checkpoints were deleted without releasing their pins.",
     "Release the pins of checkpoints that are gone."},
    {BW_INPUT_BAD, "An input record is damaged, or an input cannot be read.",
     "A frame that is cut off or declares an absurd length, a missing or unreadable file, a "
     "directory loop.",
     "The message names file, byte and record. Everything before it is published. Repair the input "
     "and start "
     "again (--new-input if its files changed)."},
    {BW_INPUT_CHANGED, "The input is not the one that this producer id started with.",
     "Other files, sizes, shard, sequence length or command than before; a file that changed while "
     "it was read.",
     "Give the same input to go on where it stood. --new-input takes the new one, behind what is "
     "published."},
    {BW_CHILD_FAILED, "The command of --exec failed.",
     "It exited with another status than 0, or was killed; its own messages are above.",
     "Every whole frame it wrote is published. Repair it and start again: it gets "
     "BATCHWEAVE_OFFSET."},
    {BW_UNCLEAN, "Verification found faults.",
     "Damaged, missing or foreign objects; each finding is a line with its code.",
     "See operations.md for each kind of finding; restore damaged objects from a copy."},
};

const explanation *explain(bw_status status)
{
    for (size_t i = 0; i < sizeof explanations / sizeof explanations[0]; i++)
        if (explanations[i].status == status)
            return &explanations[i];
    return NULL;
}
