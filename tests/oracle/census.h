/* census.h - which parts of the law a model exercises. */
#ifndef ORACLE_CENSUS_H
#define ORACLE_CENSUS_H
#include "invent.h"

enum { ORACLE_FEATURES = 128 };
typedef struct oracle_features {
    int count;
    const char *name[ORACLE_FEATURES];
    int models[ORACLE_FEATURES]; /* that have it */
} oracle_features;

/* Adds one model's features; every feature that exists has its line after the first call. */
void oracle_count_features(const oracle_model *model, oracle_features *features);

#endif
