// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/** The doctor's visit to a directory. */
#ifndef STORE_DOCTOR_FILE_H
#define STORE_DOCTOR_FILE_H

#include "store/doctor.h"

typedef struct directory {
    doctor *d;
    char path[PATH_MAX];    /* of the place */
    char there[PATH_MAX];   /* the place, or the nearest directory above it that exists */
    char scratch[PATH_MAX]; /* "": not made */
    bool is_new, has_tmp;   /* the place did not exist; it had a tmp/ */
    bool is_memory;         /* its files are gone when the machine is */
} directory;

/** false: nothing may be written there, the other checks are in vain. */
bool doctor_file_system(directory *d, doctor_finding *f);
void doctor_room(const directory *d, doctor_finding *f);
void doctor_limits(doctor_finding *f);
void doctor_clock(const directory *d, doctor_finding *f);
void doctor_durability(const directory *d, doctor_finding *f);
/** Removes a directory with all that is in it: 0, or -1 with errno. Follows no link. */
int doctor_remove(const char *path);

#endif
