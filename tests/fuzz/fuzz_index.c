// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/* The index of Megatron pairs. The first two bytes: the size of the .bin; the rest is the .idx.
 * Positions by an index that is accepted must be those that a walk through it gives. */
#include "fuzz.h"
#include "input/record.h"
#include "input/tokenfile.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define HEAD 2u
#define TOKENS_MAX 65536u
/** Three pieces of the index. */
#define OPEN_BYTES ((size_t)3 << 17)

static char folder[64], bin[96], idx[96];

/** NULL: zeros. */
static void set_file(const char *path, const void *bytes, size_t size)
{
    const int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    PROMISE(fd >= 0);
    if (bytes == NULL)
        PROMISE(ftruncate(fd, (off_t)size) == 0);
    else
        PROMISE(write(fd, bytes, size) == (ssize_t)size);
    close(fd);
}

static void remove_files(void)
{
    unlink(bin);
    unlink(idx);
    rmdir(folder);
}

static void make_folder(void)
{
    if (folder[0] != '\0')
        return;
    /* In memory where there is such a place. */
    snprintf(folder, sizeof folder, "%s/batchweave-fuzz-XXXXXX",
             access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
    PROMISE(mkdtemp(folder) != NULL);
    snprintf(bin, sizeof bin, "%s/a.bin", folder);
    snprintf(idx, sizeof idx, "%s/a.idx", folder);
    atexit(remove_files);
}

/** The place of each token within its document, by a walk through the arrays. */
static void walk(const tokenfile *t, const uint8_t *index, int32_t *out)
{
    const uint8_t *lengths = index + 34;
    const uint8_t *starts = lengths + 12 * t->sequences;
    uint64_t token = 0, sequence = 0;
    for (uint64_t d = 0; d < t->documents; d++) {
        int32_t position = 0;
        for (const uint64_t end = load_u64(starts + 8 * (d + 1)); sequence < end; sequence++)
            for (uint32_t i = load_u32(lengths + 4 * sequence); i > 0; i--) {
                PROMISE(token < t->tokens);
                out[token++] = position++;
            }
    }
    PROMISE(token == t->tokens && sequence == t->sequences);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static int32_t wanted[TOKENS_MAX], got[TOKENS_MAX];
    if (size < HEAD)
        return 0;
    make_folder();
    set_file(bin, NULL, data[0] | (size_t)data[1] << 8);
    set_file(idx, data + HEAD, size - HEAD);
    char path[96], name[96];
    memcpy(path, idx, sizeof path);
    memcpy(name, idx, sizeof name);
    document d = {.path = path, .name = name};
    tokenfile t;
    bw_error error = {.code = BW_OK};
    meter_start();
    const bw_status status = tokenfile_open(&d, TOKEN_U16, &t, &error);
    PROMISE(meter_peak() <= OPEN_BYTES);
    if (status != BW_OK) {
        PROMISE(status == BW_INPUT_BAD);
        check_told(status, &error);
    } else {
        PROMISE(t.tokens <= TOKENS_MAX && strcmp(d.path, bin) == 0);
        walk(&t, data + HEAD, wanted);
        const size_t count = (size_t)t.tokens, from = count / 3;
        PROMISE(tokenfile_positions(&t, 0, count, got, NULL) == BW_OK);
        PROMISE(memcmp(got, wanted, count * sizeof *got) == 0);
        PROMISE(tokenfile_positions(&t, from, count - from, got, NULL) == BW_OK);
        PROMISE(memcmp(got, wanted + from, (count - from) * sizeof *got) == 0);
        PROMISE(tokenfile_read(&t, 0, count, got, NULL) == BW_OK);
    }
    tokenfile_close(&t);
    return 0;
}
