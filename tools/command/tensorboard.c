/* tensorboard.c - logs of runs as event files that TensorBoard reads. A file is records, each of
 * bytes (8), checksum of these (4), the record, its checksum (4), little-endian; checksums are
 * CRC-32C, masked as TensorFlow's record_writer.h does. A record is an Event of event.proto: wall
 * time (1), step (2), file version (3) or a Summary (5) of values with tag (1) and number (2). */
#include <stdio.h>
#include <string.h>
#include "graph/anchor.h"
#include "graph/system_parts.h"
#include "tools/command/report.h"
#include "tools/command/verbs.h"
#include "train/driver/lock.h"
#include "train/driver/trainer.h"

#define EVENTS "events.out.tfevents.0.gsa"
enum { RECORD = 1024, TAG = 256 };

typedef struct record {
    unsigned char bytes[RECORD];
    size_t count;
} record;

/* ---- records ------------------------------------------------------------------------------- */

static uint32_t masked_checksum(const unsigned char *bytes, size_t count)
{
    uint32_t crc = UINT32_MAX;
    for (size_t i = 0; i < count; i++) {
        crc ^= bytes[i];
        for (int bit = 0; bit < 8; bit++) crc = crc >> 1 ^ (crc & 1 ? 0x82f63b78u : 0);
    }
    crc = ~crc;
    return (crc >> 15 | crc << 17) + 0xa282ead8u;
}

static void put_fixed(record *r, uint64_t value, int bytes)
{
    for (int i = 0; i < bytes; i++) r->bytes[r->count++] = (unsigned char)(value >> 8 * i);
}

static void put_varint(record *r, uint64_t value)
{
    for (; value > 127; value >>= 7) r->bytes[r->count++] = (unsigned char)(value | 128);
    r->bytes[r->count++] = (unsigned char)value;
}

/* Field 1, 64 bits: the wall time. */
static void put_time(record *r, double seconds)
{
    uint64_t bits;
    memcpy(&bits, &seconds, sizeof bits);
    put_varint(r, 1 << 3 | 1);
    put_fixed(r, bits, 8);
}

static void put_bytes(record *r, int field, const void *bytes, size_t count)
{
    put_varint(r, (uint64_t)field << 3 | 2);
    put_varint(r, count);
    memcpy(r->bytes + r->count, bytes, count);
    r->count += count;
}

static void write_record(gsa_output *out, const record *r)
{
    record head = { .count = 0 }, foot = { .count = 0 };
    put_fixed(&head, r->count, 8);
    put_fixed(&head, masked_checksum(head.bytes, 8), 4);
    put_fixed(&foot, masked_checksum(r->bytes, r->count), 4);
    gsa_output_write(out, head.bytes, (int64_t)head.count);
    gsa_output_write(out, r->bytes, (int64_t)r->count);
    gsa_output_write(out, foot.bytes, (int64_t)foot.count);
}

/* ---- a log --------------------------------------------------------------------------------- */

static void write_value(gsa_output *out, double seconds, json_int_t step, const char *tag,
                        double number)
{
    record value = { .count = 0 }, summary = { .count = 0 }, event = { .count = 0 };
    const float real = (float)number;
    uint32_t bits;
    memcpy(&bits, &real, sizeof bits);
    put_bytes(&value, 1, tag, strnlen(tag, TAG));
    put_varint(&value, 2 << 3 | 5);
    put_fixed(&value, bits, 4);
    put_bytes(&summary, 1, value.bytes, value.count);
    put_time(&event, seconds);
    put_varint(&event, 2 << 3);
    put_varint(&event, (uint64_t)step);
    put_bytes(&event, 5, summary.bytes, summary.count);
    write_record(out, &event);
}

/* Every number of a line but the step and the time is a value of its key. */
static void write_line(gsa_output *out, json_t *line)
{
    const json_t *step = json_object_get(line, "step");
    const double seconds = json_number_value(json_object_get(line, "seconds"));
    const char *key;
    json_t *value;
    if (!json_is_integer(step)) return;
    json_object_foreach (line, key, value) {
        if (!json_is_number(value) || strcmp(key, "step") == 0 || strcmp(key, "seconds") == 0)
            continue;
        write_value(out, seconds, json_integer_value(step), key, json_number_value(value));
    }
}

static void write_log(gsa_output *out, const json_t *log)
{
    static const char version[] = "brain.Event:2";
    record first = { .count = 0 };
    put_time(&first, 0);
    put_bytes(&first, 3, version, sizeof version - 1);
    write_record(out, &first);
    for (size_t i = 0; i < json_array_size(log); i++) write_line(out, json_array_get(log, i));
}

/* The run's path as the name of one folder. */
static void folder_of(const json_t *run, char *name, size_t room)
{
    snprintf(name, room, "%s", json_string_value(json_object_get(run, "name")));
    for (char *c = name; *c; c++)
        if (*c == '/' || *c == '\\' || (c == name && *c == '.')) *c = '_';
}

static gsa_status write_run(const gsa_system *system, const char *folder, const json_t *run,
                            gsa_error *error)
{
    char name[TAG];
    gsa_output *out = NULL;
    folder_of(run, name, sizeof name);
    char *own = gsa_path_join(system, folder, name, error);
    char *path = own ? gsa_path_join(system, own, EVENTS, error) : NULL;
    gsa_status status = path ? gsa_check_below(system, folder, own, error) : GSA_ERR_MEMORY;
    if (status == GSA_OK) status = gsa_make_folders(system, own, error);
    if (status == GSA_OK) status = gsa_output_open_own(system, path, &out, error);
    if (status == GSA_OK) {
        write_log(out, json_object_get(run, "log"));
        status = gsa_output_commit(out, error);
    }
    gsa_release(system, path);
    gsa_release(system, own);
    return status;
}

/* The run's events would be in a checkpoint, or the page would take their place, or they its. */
static gsa_status check_run(const gsa_system *system, const char *folder, const json_t *run,
                            const char *page, gsa_error *error)
{
    char name[TAG], own[GSA_PATH_ROOM], events[GSA_PATH_ROOM + sizeof EVENTS];
    folder_of(run, name, sizeof name);
    snprintf(own, sizeof own, "%s/%s", folder, name);
    snprintf(events, sizeof events, "%s/" EVENTS, own);
    gsa_status status = gsa_check_outside(system, own, error);
    if (status == GSA_OK) status = gsa_check_stream(system, events, error);
    if (status == GSA_OK) status = gsa_check_appended(system, events, error);
    if (status != GSA_OK) return gsa_fail_at(error, status, "--tensorboard %s", folder);
    if (!gsa_is_one_output(system, events, page)) return GSA_OK;
    return gsa_fail(error, GSA_ERR_ARGUMENT,
                    "--out and --tensorboard both name '%s': one of the two would be lost", events);
}

gsa_status gsa_tensorboard_check(const gsa_system *system, const char *folder, const json_t *runs,
                                 const char *page, gsa_error *error)
{
    char a[TAG], b[TAG];
    gsa_status status = GSA_OK;
    for (size_t i = 0; i < json_array_size(runs); i++)
        for (size_t j = 0; j < i; j++) {
            folder_of(json_array_get(runs, i), a, sizeof a);
            folder_of(json_array_get(runs, j), b, sizeof b);
            if (strcmp(a, b) == 0)
                return gsa_fail(error, GSA_ERR_ARGUMENT,
                                "runs %zu and %zu would both be '%s' in %s", j + 1, i + 1, a,
                                folder);
        }
    for (size_t i = 0; i < json_array_size(runs) && status == GSA_OK; i++)
        status = check_run(system, folder, json_array_get(runs, i), page, error);
    return status;
}

gsa_status gsa_tensorboard_write(const gsa_system *system, const char *folder, const json_t *runs,
                                 gsa_error *error)
{
    gsa_anchor *held = NULL;
    gsa_status status = gsa_make_folders(system, folder, error);
    if (status == GSA_OK) status = gsa_anchor_open(system, system, folder, &held, error);
    for (size_t i = 0; i < json_array_size(runs) && status == GSA_OK; i++)
        status = write_run(gsa_anchor_system(held, system), folder, json_array_get(runs, i), error);
    gsa_anchor_close(held);
    return status;
}
