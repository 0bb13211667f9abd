// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/** Every accessor of a decoded block, and what must hold of its places. */
#ifndef TESTS_FUZZ_BLOCK_WALK_H
#define TESTS_FUZZ_BLOCK_WALK_H

#include "codec/block.h"

void block_walk(const block *b);

#endif
