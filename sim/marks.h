// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/**
 * Coverage marks: rare states that a full run must have met. A mark is counted where the state is
 * known for what it is: in the store, which knows the true chain, or by the counters of a machine.
 */
#ifndef SIM_MARKS_H
#define SIM_MARKS_H

#include <stdint.h>

#define MARK_LIST(X)                                                                               \
    X(GHOST_CREATED, "a create landed under a retired name")                                       \
    X(GHOST_CREATED_ANSWERED, "the sender of a ghost was told CREATED")                            \
    X(GHOST_READ_BY_PRODUCER, "a producer read a ghost")                                           \
    X(GHOST_READ_BY_READER, "a reader read a ghost")                                               \
    X(GHOST_READ_BY_SWEEPER, "a sweeper read a ghost")                                             \
    X(GHOST_LISTED, "a sweeper listed a ghost")                                                    \
    X(GHOST_SWEPT, "a sweeper deleted a ghost")                                                    \
    X(GHOST_ON_GHOST, "a ghost landed on the successor of a ghost")                                \
    X(MARKER_AFTER_CREATED, "a commit found its name retired after CREATED")                       \
    X(MARKER_AFTER_EXISTS, "a commit found its name retired after EXISTS")                         \
    X(WITNESS_MADE, "a witness said that a commit was made")                                       \
    X(WITNESS_LOST, "a witness said that a commit was lost")                                       \
    X(WITNESS_FENCED, "a witness said that an incarnation is over")                                \
    X(EXISTS_OURS, "EXISTS was our own write")                                                     \
    X(EXISTS_OTHER, "a race was lost")                                                             \
    X(LATE_LANDED_LIVE, "a create landed late and became the next version")                        \
    X(LATE_LANDED_TAKEN, "a create landed late on a taken name")                                   \
    X(LATE_LANDED_RETIRED, "a create landed late under a retired name")                            \
    X(DUPLICATE_RETIRED, "a second delivery landed under a retired name")                          \
    X(UNKNOWN_RESOLVED_MADE, "an UNKNOWN was found to be made")                                    \
    X(UNKNOWN_RESOLVED_LOST, "an UNKNOWN was found to be lost")                                    \
    X(OVERDUE, "a commit passed its deadline with an attempt open")                                \
    X(OVERDUE_MADE, "an overdue commit was made after all")                                        \
    X(OVERDUE_LOST, "an overdue commit was lost after all")                                        \
    X(FENCED_OPEN_UNKNOWN, "fenced with an attempt open")                                          \
    X(FENCED_PUBLISH, "a zombie was fenced at its publish")                                        \
    X(FENCED_OPEN, "an open was fenced by another open")                                           \
    X(FENCE_ON_ZOMBIE, "a fence took the very version that a zombie aimed at")                     \
    X(ZOMBIE_LANDED_BEFORE, "a zombie's commit landed while its successor was opening")            \
    X(OPEN_ALREADY, "an open found its own token on the chain")                                    \
    X(REOPENED, "a finished producer was opened again")                                            \
    X(FINISH_SEALED, "a finish sealed the namespace")                                              \
    X(SEAL_REFUSED, "a seal was refused")                                                          \
    X(SEAL_FORCED, "a seal was forced")                                                            \
    X(SEALED_PUBLISH, "a publish met a sealed namespace")                                          \
    X(SEALED_OPEN, "an open met a sealed namespace")                                               \
    X(FINISHED_OPEN, "an open met a finished producer")                                            \
    X(FOLD, "a tail was folded")                                                                   \
    X(FOLD_WAITED, "a commit waited for its fold")                                                 \
    X(FOLD_RACED, "two put the same segment")                                                      \
    X(MERGE, "references were merged")                                                             \
    X(MERGE_WAITED, "a commit waited for its index")                                               \
    X(INDEX_OF_INDEXES, "an index of level two was made")                                          \
    X(COLD_OPEN, "the chain was opened by search")                                                 \
    X(COLD_OPEN_DELETING, "the chain was opened by search while blocks were deleted")              \
    X(DELETED_READ, "somebody looked for a manifest that was deleted")                             \
    X(BEYOND_READ, "somebody looked far beyond the newest manifest")                               \
    X(REOPEN, "a walk met a marker and opened again above it")                                     \
    X(REOPEN_TWICE, "a walk met two markers")                                                      \
    X(RESUMED, "a restart began with a version that describes its step")                           \
    X(RESUME_HINTED, "a restart began with the hinted version, its cursor's was of no use")        \
    X(RESUME_LATER, "a restart began with a version behind its cursor's")                          \
    X(RESUME_WAY, "a segment was read that a cursor named as its way")                             \
    X(RESUME_GONE, "neither a cursor's version nor one of the next was there")                     \
    X(RESUME_RETIRED, "a cursor's version was read, and its block was retired")                    \
    X(RESUME_ELSEWHERE, "neither a cursor's version nor the next ones described its step")         \
    X(RESUME_AHEAD, "a cursor's version was ahead of the hint")                                    \
    X(QUIET_MARKER, "a follower stuck at a retired name found its marker")                         \
    X(GAP_CHECKED, "a reader that skipped versions found its old sum")                             \
    X(GAP_SEGMENT, "a reader needed a segment to find its old sum")                                \
    X(SWEEPERS_TOGETHER, "two sweepers were at work on one block")                                 \
    X(SWEEPER_KILLED, "a sweeper died between marker and deletes")                                 \
    X(MARKER_DOUBTFUL, "a marker was created in doubt and created again")                          \
    X(MARKER_BY_LATE, "a marker landed late")                                                      \
    X(DELETE_LATE, "a delete landed late")                                                         \
    X(ROLLBACK, "a rank went back to an older cursor")                                             \
    X(ROLLBACK_OF_JOB, "a job was launched from an older checkpoint than its newest")              \
    X(ROLLBACK_MID_STEP, "a rank went on in the middle of a step")                                 \
    X(SKIPS, "a job began that leaves steps out")                                                  \
    X(TAGS, "a job began that reads only some tags")                                               \
    X(STEP_PASSED, "a rank passed over a step of another tag")                                     \
    X(LAUNCH_TO_TIP, "a launch skipped to the tip")                                                \
    X(DRY_SWEEP, "a sweep that only looks")                                                        \
    X(FOLLOWED_FAR, "one walk went over more than sixty versions")                                 \
    X(RANK_SEGMENT, "a rank found a step through a segment")                                       \
    X(RANK_INDEX, "a rank found a step through an index")                                          \
    X(RANK_LATE, "a rank started long after the beginning")                                        \
    X(DAMAGED_READ_MASKED, "a damaged slice was read again and found whole")                       \
    X(MULTI_PART, "a slice lay in a second part")                                                  \
    X(INLINE_PLACES, "slices of different lengths")                                                \
    X(STATE_OBJECT, "a resume state was read from its object")                                     \
    X(FOUNDERS_RACED, "two founders met at one genesis")                                           \
    X(GENESIS_FINISHED, "an opener made version 1")                                                \
    X(NOT_READY, "a genesis without version 1 was met")                                            \
    X(DUPLICATE_FIRST, "version 1 landed twice")                                                   \
    X(KILLED_BEFORE_ACK, "a producer died with its commit made and not acknowledged")              \
    X(FROZEN_ACROSS_RETIREMENT, "a create waited in a frozen process until its name was retired")  \
    X(CREATED_FROZEN_RETIRED, "CREATED waited at a frozen process until the name was retired")     \
    X(CHAIN_BLOCKED, "a damaged manifest was taken for a blocked chain")                           \
    X(LIMIT_FULL, "a publish filled max_lag")                                                      \
    X(BLOCKED_LAG, "a producer stood at max_lag")                                                  \
    X(BLOCKED_BYTES, "a producer stood at max_bytes, behind what a group keeps")                   \
    X(BLOCKED_SWEEP, "a producer stood at max_bytes, behind a sweep")                              \
    X(BLOCKED_TOGETHER, "two producers stood at a limit together")                                 \
    X(LAUNCH_RACED, "two launches of a group raced")                                               \
    X(LAUNCH_RESUMED, "a group was resumed with a cursor")                                         \
    X(LAUNCH_MID_STEP, "a launch began in the middle of a step")                                   \
    X(LAUNCH_OTHER_MESH, "a launch went on with another dp or mode")                               \
    X(LAUNCH_FENCED, "a launch was fenced by another")                                             \
    X(LAUNCH_TRIMMED, "a launch with an unpinned cursor was refused as trimmed")                   \
    X(PIN_AT_TRIM, "a pin was made at the very trim step")                                         \
    X(PIN_ID_REUSED, "a pin's id was used anew in the commit that released it")                    \
    X(PIN_FENCED, "a zombie's pin was fenced")                                                     \
    X(PIN_IN_DOUBT, "a pin ended in doubt")                                                        \
    X(PIN_DOUBT_WITNESSED, "the next launch found a pin in doubt made")                            \
    X(PIN_DOUBT_GONE, "the next launch found a pin in doubt not made")                             \
    X(PIN_RECONCILED, "a launch released what its checkpoints do not have")                        \
    X(LAST_PIN_RELEASED, "the last pin was released: the hold remains")                            \
    X(PINNED_AGAIN, "a launch asked for a pin that an earlier one had made")                       \
    X(HOLD_RAISED_BY_OLD_PIN, "the hold went up to a pin that was there already")                  \
    X(GROUP_GONE, "a trainer's group was removed")                                                 \
    X(GROUP_REMOVED, "an operator removed a group")                                                \
    X(FORGOTTEN, "an operator forgot a producer")                                                  \
    X(ROLLBACK_IN_SWEEP, "a job went back to an older pin while a sweep was at work")              \
    X(STATE_KEPT, "the resume state of a swept step was kept")                                     \
    X(TOLD_TRIMMED, "somebody was told that a step is trimmed")                                    \
    X(PART_DELETED, "a part below trim was deleted")                                               \
    X(SEGMENT_DELETED, "a segment below swept was deleted")                                        \
    X(ORPHAN_DELETED, "an orphan was deleted")                                                     \
    X(ORPHAN_OF_OLD_EPOCH, "an orphan of an older epoch was deleted")                              \
    X(PAGE_MADE, "departed producers moved to the page")                                           \
    X(PAGE_LOST, "a page that no manifest refers to was deleted")                                  \
    X(OPEN_FROM_PAGE, "a producer on the page was opened again")                                   \
    X(SWEEP_OVERTAKEN, "a pass was overtaken by another")                                          \
    X(KILLED_AFTER_DATA, "a sweeper died after a delete of parts")                                 \
    X(KILLED_AFTER_PAGE, "a sweeper died after a page was put or deleted")                         \
    X(KILLED_AFTER_SEGMENTS, "a sweeper died after a delete of segments")                          \
    X(KILLED_AFTER_MARKER, "a sweeper died after a marker, before its deletes")                    \
    X(KILLED_AFTER_MANIFEST, "a sweeper died after its commit or a delete of manifests")           \
    X(PIN_RACED_TRIM, "trim moved while another trainer was committing")                           \
    X(PIN_OF_OLD, "a checkpoint of before the launch was pinned again")                            \
    X(PIN_BELOW_HOLD, "a pin below the hold left the hold")                                        \
    X(PIN_TRIMMED, "a pin of an old checkpoint was refused as trimmed")                            \
    X(LOOK_FOUND, "a look found the next version")                                                 \
    X(LOOK_NOTHING, "a look found nothing")                                                        \
    X(LOOK_AHEAD, "a look found a version beyond the next")                                        \
    X(LOOK_OVERTAKEN, "a look found nothing, and the version was made before it ended")            \
    X(LOOK_RETIRED, "a look at a retired name found nothing")                                      \
    X(LOOK_GHOST, "a look at a retired name found a ghost")                                        \
    X(LOOK_FAILED, "a look failed, and a commit found out why")                                    \
    X(LOOK_KILLED, "a producer died in the middle of a look")                                      \
    X(HINT_UNDER_WAY, "a commit began while a hint was under way")                                 \
    X(SEGMENT_UNDER_WAY, "a commit began while a segment was under way")                           \
    X(TRUST_LOST, "a base that was trusted was another's by the time of the create")               \
    X(TRUST_OLD, "a base that was trusted was not the newest any more")                            \
    X(TRUST_RETIRED, "the version after a base that was trusted had been retired")

#define MARK_ENUM(name, text) MARK_##name,
typedef enum mark { MARK_LIST(MARK_ENUM) MARK_COUNT } mark;

typedef struct marks {
    uint64_t counts[MARK_COUNT];
} marks;

const char *mark_name(mark m);
const char *mark_text(mark m);

#define MARK(s, name) ((s)->marks.counts[MARK_##name]++)
#define MARK_IF(s, name, condition) ((s)->marks.counts[MARK_##name] += (condition) ? 1u : 0u)

#endif
