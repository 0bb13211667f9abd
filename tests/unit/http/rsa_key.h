// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/** An RSA key of a test, made anew in each process: none lies in the tree. */
#ifndef RSA_KEY_H
#define RSA_KEY_H

#include <stdbool.h>
#include <stddef.h>

typedef struct rsa_key rsa_key;

rsa_key *rsa_key_new(void);
void rsa_key_free(rsa_key *k);
/** PKCS #8 in PEM; with a password when `password` is not NULL. Until the key's end. */
const char *rsa_key_pem(rsa_key *k, const char *password);
/** Whether the signature of a JSON Web Token is of this key; what it says goes to `head` and
 * `claims`. */
bool rsa_key_signed(rsa_key *k, const char *token, char *head, char *claims, size_t capacity);

#endif
