// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/* Runs a target over the files of its corpus without any engine: the corpus is a regression test
 * under every compiler. */
#include "fuzz.h"

#include "base/alloc.h"
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FILE_BYTES_MAX ((size_t)1 << 20)

static _Noreturn void give_up(const char *path)
{
    perror(path);
    exit(1);
}

static void run_file(const char *path)
{
    static uint8_t bytes[FILE_BYTES_MAX];
    FILE *file = fopen(path, "rb");
    if (file == NULL)
        give_up(path);
    const size_t size = fread(bytes, 1, sizeof bytes, file);
    if (ferror(file) || size == sizeof bytes)
        give_up(path);
    fclose(file);
    /* No larger than it must be, so that a sanitizer sees what is read beyond it. */
    uint8_t *exact = mem_dup(bytes, size);
    if (exact == NULL || LLVMFuzzerTestOneInput(exact, size) != 0)
        give_up(path);
    mem_free(exact);
}

static int is_visible(const struct dirent *entry)
{
    return entry->d_name[0] != '.';
}

int main(int argc, char **argv)
{
    if (argc != 2) {
        fprintf(stderr, "usage: %s CORPUS\n", argv[0]);
        return 2;
    }
    meter_jansson();
    struct dirent **entries;
    const int count = scandir(argv[1], &entries, is_visible, alphasort);
    if (count < 0)
        give_up(argv[1]);
    for (int i = 0; i < count; i++) {
        char path[4096];
        snprintf(path, sizeof path, "%s/%s", argv[1], entries[i]->d_name);
        /* Known before it runs: a promise that is broken ends the program. */
        fprintf(stderr, "%s\n", entries[i]->d_name);
        run_file(path);
        free(entries[i]);
    }
    free(entries);
    printf("%d passed, 0 failed\n", count);
    return count > 0 ? 0 : 1;
}
