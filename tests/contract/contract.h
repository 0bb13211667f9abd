// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/**
 * What every store must do, as one suite. A driver passes it through a factory; nothing in it knows
 * which driver it is.
 */
#ifndef CONTRACT_H
#define CONTRACT_H

#include "store/store.h"

typedef struct contract_factory {
    const char *name;
    /** Makes a new, empty place. */
    void *(*make)(void);
    /** Another store on that place; several may be open at once. */
    store *(*open)(void *place);
    void (*destroy)(void *place);
    /** The place outlives a fork: `open` works in a child, on the same objects. */
    bool across_processes;
    /** Listings come in an order of the store's own; pages follow one another all the same. */
    bool any_order;
    /** Bytes that are not those of the checksum that came with them are refused. */
    bool checks_crc;
    /** The longest key, where a prefix takes from it; 0: STORE_KEY_MAX. */
    unsigned key_max;
    /** Names that are raced for, where that is slow; 0: as many as anywhere. */
    int races;
} contract_factory;

/** Runs every case on a place of its own; the number of failed ones. */
int contract_run(const contract_factory *factory);

#endif
