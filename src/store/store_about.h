// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/** What a store behind a network says of itself, for who looks into why it does not work. Texts are
 * cut where they are too long, and none of them is a secret. */
#ifndef STORE_STORE_ABOUT_H
#define STORE_STORE_ABOUT_H

#include "store/store.h"

typedef enum store_cloud { STORE_CLOUD_S3, STORE_CLOUD_GCS, STORE_CLOUD_AZURE } store_cloud;

typedef struct store_facts {
    store_cloud cloud;
    char name[320];   /* s3://bucket */
    char bucket[256]; /* or container */
    char prefix[520]; /* "" or with a slash behind it */
    char endpoint[320];
    char region[64]; /* "": there is none, or it is not needed */
    char keys[256];  /* where they are from; "": nothing is signed */
    bool has_clock;  /* the last answer had a date */
    int64_t skew_ms; /* that date less our clock, when it is asked for at once: a second is lost */
} store_facts;

/** false: this store has nothing to say (a directory, memory). */
bool store_about(store *s, store_facts *out);

/** What a bucket does with objects behind our back. */
typedef enum store_known { STORE_UNREADABLE, STORE_OFF, STORE_ON } store_known;
typedef enum store_rule_does {
    STORE_RULE_DELETES,
    STORE_RULE_ARCHIVES, /* where they cannot be read at once any more */
    STORE_RULE_MOVES     /* to another class, which reads and prices differently */
} store_rule_does;

#define STORE_RULES_MAX 16u

/** One that is in force, on living objects, whatever their tags. */
typedef struct store_rule {
    store_rule_does does;
    char name[64];
    char prefix[STORE_KEY_MAX + 1]; /* of the names it is for, in the bucket; "": all */
} store_rule;

typedef struct store_bucket {
    store_known versions; /* what is deleted or replaced stays as an old version */
    store_known rules;
    char why[256];       /* what could not be read */
    uint64_t kept_s;     /* what is deleted is kept, and paid, for so long */
    bool old_end;        /* there is a rule that deletes old versions */
    uint32_t rule_count; /* of `list` */
    store_rule list[STORE_RULES_MAX];
} store_bucket;

/** Asks the store; what it does not tell is STORE_UNREADABLE. */
void store_bucket_ask(store *s, store_bucket *out);
/** A rule that is not listed yet, while there is room. */
void store_bucket_add(store_bucket *b, store_rule_does does, const char *name, const char *prefix);

#endif
