// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/** What is put, so that each item proves its place. In memory that the sweeps' own allocations do
 * not touch. */
#ifndef TESTS_INJECT_SCENE_CONTENT_H
#define TESTS_INJECT_SCENE_CONTENT_H

#include "scene.h"

/* Each batch moves the producer's offset by so much. */
#define OFFSET_STEP 10u

bool content_is_pad(const scene_shape *shape, uint32_t batch, uint32_t d, uint32_t c,
                    uint32_t item);
/** Valid for ever. At least 4 bytes. */
char *content_item(const scene_shape *shape, uint32_t batch, uint32_t d, uint32_t c, uint32_t item,
                   size_t *size);
const void *content_state(const scene_shape *shape, uint32_t batch, size_t *size);
bool content_is_state(const scene_shape *shape, uint32_t batch, const void *state, size_t size);
/** `item` must be what was put there. */
void content_check(scene *w, const bw_item *item, uint64_t step, uint32_t d, uint32_t c,
                   uint32_t index);

#endif
