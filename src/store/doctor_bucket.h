// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/** The doctor's visit to a bucket. */
#ifndef STORE_DOCTOR_BUCKET_H
#define STORE_DOCTOR_BUCKET_H

#include "store/doctor.h"

#define BUCKET_KEY_BYTES 96u

/** Names are `tmp/doctor-<16 hex>/<folder>/<6 digits>`; all that there may be are in one table, so
 * that they are removed without a listing. */
typedef enum bucket_folder {
    FOLDER_ACCESS,
    FOLDER_CONDITION,
    FOLDER_AGAIN,
    FOLDER_ABSENT,
    FOLDER_RANGE,
    FOLDER_PUT,
    FOLDER_CREATE,
    FOLDER_LARGE,
    FOLDER_RACE,
    FOLDERS
} bucket_folder;

#define BUCKET_ROUNDS 8u    /* of checks that do the same on several names */
#define BUCKET_SAMPLES 100u /* of each kind of request */
#define BUCKET_LARGE 8u     /* objects at once */

/** How long requests took, and how many bytes went a second. */
typedef struct bucket_pace {
    int64_t create_ns, get_ns; /* medians; 0: none was answered */
} bucket_pace;

typedef struct bucket {
    doctor *d;
    store *s;
    const char *url;
    const doctor_job *job;
    store_facts facts;
    char scratch[48];
    bool may_delete, may_list;
    uint32_t created; /* names that were timed: there may have been no time for all */
    bucket_pace pace;
} bucket;

void bucket_key(const bucket *b, bucket_folder folder, uint32_t k, char key[BUCKET_KEY_BYTES]);

/** Each tells what it finds; false: what follows would be in vain, or the doctor was stopped. */
bool bucket_access(bucket *b);
bool bucket_promises(bucket *b);
bool bucket_paces(bucket *b);

/** The names of the check of listings; NULL behind the last. */
extern const char *const bucket_list_names[];

/** What the times mean for a job: the finding "estimate". */
void doctor_cost(const doctor_job *job, const bucket_pace *pace, doctor_finding *f);

#endif
