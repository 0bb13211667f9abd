// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/**
 * The table of mutants. X(name, by, text): `by` is "sim" where the simulator must notice, else the
 * test program that must; "a+b" names another mutant without which this one changes nothing that
 * can be seen, since two rules stand for the same thing.
 */
#ifndef BASE_MUTANT_LIST_H
#define BASE_MUTANT_LIST_H

#define MUTANT_LIST(X)                                                                             \
    X(open_keeps_epoch, "sim", "R1: an open leaves the epoch as it is")                            \
    X(open_epoch_compared_wrongly, "sim", "R1: an open takes an epoch that is taken already")      \
    X(open_epoch_refixed, "sim", "R1: an open fixes its epoch anew at every base")                 \
    X(open_token_per_try, "sim", "R1: an open makes a token for each try")                         \
    X(open_resets_seq, "sim", "R1: an open begins to count again")                                 \
    X(stage_not_contiguous, "sim", "R2: what is not uploaded is published too")                    \
    X(publish_drops_nothing, "sim", "R3: what is already in is published again")                   \
    X(publish_wrong_offset, "sim", "R3: the entry's offset is the start of the last TGB")          \
    X(publish_wrong_seq, "sim", "R3: the entry's seq is one too high")                             \
    X(publish_keeps_entry, "sim", "R3: the entry is not advanced")                                 \
    X(publish_without_sum, "sim", "R3: the sum is not advanced")                                   \
    X(publish_state_late, "sim", "R3: the resume state of the first TGB stands for the last")      \
    X(exists_is_ours, "sim", "R5: EXISTS is taken for our own create")                             \
    X(exists_is_lost, "sim", "R5: EXISTS is taken for a lost race, unread")                        \
    X(nonce_ignored, "sim", "R5: whatever stands under our name is ours")                          \
    X(nonce_never_ours, "sim", "R5: our own manifest is taken for another's")                      \
    X(unknown_is_failure, "sim", "R6: UNKNOWN is taken for a failure")                             \
    X(unknown_is_success, "sim", "R6: UNKNOWN is taken for CREATED")                               \
    X(unknown_rebuilds, "sim", "R6: another candidate is made while one is UNKNOWN")               \
    X(retry_lowers_unknown, "sim", "R6: a RETRY takes an earlier UNKNOWN back")                    \
    X(deadline_is_failure, "sim", "R6: past the deadline an open attempt is given up as failed")   \
    X(fence_skipped, "sim", "R7: a publish does not look at the token")                            \
    X(fenced_is_definite, "sim", "R7: FENCED closes an open attempt")                              \
    X(marker_after_created, "sim", "R8: CREATED is believed without the marker")                   \
    X(marker_after_exists, "sim", "R8: what stands under our name is believed without the marker") \
    X(marker_of_tip, "sim", "R8: a follower believes what it read without the marker")             \
    X(marker_of_newest, "sim", "R8: a 404 is believed without the marker")                         \
    X(marker_of_odd, "sim", "R8: a damaged object blocks the chain without the marker")            \
    X(odd_not_reread, "sim", "G10: a damaged manifest is not read once more")                      \
    X(marker_of_quiet, "sim", "R8: a follower that gets 404 for ever never reads the marker")      \
    X(marker_remembered, "sim", "R8: a marker that was absent once is not read again")             \
    X(witness_always_made, "sim", "R8: our token alone makes the witness say made")                \
    X(witness_always_lost, "sim", "R8: the witness says lost whatever it sees")                    \
    X(hint_trusted, "sim", "section 10: the hinted version is taken for the newest")               \
    X(resume_unproved, "protocol/test_resumption",                                                 \
      "R8: a cursor's version is believed without the marker")                                     \
    X(resume_is_newest, "sim", "section 10: a cursor's version is taken for the newest")           \
    X(resume_without_step, "sim",                                                                  \
      "section 10: a rank begins with a version that does not describe its step")                  \
    X(way_is_forgotten, "protocol/test_resumption",                                                \
      "section 10: a cursor does not say what leads to its step")                                  \
    X(search_from_start, "sim", "R8: the search for manifests begins below the markers")           \
    X(delete_before_marker, "sim", "R8: names are deleted before their marker is there")           \
    X(newest_block_retired, "sim", "R8: the block of the newest version is retired")               \
    X(block_before_newest_retired, "sim", "R8: the block before the newest is retired")            \
    X(marker_in_doubt_trusted, "sim", "R8: an UNKNOWN marker is taken for durable")                \
    X(markers_out_of_order, "sim", "R8: a block is retired before the one below it")               \
    X(ghosts_left, "sim", "R8: what is listed in retired blocks is not deleted again")             \
    X(list_trusted, "sim", "R8: what a listing shows below the newest is deleted")                 \
    X(loser_deletes, "sim", "R9: who lost a race deletes what it put")                             \
    X(sealed_publish, "sim", "R10: a sealed namespace takes publishes")                            \
    X(sealed_open, "sim", "R10: a sealed namespace takes opens")                                   \
    X(seal_unfinished, "sim", "R10: a seal does not wait for the unfinished")                      \
    X(expected_off_by_one, "sim", "R10: the last finish but one seals")                            \
    X(finish_without_seal, "sim", "R10: the last finish does not seal")                            \
    X(finished_opens, "sim", "R10: a finished producer is opened without reopen")                  \
    X(fold_not_durable, "sim", "section 6: a segment is referred to before its put is answered")   \
    X(fold_failed_durable, "sim", "section 6: a segment whose put failed is referred to")          \
    X(fold_of_another_tail, "sim", "section 6: the fold of another base is referred to")           \
    X(merge_not_durable, "sim", "section 6: an index is referred to before its put is answered")   \
    X(merge_wrong_place, "sim", "section 6: an index replaces other references than its own")      \
    X(gap_unchecked, "protocol/test_chain",                                                        \
      "section 6: a reader that skipped does not look at the sum")                                 \
    X(link_unchecked, "protocol/test_chain",                                                       \
      "section 8: the hash of the version before is not compared")                                 \
    X(uuid_unchecked, "protocol/test_chain", "a manifest of another namespace is taken")           \
    X(lookup_next_step, "sim", "a step is looked up one too late")                                 \
    X(lookup_wrong_segment, "sim", "the segment after the right one is taken")                     \
    X(ends_when_sealed, "sim", "section 10: a sealed namespace ends wherever the rank stands")     \
    X(cursor_forgets_item, "sim", "section 10: a cursor forgets the item")                         \
    X(cursor_one_ahead, "sim", "section 10: a cursor names the step after")                        \
    X(slice_transposed, "sim", "section 10: rows and columns of the mesh are exchanged")           \
    X(cursor_nonce_unchecked, "protocol/test_handout",                                             \
      "section 10: another history is not noticed")                                                \
    X(another_genesis_is_ours, "sim", "a founder takes another's genesis for its own")             \
    X(launch_below_trim, "protocol/test_intent_launch",                                            \
      "section 11: a launch begins below the trim step")                                           \
    X(launch_without_hold, "protocol/test_intent_launch",                                          \
      "section 11: a resumed group keeps only its pins")                                           \
    X(launch_number_refixed, "protocol/test_intent_launch",                                        \
      "section 8: a launch fixes its number anew at every base")                                   \
    X(launch_number_alone, "protocol/test_intent_launch",                                          \
      "section 8: a launch fences whoever has the number it saw")                                  \
    X(launch_takes_any_cursor, "protocol/test_launch",                                             \
      "section 10: ranks with other cursors start all the same")                                   \
    X(release_by_id, "protocol/test_intent_pin",                                                   \
      "section 8: a release does not look at the nonce")                                           \
    X(pin_below_trim, "protocol/test_intent_pin",                                                  \
      "section 11: a pin below the trim step is taken")                                            \
    X(pin_beyond_end, "protocol/test_intent_pin",                                                  \
      "section 11: a pin beyond the next step is taken")                                           \
    X(pin_of_any_launch, "protocol/test_intent_pin",                                               \
      "section 11: a zombie's pins and releases are taken")                                        \
    X(hold_not_raised, "protocol/test_intent_pin",                                                 \
      "section 11: a pin above the hold leaves the hold")                                          \
    X(hold_follows_any_pin, "protocol/test_intent_pin",                                            \
      "section 11: a pin below the hold lowers it")                                                \
    X(same_pin_leaves_hold, "protocol/test_intent_pin",                                            \
      "section 11: a pin that is there of an earlier launch leaves the hold")                      \
    X(release_moves_hold, "protocol/test_intent_pin",                                              \
      "section 11: a release moves the hold to the highest step released")                         \
    X(w_of_newest_pins, "protocol/test_intent_pin",                                                \
      "section 2: W is taken of each group's newest pin")                                          \
    X(trim_of_base_only, "protocol/test_intent_pin",                                               \
      "section 8: what a pin or release frees is not trimmed")                                     \
    X(group_rm_of_any_launch, "protocol/test_intent_launch",                                       \
      "section 8: group rm does not look at the launch")                                           \
    X(forget_any_epoch, "protocol/test_intent_forget",                                             \
      "section 8: forget does not look at the epoch")                                              \
    X(already_from_old_base, "protocol/test_commit_groups",                                        \
      "section 8: a pin is told from a base long gone")                                            \
    X(doubt_forgotten, "protocol/test_commit_groups",                                              \
      "R8: a witness that saw no pin says that none was made")                                     \
    X(swept_drops_too_much, "protocol/test_intent_swept",                                          \
      "section 11: the reference that holds the swept step leaves")                                \
    X(swept_bytes_forgotten, "protocol/test_intent_swept",                                         \
      "section 11: swept bytes are not counted")                                                   \
    X(swept_entries_forgotten, "protocol/test_intent_swept",                                       \
      "section 11: producers' swept seq and offset stay")                                          \
    X(swept_from_anywhere, "protocol/test_intent_swept",                                           \
      "section 11: a sweep counts what another has counted")                                       \
    X(page_moves_unswept, "protocol/test_intent_swept",                                            \
      "section 6: who is not wholly swept moves to the page")                                      \
    X(page_min_ignored, "protocol/test_intent_swept",                                              \
      "section 6: a page is written for a single producer")                                        \
    X(parts_above_trim, "protocol/test_reclaim",                                                   \
      "section 11: parts above the proved trim step are deleted")                                  \
    X(swept_before_answered, "protocol/test_reclaim",                                              \
      "section 11: swept is committed before the deletes are answered")                            \
    X(segments_before_swept, "protocol/test_reclaim_kills",                                        \
      "section 11: segments go before the chain says that they are swept")                         \
    X(segment_half_swept, "protocol/test_reclaim_kills",                                           \
      "section 11: a segment goes of which some steps are not swept")                              \
    X(fenced_sweep_deletes, "protocol/test_reclaim",                                               \
      "section 11: a sweep that was overtaken deletes what it did not commit")                     \
    X(resume_state_goes, "protocol/test_reclaim_kills",                                            \
      "section 11: the resume state that the map names is swept")                                  \
    X(listed_state_goes, "protocol/test_reclaim_kills",                                            \
      "section 11: the resume state that map or page name is taken for an orphan")                 \
    X(listed_segment_goes, "protocol/test_reclaim",                                                \
      "section 11: a segment that is still referred to is taken for an orphan")                    \
    X(coming_page_goes, "protocol/test_reclaim",                                                   \
      "section 11: a page goes that a coming version may refer to")                                \
    X(orphan_in_flight, "protocol/test_reclaim",                                                   \
      "section 11: what may be published yet is taken for an orphan")                              \
    X(orphan_by_tail_alone, "protocol/test_reclaim",                                               \
      "section 11: an orphan's verdict does not look into segments")                               \
    X(strangers_go, "protocol/test_reclaim",                                                       \
      "section 11: data of an id that the chain never named is deleted")                           \
    X(moved_before_swept, "protocol/test_reclaim",                                                 \
      "section 6: a page is made with those of whom something is left")                            \
    X(page_not_durable, "protocol/test_reclaim",                                                   \
      "section 6: a page is referred to before its put is answered")                               \
    X(page_of_any_base, "protocol/test_reclaim",                                                   \
      "section 6: a page made for another version is referred to")                                 \
    X(max_lag_of_oldest_pin, "protocol/test_limit",                                                \
      "section 11: max_lag counts from the oldest pin")                                            \
    X(max_bytes_of_all_time, "protocol/test_limit", "section 11: max_bytes counts what was swept") \
    X(limit_unshared, "protocol/test_limit", "R3: one commit takes all the room")                  \
    X(limit_share_rounds_down, "protocol/test_limit", "R3: a share may be no TGB at all")          \
    X(limit_counts_departed, "protocol/test_limit", "R3: who has finished has a share")            \
    X(limit_blames_pin, "protocol/test_limit",                                                     \
      "section 11: what waits for a sweep is said to wait for a pin")                              \
    X(limit_without_group, "protocol/test_limit", "section 2: without a group limits apply")       \
    X(page_forgets_older, "protocol/test_reclaim_kills",                                           \
      "section 6: the next page has only those who depart now")                                    \
    X(page_keeps_first_leave, "protocol/test_reclaim_kills",                                       \
      "section 6: who departs again stands on the page as it left first")                          \
    X(overtaken_is_damage, "protocol/test_reclaim_kills",                                          \
      "section 10: what another sweep deleted is told as damage")                                  \
    X(sweep_gives_up, "protocol/test_reclaim_kills", "a request without an answer ends a pass")    \
    X(departed_are_strangers, "protocol/test_reclaim_kills",                                       \
      "section 11: orphans of those on the page stay for ever")                                    \
    X(refused_from_old_base, "protocol/test_commit_groups",                                        \
      "section 8: FENCED is told from a base long gone")                                           \
    X(pin_leaves_no_trace, "protocol/test_commit_groups",                                          \
      "R7: a pin of ours in the chain does not close its attempt")                                 \
    X(incr_always, "protocol/test_cadence", "section 9: incr grows with each attempt")             \
    X(aimd_readings_swapped, "protocol/test_cadence", "section 9: the rate grows with a conflict") \
    X(dac_counts_itself, "protocol/test_cadence", "section 9: a producer competes with itself")    \
    X(dac_without_duty, "protocol/test_cadence", "section 9: dac knows no duty budget")            \
    X(dac_blind_to_conflicts, "protocol/test_cadence",                                             \
      "section 9: a lost race leaves gap and window as they are")                                  \
    X(dac_without_jitter, "protocol/test_cadence",                                                 \
      "section 9: producers with equal windows attempt together")                                  \
    X(turn_sleeps_on_mean, "sim/test_collapse",                                                    \
      "section 9: a member sleeps for the mean of what turns took")                                \
    X(turn_moved_by_joins, "sim/test_collapse", "section 9: who joins takes the turn")             \
    X(turn_joins_by_publish, "protocol/test_turn",                                                 \
      "section 9: who has just opened is no member and has to race the members")                   \
    X(turn_waits_for_own_fold, "protocol/test_turn",                                               \
      "section 9: who has to fold first waits as long as the others do for it")                    \
    X(turn_thinks_young, "protocol/test_turn",                                                     \
      "section 9: a version's age is told by the most that turns may take")                        \
    X(turn_guest_walks, "protocol/test_turn",                                                      \
      "section 9: a guest that backed off asks for each version that was made meanwhile")          \
    X(look_unproved, "sim", "section 8: what a look found is held without its marker")             \
    X(look_ahead_is_next, "sim",                                                                   \
      "section 8: a look far ahead that finds nothing tells of the next")                          \
    X(look_unlinked, "protocol/test_chain",                                                        \
      "section 8: the next version that a look finds follows another history")                     \
    X(trust_is_fresh, "sim", "section 8: a base that is trusted is taken for the newest")          \
    X(trust_stays, "protocol/test_commit", "section 9: a base is trusted after another's commit")  \
    X(rescale_row_off_by_one, "sim",                                                               \
      "section 10: a rank of another mesh reads its neighbour's slices")                           \
    X(tip_leaves_no_range, "protocol/test_launch",                                                 \
      "section 10: what a launch skips to the tip is not in its cursor")                           \
    X(tip_stays, "sim", "section 10: a launch that skips to the tip begins where it was")          \
    X(skips_ignored_by_one_rank, "sim", "section 10: one rank reads what the job skips")           \
    X(tags_ignored_by_one_rank, "sim",                                                             \
      "section 10: one rank reads steps of tags that the job does not want")                       \
    X(rescale_slice_major, "protocol/test_rescale",                                                \
      "section 10: a rank of another mesh hands out slice after slice")                            \
    X(packed_bomb_allowed, "codec/test_packing",                                                   \
      "section 6: an item of few bytes may claim any memory")                                      \
    X(crc_unchecked, "sim", "the CRC of objects is not checked")                                   \
    X(frame_crc_unchecked, "sim", "the CRC of items is not checked")                               \
    X(segment_hash_unchecked, "codec/test_segment", "a segment need not be the one referred to")   \
    X(inline_place_wrong, "sim", "places of slices of different lengths are not aligned")          \
    X(dir_fsync_dropped, "store/test_file_write",                                                  \
      "a created name is answered before it is durable")                                           \
    X(create_overwrites, "store/test_file_write", "create replaces what is there")                 \
    X(create_repeated, "store/test_retry", "the retry decorator repeats a create")

#endif
