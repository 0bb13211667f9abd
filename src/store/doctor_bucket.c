// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "store/doctor_bucket.h"

#include "base/rng.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define MS_PER_S 1000
#define SKEW_MS_OK (60 * MS_PER_S)
/* Signatures are refused beyond it; the driver corrects its clock then. */
#define SKEW_MS_MAX (900 * MS_PER_S)

typedef struct folder_row {
    const char *name;
    uint32_t names;
} folder_row;

static const folder_row folders[FOLDERS] = {
    [FOLDER_ACCESS] = {"access", 3},
    [FOLDER_CONDITION] = {"condition", 1},
    [FOLDER_AGAIN] = {"again", BUCKET_ROUNDS},
    [FOLDER_ABSENT] = {"absent", BUCKET_ROUNDS},
    [FOLDER_RANGE] = {"range", 1},
    [FOLDER_PUT] = {"put", BUCKET_SAMPLES},
    [FOLDER_CREATE] = {"create", BUCKET_SAMPLES},
    [FOLDER_LARGE] = {"large", BUCKET_LARGE},
    [FOLDER_RACE] = {"race", DOCTOR_NAMES},
};

void bucket_key(const bucket *b, bucket_folder folder, uint32_t k, char key[BUCKET_KEY_BYTES])
{
    (void)snprintf(key, BUCKET_KEY_BYTES, "%s%s/%06" PRIu32, b->scratch, folders[folder].name, k);
}

/* ---- where ---- */

static const char *or_none(const char *text, const char *none)
{
    return text[0] != '\0' ? text : none;
}

/* The first request: whether there is anything at all. */
static bool reach(bucket *b)
{
    doctor_finding f = {.check = "place"};
    char key[BUCKET_KEY_BYTES];
    char byte;
    size_t size = 1;
    bw_error error;
    bucket_key(b, FOLDER_ACCESS, 0, key);
    const store_outcome outcome = doctor_get(b->s, key, &byte, &size, &error);
    const bool there = outcome == STORE_NOT_FOUND || outcome == STORE_DENIED;
    (void)store_about(b->s, &b->facts);
    doctor_word_add(&f, "endpoint", b->facts.endpoint);
    doctor_word_add(&f, "region", b->facts.region);
    doctor_word_add(&f, "keys", or_none(b->facts.keys, "none: anonymous"));
    const bool secured = strncmp(b->facts.endpoint, "https:", 6) == 0;
    if (!there)
        doctor_say(&f, DOCTOR_FAULT, error.code != BW_OK ? error.code : BW_STORE_UNSAFE, "%.480s",
                   error.code != BW_OK ? error.message : "a name that nobody made is there");
    else
        doctor_say(&f, DOCTOR_OK, BW_OK, "%.100s/%.100s at %.100s%s%s%s; keys: %.200s",
                   b->facts.name, b->facts.prefix, b->facts.endpoint,
                   b->facts.region[0] != '\0' ? ", region " : "", b->facts.region,
                   secured ? "" : ", not encrypted", or_none(b->facts.keys, "none, anonymous"));
    return doctor_tell(b->d, &f) && there;
}

static bool check_clock(bucket *b)
{
    doctor_finding f = {.check = "clock"};
    const int64_t skew_ms = b->facts.skew_ms;
    const int64_t off_ms = skew_ms < 0 ? -skew_ms : skew_ms;
    if (!b->facts.has_clock) {
        doctor_say(&f, DOCTOR_WARNING, BW_OK, "the store does not tell the time");
        return doctor_tell(b->d, &f);
    }
    doctor_figure_add(&f, "skew_s", (uint64_t)off_ms / MS_PER_S);
    if (off_ms <= SKEW_MS_OK)
        doctor_say(&f, DOCTOR_OK, BW_OK, "the store's is the same, within %" PRId64 " s",
                   off_ms / MS_PER_S + 1);
    else
        doctor_say(&f, DOCTOR_WARNING, BW_OK, "the store's is %" PRId64 " s %s this machine's%s",
                   off_ms / MS_PER_S, skew_ms > 0 ? "ahead of" : "behind",
                   off_ms > SKEW_MS_MAX
                       ? ": it refuses signatures of another time, and they are corrected"
                       : "; signatures bear a quarter of an hour");
    return doctor_tell(b->d, &f);
}

/* ---- what the bucket does by itself ---- */

static bool overlaps(const char *a, const char *b)
{
    const size_t size_a = strlen(a), size_b = strlen(b);
    return strncmp(a, b, size_a < size_b ? size_a : size_b) == 0;
}

static const char *named(const store_rule *rule)
{
    return or_none(rule->name, "without a name");
}

/* The worst rule that is for names of ours; NULL: there is none. */
static const store_rule *worst_rule(const bucket *b, const store_bucket *set)
{
    const store_rule *worst = NULL;
    for (uint32_t i = 0; i < set->rule_count; i++) {
        const store_rule *rule = &set->list[i];
        const char *below = rule->prefix;
        const size_t size = strlen(b->facts.prefix);
        if (!overlaps(rule->prefix, b->facts.prefix))
            continue;
        /* Of what is below the namespace, probes and temporary names may go. */
        if (strncmp(below, b->facts.prefix, size) == 0 &&
            (strncmp(below + size, "tmp/", 4) == 0 || strncmp(below + size, "probe/", 6) == 0))
            continue;
        if (worst == NULL || rule->does < worst->does)
            worst = rule;
    }
    return worst;
}

static bool say_rule(doctor_finding *f, const store_rule *rule)
{
    static const char *const does[] = {
        [STORE_RULE_DELETES] = "deletes objects by their age: pinned data will be gone",
        [STORE_RULE_ARCHIVES] = "moves objects to an archive, from where they cannot be read",
        [STORE_RULE_MOVES] =
            "moves objects to another class: look at its prices for reads and for a short life",
    };
    char prefix[100];
    if (rule == NULL)
        return false;
    (void)snprintf(prefix, sizeof prefix, "%.99s", rule->prefix);
    for (char *c = prefix; *c != '\0'; c++)
        *c = (char)(*c >= ' ' && *c < 127 ? *c : '?');
    doctor_say(f, rule->does == STORE_RULE_MOVES ? DOCTOR_WARNING : DOCTOR_FAULT, BW_STORE_UNSAFE,
               "the lifecycle rule %s, for names that begin with \"%s\", %s", named(rule), prefix,
               does[rule->does]);
    return true;
}

static bool check_settings(bucket *b)
{
    static const char *const words[] = {"unreadable", "off", "on"};
    doctor_finding f = {.check = "bucket"};
    store_bucket set;
    store_bucket_ask(b->s, &set);
    doctor_word_add(&f, "versioning", words[set.versions]);
    doctor_word_add(&f, "lifecycle", words[set.rules]);
    const bool keeps = set.versions == STORE_ON && !set.old_end;
    if (say_rule(&f, worst_rule(b, &set)))
        return doctor_tell(b->d, &f);
    if (set.versions == STORE_UNREADABLE || set.rules == STORE_UNREADABLE)
        doctor_say(&f, DOCTOR_WARNING, BW_OK,
                   "not readable: %s%s%s; look by yourself that no rule deletes or archives, and "
                   "that old versions do not stay (%.200s)",
                   set.versions == STORE_UNREADABLE ? "versioning" : "",
                   set.versions == set.rules ? " and " : "",
                   set.rules == STORE_UNREADABLE ? "lifecycle" : "", set.why);
    else if (keeps)
        doctor_say(&f, DOCTOR_WARNING, BW_OK,
                   "versioning is on, and no lifecycle rule deletes old versions: what is swept "
                   "stays, and is paid, for ever");
    else if (set.kept_s > 0)
        doctor_say(&f, DOCTOR_WARNING, BW_OK,
                   "what is deleted is kept, and paid, for %" PRIu64 " days", set.kept_s / 86400);
    else
        doctor_say(&f, DOCTOR_OK, BW_OK, "%s; no lifecycle rule is for names of a namespace here",
                   set.versions == STORE_ON ? "old versions are deleted by a rule"
                                            : "no versions are kept");
    return doctor_tell(b->d, &f);
}

/* ---- all of it ---- */

/* By their names; a listing then finds what an answer was lost of. */
static bool remove_all(bucket *b, bw_error *error)
{
    bool gone = true;
    char text[BUCKET_SAMPLES][BUCKET_KEY_BYTES];
    const char *keys[BUCKET_SAMPLES];
    for (uint32_t folder = 0; folder < FOLDERS && gone; folder++) {
        for (uint32_t k = 0; k < folders[folder].names; k++) {
            bucket_key(b, folder, k, text[k]);
            keys[k] = text[k];
        }
        gone = doctor_delete(b->s, keys, folders[folder].names, error) == STORE_OK;
    }
    uint32_t count = 0;
    for (; bucket_list_names[count] != NULL; count++) {
        (void)snprintf(text[count], sizeof text[count], "%s%s", b->scratch,
                       bucket_list_names[count]);
        keys[count] = text[count];
    }
    return gone && doctor_delete(b->s, keys, count, error) == STORE_OK;
}

_Static_assert(BUCKET_SAMPLES >= DOCTOR_NAMES, "room for the names of one folder");

static void clean_up(bucket *b)
{
    doctor_finding f = {.check = "left"};
    bw_error error;
    error_clear(&error);
    if (remove_all(b, &error))
        return;
    doctor_say(&f, DOCTOR_WARNING, BW_OK, "what is below %s could not be removed: %.300s",
               b->scratch, error.message);
    (void)doctor_tell(b->d, &f);
}

static bool check_race(bucket *b)
{
    doctor_finding f = {.check = "race"};
    doctor_race_check(b->d, b->url, b->scratch, &f);
    return doctor_tell(b->d, &f);
}

static bool check_cost(bucket *b)
{
    doctor_finding f = {.check = "estimate"};
    doctor_cost(b->job, &b->pace, &f);
    return doctor_tell(b->d, &f);
}

bw_status doctor_bucket(doctor *d, store *s, const char *url, const doctor_job *job,
                        bw_error *error)
{
    rng random;
    bucket b = {.d = d, .s = s, .url = url, .job = job};
    if (rng_seed_system(&random) != 0)
        return error_set(error, BW_IO, "the system gives no random number");
    (void)snprintf(b.scratch, sizeof b.scratch, "tmp/doctor-%016" PRIx64 "/", rng_u64(&random));
    if (reach(&b) && check_clock(&b)) {
        const bool usable = bucket_access(&b);
        if (!d->stopped && check_settings(&b) && usable && bucket_promises(&b) && check_race(&b) &&
            bucket_paces(&b))
            (void)check_cost(&b);
        clean_up(&b);
    }
    return doctor_end(d, b.facts.name, error);
}
