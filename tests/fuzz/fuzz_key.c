// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "codec/key.h"
#include "fuzz.h"

/* Whatever parses is what we would have written. */
static void build_again(const key_fields *f, object_key *key)
{
    switch (f->kind) {
    case KEY_GENESIS:
        key_genesis(key);
        break;
    case KEY_HINT:
        key_hint(key);
        break;
    case KEY_MANIFEST:
        key_manifest(key, f->number);
        break;
    case KEY_MARKER:
        key_marker(key, f->number);
        break;
    case KEY_SEGMENT:
        key_segment(key, f->number, f->last, &f->hash);
        break;
    case KEY_PAGE:
        key_page(key, f->number, f->nonce);
        break;
    case KEY_PART:
        key_part(key, f->producer, f->epoch, f->number, f->nonce, f->part);
        break;
    case KEY_STATE:
        key_state(key, f->producer, f->epoch, f->number, f->nonce);
        break;
    case KEY_PROBE:
        key_probe(key, f->nonce);
        break;
    case KEY_TMP:
    case KEY_FOREIGN:
        PROMISE(false);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    key_fields f;
    meter_start();
    key_parse(view_of(data, size), &f);
    PROMISE(meter_peak() <= decode_bytes_max(size));
    if (f.kind == KEY_FOREIGN || f.kind == KEY_TMP)
        return 0;
    PROMISE(size < KEY_BYTES);
    object_key key;
    build_again(&f, &key);
    PROMISE(view_equal(view_text(key.text), view_of(data, size)));
    PROMISE((f.kind != KEY_PART && f.kind != KEY_STATE) || name_is_valid(f.producer));
    return 0;
}
