/* SPDX-FileCopyrightText: The BatchWeave authors
   SPDX-License-Identifier: Apache-2.0 */
/*
 * The commit protocol (docs/protocol.md): open, publish, finish, seal, and the retirement of manifests.
 * docs/protocol.md says what this covers; `model/run` compiles and runs it in all its configurations.
 */
#include "bounds.pml"
#include "claims.pml"
#include "rules.pml"
#include "world.pml"
#include "committers.pml"
#include "readers.pml"

#ifndef PROCESSES
#define PROCESSES run Producer(1, SLOT, 2)
#endif

init
{
    atomic {
        READ_SWITCHES;
        C[1].version = 0;
        C[1].token = FIRST_TOKEN;
        C[1].epoch = FIRST_TOKEN;
        store[0] = 1;
        chain[0] = 1;
        run World();
        PROCESSES
    }
}
