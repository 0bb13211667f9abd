// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "store/doctor_file.h"

#include "base/rng.h"
#include "store/driver.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define SCRATCH_TAIL_BYTES 32u /* "/tmp/doctor-<16 hex>" */
#define READ_BYTES 100000u
/* The longest segment that our own keys have is 74 bytes: a segment's, two steps and a hash. */
#define SEGMENT_NEEDED 80u

void doctor_say(doctor_finding *f, doctor_verdict verdict, bw_status code, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    if (vsnprintf(f->text, sizeof f->text, format, args) < 0)
        f->text[0] = '\0';
    va_end(args);
    f->verdict = verdict;
    f->code = code;
}

void doctor_figure_add(doctor_finding *f, const char *name, uint64_t value)
{
    if (f->figure_count < DOCTOR_FIGURES_MAX)
        f->figures[f->figure_count++] = (doctor_figure){name, value, 0};
}

void doctor_decimal_add(doctor_finding *f, const char *name, uint64_t value, uint32_t decimals)
{
    if (f->figure_count < DOCTOR_FIGURES_MAX)
        f->figures[f->figure_count++] = (doctor_figure){name, value, decimals};
}

void doctor_word_add(doctor_finding *f, const char *name, const char *text)
{
    if (f->word_count < DOCTOR_WORDS_MAX)
        f->words[f->word_count++] = (doctor_word){name, text};
}

/** Ends a finding by what the library says. */
void doctor_say_error(doctor_finding *f, const bw_error *error)
{
    doctor_say(f, DOCTOR_FAULT, error->code, "%.480s", error->message);
}

bool doctor_tell(doctor *d, const doctor_finding *f)
{
    if (f->verdict == DOCTOR_FAULT && d->first == BW_OK)
        d->first = f->code != BW_OK ? f->code : BW_IO;
    d->stopped |= d->tell(d->context, f) != 0;
    return !d->stopped;
}

bw_status doctor_end(const doctor *d, const char *name, bw_error *error)
{
    if (d->stopped)
        return error_set(error, BW_INTERRUPTED, "the doctor was stopped");
    if (d->first != BW_OK)
        return error_set(error, d->first, "%.300s is not fit for a namespace", name);
    return BW_OK;
}

/* ---- where ---- */

/** The nearest directory at or above the path that is there. */
static void find_there(directory *d)
{
    struct stat info;
    memcpy(d->there, d->path, sizeof d->there);
    while (stat(d->there, &info) != 0) {
        char *slash = strrchr(d->there, '/');
        if (slash == NULL) {
            memcpy(d->there, ".", 2);
            return;
        }
        slash[slash == d->there] = '\0';
    }
}

static bw_status find_place(directory *d, const char *url, bw_error *error)
{
    struct stat info;
    char tmp[PATH_MAX + 8];
    BW_TRY(store_url_path(url, d->path, sizeof d->path, error));
    for (size_t size = strlen(d->path); size > 1 && d->path[size - 1] == '/'; size--)
        d->path[size - 1] = '\0';
    if (strlen(d->path) + SCRATCH_TAIL_BYTES > sizeof d->scratch)
        return error_set(error, BW_INVALID, "%.60s…: the path is too long", url);
    find_there(d);
    (void)snprintf(tmp, sizeof tmp, "%s/tmp", d->path);
    d->is_new = stat(d->path, &info) != 0;
    d->has_tmp = stat(tmp, &info) == 0;
    return BW_OK;
}

/** Makes the scratch directory, as a store of its own. */
static bool make_scratch(directory *d, doctor_finding *f, store **out)
{
    static const store_file_options options = {.durable = true, .writable = true};
    rng random;
    bw_error error;
    error_clear(&error);
    if (rng_seed_system(&random) != 0) {
        doctor_say(f, DOCTOR_FAULT, BW_IO, "the system gives no random number");
        return false;
    }
    const size_t size = strlen(d->path);
    memcpy(d->scratch, d->path, size);
    (void)snprintf(d->scratch + size, sizeof d->scratch - size, "/tmp/doctor-%016" PRIx64,
                   rng_u64(&random));
    if (store_file_open(d->scratch, &options, out, &error) != BW_OK) {
        doctor_say_error(f, &error);
        return false;
    }
    doctor_say(f, DOCTOR_OK, BW_OK, "%.400s may be written%s", d->path,
               d->is_new ? "; it does not exist yet, init makes it" : "");
    return true;
}

/** Takes away what was made, and nothing else: a tmp/ that was not there before goes only where no
 * namespace has begun meanwhile. */
static bool clean_up(const directory *d, doctor_finding *f)
{
    char text[128];
    struct stat info;
    if (d->scratch[0] == '\0')
        return true;
    /* Where making it failed half-way, what is above it is there all the same. */
    if (stat(d->scratch, &info) == 0 && doctor_remove(d->scratch) != 0) {
        doctor_say(f, DOCTOR_WARNING, BW_OK, "%.300s could not be removed: %s", d->scratch,
                   strerror_r(errno, text, sizeof text));
        return false;
    }
    char at[PATH_MAX];
    (void)snprintf(at, sizeof at, "%.*s/genesis", PATH_MAX - 16, d->path);
    const bool empty = stat(at, &info) != 0;
    (void)snprintf(at, sizeof at, "%.*s/tmp", PATH_MAX - 16, d->path);
    if (!d->has_tmp && empty)
        (void)rmdir(at);
    for (char *slash = strrchr(at, '/'); d->is_new && slash != NULL && slash != at;
         slash = strrchr(at, '/')) {
        *slash = '\0';
        if (strcmp(at, d->there) == 0 || rmdir(at) != 0)
            break;
    }
    return true;
}

/* ---- what goes through a store ---- */

static void check_create(store *s, doctor_finding *f)
{
    bw_error error;
    error_clear(&error);
    if (store_probe(s, 1, &error) != BW_OK)
        doctor_say_error(f, &error);
    else
        doctor_say(f, DOCTOR_OK, BW_OK,
                   "a second create of a name is refused, and changes nothing");
}

/** A part of the object, mapped where that is possible. */
static bool reads_back(store *s, const char *key, const uint8_t *bytes, uint64_t from,
                       uint64_t length)
{
    store_op op;
    const bool maps = (s->features & STORE_CAN_MAP) != 0;
    uint8_t part[256];
    store_op_init(&op, maps ? STORE_MAP : STORE_READ, key);
    op.offset = from;
    op.length = length;
    op.dest = part;
    const bool there = length <= sizeof part && store_run(s, &op) == STORE_OK;
    const bool same = there && memcmp(maps ? op.mapping.data : part, bytes + from, length) == 0;
    store_op_clear(&op);
    return same;
}

static void check_read(store *s, doctor_finding *f)
{
    static const char key[] = "read/object";
    static uint8_t bytes[READ_BYTES];
    const bool maps = (s->features & STORE_CAN_MAP) != 0;
    bw_error error;
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (uint8_t)(i * 31 + i / 251);
    if (doctor_put(s, key, bytes, sizeof bytes, &error) != STORE_OK) {
        doctor_say_error(f, &error);
        return;
    }
    if (!reads_back(s, key, bytes, 4096 * 3 + 100, 200) || !reads_back(s, key, bytes, 0, 64) ||
        !reads_back(s, key, bytes, READ_BYTES - 7, 7)) {
        doctor_say(f, DOCTOR_FAULT, BW_STORE_UNSAFE, "what was written does not read back");
        return;
    }
    const char *const keys[] = {key};
    (void)doctor_delete(s, keys, 1, NULL);
    if (doctor_head(s, key) != STORE_NOT_FOUND)
        doctor_say(f, DOCTOR_FAULT, BW_STORE_UNSAFE, "what was deleted is still there");
    else
        doctor_say(f, DOCTOR_OK, BW_OK, "what was written is %s back, what was deleted is gone",
                   maps ? "mapped" : "read");
}

/** A key whose last segment has this many bytes, of `size` in all, can be made. */
static bool takes_name(store *s, size_t segment, size_t size, bw_error *error)
{
    char key[STORE_KEY_MAX + 1];
    memset(key, 'n', sizeof key);
    memcpy(key, "names/", 6);
    key[size] = '\0';
    for (size_t at = size - segment - 1; at > 6; at -= at > segment + 1 ? segment + 1 : at)
        key[at] = '/';
    return doctor_create(s, key, key, 4, error) == STORE_CREATED;
}

static void check_names(const directory *d, store *s, doctor_finding *f)
{
    char upper[PATH_MAX + 16];
    struct stat info;
    bw_error error;
    error_clear(&error);
    const bool longest = takes_name(s, STORE_SEGMENT_MAX, STORE_KEY_MAX, &error);
    if (!longest && !takes_name(s, SEGMENT_NEEDED, 6 + SEGMENT_NEEDED, &error)) {
        doctor_say_error(f, &error);
        return;
    }
    if (doctor_create(s, "names/case", "n", 1, &error) != STORE_CREATED) {
        doctor_say_error(f, &error);
        return;
    }
    (void)snprintf(upper, sizeof upper, "%s/names/CASE", d->scratch);
    const char *apart = stat(upper, &info) != 0 ? "upper and lower case are told apart"
                                                : "upper and lower case are the same, which does "
                                                  "no harm: all names are lower-case";
    if (longest)
        doctor_say(f, DOCTOR_OK, BW_OK, "of %u bytes, %u in a segment; %s", STORE_KEY_MAX,
                   STORE_SEGMENT_MAX, apart);
    else
        doctor_say(f, DOCTOR_WARNING, BW_OK, "shorter than %u bytes in a segment, long enough; %s",
                   STORE_SEGMENT_MAX, apart);
}

/* ---- all of it ---- */

/** Checks by name; false when there were enough of them. */
static void each(directory *r, store *s)
{
    static const char *const checks[] = {"create", "read", "names", "durability", "clock", "race"};
    for (size_t k = 0; k < sizeof checks / sizeof *checks; k++) {
        doctor_finding f = {.check = checks[k]};
        switch (k) {
        case 0:
            check_create(s, &f);
            break;
        case 1:
            check_read(s, &f);
            break;
        case 2:
            check_names(r, s, &f);
            break;
        case 3:
            doctor_durability(r, &f);
            break;
        case 4:
            doctor_clock(r, &f);
            break;
        default:
            doctor_race_check(r->d, r->scratch, "", &f);
        }
        if (!doctor_tell(r->d, &f))
            return;
    }
}

static void look_around(directory *r)
{
    doctor_finding kind = {.check = "file_system"}, room = {.check = "room"},
                   limits = {.check = "limits"}, place = {.check = "place"},
                   left = {.check = "left"};
    store *s = NULL;
    const bool usable = doctor_file_system(r, &kind);
    if (!doctor_tell(r->d, &kind) || !usable)
        return;
    doctor_room(r, &room);
    if (!doctor_tell(r->d, &room))
        return;
    doctor_limits(&limits);
    if (!doctor_tell(r->d, &limits))
        return;
    const bool made = make_scratch(r, &place, &s);
    if (doctor_tell(r->d, &place) && made)
        each(r, s);
    store_close(s);
    if (!clean_up(r, &left))
        (void)doctor_tell(r->d, &left);
}

bw_status doctor_directory(doctor *d, const char *url, bw_error *error)
{
    directory r = {.d = d};
    BW_TRY(find_place(&r, url, error));
    look_around(&r);
    return doctor_end(d, r.path, error);
}
