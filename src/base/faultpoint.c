// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "base/faultpoint.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define RULES_MAX 16u
#define POINT_MAX 32u

typedef struct fault_rule {
    char point[POINT_MAX];
    int signal_number;
    uint64_t at; /* raised at this passage */
    atomic_uint_least64_t passages;
} fault_rule;

static fault_rule rules[RULES_MAX];
static uint32_t rule_count;
static atomic_bool absent; /* known that there is no rule: the way every normal process takes */
static pthread_once_t parsed = PTHREAD_ONCE_INIT;

/** `text` up to `size` as a decimal ≥ 1; 0 when it is none. */
static uint64_t parse_passage(const char *text, size_t size)
{
    if (size == 0 || size > 9)
        return 0;
    uint64_t value = 0;
    for (size_t i = 0; i < size; i++) {
        if (text[i] < '0' || text[i] > '9')
            return 0;
        value = value * 10 + (uint64_t)(text[i] - '0');
    }
    return value;
}

/** One `action:point[:n]` into `rule`; 0, or -1 when it cannot be read. */
static int parse_rule(const char *text, size_t size, fault_rule *rule)
{
    if (size < 6 || text[4] != ':')
        return -1;
    if (memcmp(text, "kill", 4) == 0)
        rule->signal_number = SIGKILL;
    else if (memcmp(text, "stop", 4) == 0)
        rule->signal_number = SIGSTOP;
    else
        return -1;
    const char *point = text + 5;
    const size_t rest = size - 5;
    const char *colon = memchr(point, ':', rest);
    const size_t point_size = colon == NULL ? rest : (size_t)(colon - point);
    if (point_size == 0 || point_size >= POINT_MAX)
        return -1;
    memcpy(rule->point, point, point_size);
    rule->point[point_size] = '\0';
    rule->at = colon == NULL ? 1 : parse_passage(colon + 1, rest - point_size - 1);
    return rule->at == 0 ? -1 : 0;
}

static void parse_variable(void)
{
    const char *text = secure_getenv("BATCHWEAVE_FAULT");
    while (text != NULL && *text != '\0') {
        const char *end = strchrnul(text, ';');
        const size_t size = (size_t)(end - text);
        if (rule_count < RULES_MAX && parse_rule(text, size, &rules[rule_count]) == 0)
            rule_count++;
        else if (size != 0)
            (void)dprintf(STDERR_FILENO, "BATCHWEAVE_FAULT: cannot use the rule '%.*s'\n",
                          size > 80 ? 80 : (int)size, text);
        text = *end == ';' ? end + 1 : end;
    }
    if (rule_count == 0)
        atomic_store(&absent, true);
}

void fault_point(const char *name)
{
    if (atomic_load_explicit(&absent, memory_order_relaxed))
        return;
    (void)pthread_once(&parsed, parse_variable);
    for (uint32_t i = 0; i < rule_count; i++) {
        fault_rule *rule = &rules[i];
        if (strcmp(rule->point, name) == 0 && atomic_fetch_add(&rule->passages, 1) + 1 == rule->at)
            (void)raise(rule->signal_number); /* at this thread: it must not get past the point */
    }
}
