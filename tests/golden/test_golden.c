// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/* Every version must read these objects for ever, and write the same bytes for the same values.
 *
 *     test_golden FOLDER            compare
 *     test_golden FOLDER --update   write the files anew: only when an object was added */
#include "golden.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define FILE_BYTES_MAX ((size_t)1 << 20)

static const golden objects[] = {
    {"genesis", build_genesis, dump_genesis, again_genesis},
    {"genesis-plain", build_genesis_plain, dump_genesis, again_genesis},
    {"manifest-first", build_manifest_first, dump_manifest, again_manifest},
    {"manifest-full", build_manifest_full, dump_manifest, again_manifest},
    {"segment-block", build_segment_block, dump_segment, again_segment},
    {"segment-index", build_segment_index, dump_segment, again_segment},
    {"page", build_page, dump_page, again_page},
    {"marker", build_marker, dump_marker, again_marker},
    {"hint", build_hint, dump_hint, again_hint},
    {"state", build_state, dump_state, again_state},
    {"cursor", build_cursor, dump_cursor, again_cursor},
    {"cursor-skips", build_cursor_skips, dump_cursor, again_cursor},
    {"cursor-tags", build_cursor_tags, dump_cursor, again_cursor},
    {"cursor-way", build_cursor_way, dump_cursor, again_cursor},
    {"tgb-raw.000000", build_tgb_raw_0, dump_tgb_raw_0, again_tgb_raw_0},
    {"tgb-raw.000001", build_tgb_raw_1, dump_tgb_raw_1, again_tgb_raw_1},
    {"tgb-samples.000000", build_tgb_samples_0, dump_tgb_samples_0, again_tgb_samples_0},
    {"tgb-zstd.000000", build_tgb_zstd_0, dump_tgb_zstd_0, again_tgb_zstd_0},
};
#define OBJECTS (sizeof objects / sizeof objects[0])

static const char *folder;

static FILE *open_file(const char *name, const char *ending, const char *mode)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/%s.%s", folder, name, ending);
    FILE *file = fopen(path, mode);
    must(file != NULL, path);
    return file;
}

static void read_file(const char *name, const char *ending, buf *out)
{
    buf_init(out, FILE_BYTES_MAX);
    must(buf_reserve(out, FILE_BYTES_MAX) == BW_OK, "memory");
    FILE *file = open_file(name, ending, "rb");
    out->size = fread(out->data, 1, FILE_BYTES_MAX, file);
    must(fclose(file) == 0, name);
}

static void write_file(const char *name, const char *ending, const void *bytes, size_t size)
{
    FILE *file = open_file(name, ending, "wb");
    must(fwrite(bytes, 1, size, file) == size && fclose(file) == 0, name);
}

static char *json_of(const golden *g, view object)
{
    json_t *root = g->dump(object);
    char *text = json_dumps(root, JSON_INDENT(1));
    must(text != NULL, "JSON");
    json_decref(root);
    return text;
}

static void update(const golden *g)
{
    buf object;
    buf_init(&object, FILE_BYTES_MAX);
    g->build(&object);
    must(buf_status(&object) == BW_OK, g->name);
    char *text = json_of(g, view_of(object.data, object.size));
    write_file(g->name, "bin", object.data, object.size);
    write_file(g->name, "json", text, strlen(text));
    free(text);
    buf_free(&object);
}

static void compare(void **state)
{
    const golden *g = *state;
    buf stored, expected, built, again;
    read_file(g->name, "bin", &stored);
    read_file(g->name, "json", &expected);
    const view object = view_of(stored.data, stored.size);
    /* Decoding gives the values that were written down. */
    char *text = json_of(g, object);
    assert_int_equal(strlen(text), expected.size);
    assert_memory_equal(text, expected.data, expected.size);
    free(text);
    /* Encoding what was decoded gives the bytes, and so does encoding the values from the source.
     */
    buf_init(&again, FILE_BYTES_MAX);
    g->again(object, &again);
    assert_int_equal(again.size, stored.size);
    assert_memory_equal(again.data, stored.data, stored.size);
    buf_init(&built, FILE_BYTES_MAX);
    g->build(&built);
    assert_int_equal(built.size, stored.size);
    assert_memory_equal(built.data, stored.data, stored.size);
    buf_free(&stored);
    buf_free(&expected);
    buf_free(&again);
    buf_free(&built);
}

int main(int argc, char **argv)
{
    must(argc >= 2, "the folder as first argument");
    folder = argv[1];
    if (argc > 2 && strcmp(argv[2], "--update") == 0) {
        for (size_t i = 0; i < OBJECTS; i++)
            update(&objects[i]);
        return 0;
    }
    struct CMUnitTest tests[OBJECTS];
    for (size_t i = 0; i < OBJECTS; i++)
        tests[i] = (struct CMUnitTest){.name = objects[i].name,
                                       .test_func = compare,
                                       .initial_state = (void *)(uintptr_t)&objects[i]};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
