// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/** What the files of the suite share. */
#ifndef CONTRACT_CASES_H
#define CONTRACT_CASES_H

#include "contract.h"

extern const contract_factory *contract_current;

/** The state of a case: a place, and one store on it. */
typedef struct contract_place {
    void *place;
    store *store;
} contract_place;

void test_one_winner_among_threads(void **state);
void test_one_winner_among_processes(void **state);
void test_reads_are_whole_while_written(void **state);

#endif
