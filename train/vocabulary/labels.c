#include "train/vocabulary/labels.h"
#include <stdlib.h>
#include <string.h>
#include "graph/index.h"
#include "topologies/words.h"
#include "train/data/lines.h"

int32_t gsa_labels_find(const gsa_labels *labels, gsa_slice name)
{
    int32_t low = 0, high = labels->count;
    while (low < high) {
        const int32_t middle = low + (high - low) / 2;
        if (gsa_slice_compare(labels->name[middle], name) < 0) low = middle + 1;
        else high = middle;
    }
    return low < labels->count && gsa_slice_compare(labels->name[low], name) == 0 ? low : -1;
}

static int by_bytes(const void *a, const void *b)
{
    return gsa_slice_compare(*(const gsa_slice *)a, *(const gsa_slice *)b);
}

void gsa_labels_sort(gsa_labels *labels)
{
    int32_t kept = 0;
    if (labels->count > 1)
        qsort(labels->name, (size_t)labels->count, sizeof *labels->name, by_bytes);
    for (int32_t i = 0; i < labels->count; i++)
        if (kept == 0 || gsa_slice_compare(labels->name[kept - 1], labels->name[i]) != 0)
            labels->name[kept++] = labels->name[i];
    labels->count = kept;
}

static gsa_status grow(gsa_labels *labels, int32_t *room, gsa_error *error)
{
    const int64_t wanted = 2 * (int64_t)*room + 16;
    if (wanted > gsa_index_most)
        return gsa_fail(error, GSA_ERR_LIMIT, "the data holds more than %d labels", *room / 2);
    gsa_slice *larger = gsa_resize(labels->system, labels->name, (size_t)wanted, sizeof *larger);
    if (!larger) return gsa_out_of_memory(error, "labels", wanted * (int64_t)sizeof *larger);
    labels->name = larger, *room = (int32_t)wanted;
    return GSA_OK;
}

/* A full array loses what is in it twice, and grows where that leaves more than half of it: a
 * sorting is paid for by as many names. */
gsa_status gsa_labels_add(gsa_labels *labels, gsa_slice name, int32_t *room, gsa_error *error)
{
    gsa_status status = GSA_OK;
    if (labels->count == *room) {
        gsa_labels_sort(labels);
        if (labels->count >= *room / 2) status = grow(labels, room, error);
    }
    if (status == GSA_OK) labels->name[labels->count++] = name;
    return status;
}

/* Copies the names into bytes of our own. */
static gsa_status own_names(gsa_labels *labels, gsa_error *error)
{
    int64_t bytes = 1;
    for (int32_t i = 0; i < labels->count; i++) bytes += labels->name[i].bytes;
    char *at = labels->bytes = gsa_alloc(labels->system, (size_t)bytes, 1);
    if (!at) return gsa_out_of_memory(error, "labels", bytes);
    for (int32_t i = 0; i < labels->count; i++) {
        memcpy(at, labels->name[i].at, (size_t)labels->name[i].bytes);
        labels->name[i].at = at;
        at += labels->name[i].bytes;
    }
    return GSA_OK;
}

static gsa_status check_count(const gsa_labels *labels, const char *path, int64_t wanted,
                              gsa_error *error)
{
    if (labels->count < 2)
        return gsa_fail(error, GSA_ERR_FORMAT,
                        "%s: the data holds %d label%s, a classifier needs at least 2", path,
                        labels->count, labels->count == 1 ? "" : "s");
    if (wanted > 0 && wanted != labels->count)
        return gsa_fail(error, GSA_ERR_FORMAT,
                        "%s: the data holds %d labels, data.classes says %lld", path, labels->count,
                        (long long)wanted);
    return GSA_OK;
}

gsa_status gsa_labels_learn(const gsa_text *text, int64_t wanted, gsa_labels *labels,
                            gsa_error *error)
{
    *labels = (gsa_labels){ .system = text->system };
    gsa_status status = GSA_OK;
    int32_t room = 0;
    for (int64_t e = 0; e < text->examples && status == GSA_OK; e++)
        status = gsa_labels_add(labels, text->label[e], &room, error);
    gsa_labels_sort(labels);
    if (status == GSA_OK) status = check_count(labels, text->path, wanted, error);
    if (status == GSA_OK) status = own_names(labels, error);
    if (status != GSA_OK) gsa_labels_release(labels);
    return status;
}

gsa_status gsa_labels_counted(const gsa_system *system, gsa_vocabulary *counted, const char *path,
                              int64_t wanted, gsa_labels *labels, gsa_error *error)
{
    int32_t room = 0;
    *labels = (gsa_labels){ .system = system };
    gsa_status status = gsa_vocabulary_freeze(counted, 1, 0, error);
    for (int32_t i = GSA_WORD_FIRST; i < gsa_vocabulary_size(counted) && status == GSA_OK; i++)
        status = gsa_labels_add(labels, gsa_vocabulary_word(counted, i), &room, error);
    gsa_labels_sort(labels);
    if (status == GSA_OK) status = check_count(labels, path, wanted, error);
    if (status == GSA_OK) status = own_names(labels, error);
    if (status != GSA_OK) gsa_labels_release(labels);
    return status;
}

static gsa_status parse(gsa_labels *labels, const char *path, char *bytes, int64_t count,
                        gsa_error *error)
{
    gsa_lines lines = gsa_lines_start(path, bytes, count);
    gsa_status status = GSA_OK;
    int32_t room = 0;
    char *line;
    while (status == GSA_OK && gsa_lines_next(&lines, &line, &count)) {
        status = gsa_lines_check(&lines, line, count, error);
        if (status != GSA_OK) break;
        const gsa_slice name = { line, count };
        if (count == 0 ||
            (labels->count && gsa_slice_compare(labels->name[labels->count - 1], name) >= 0))
            return gsa_fail(error, GSA_ERR_FORMAT,
                            "%s:%lld: a label that is empty, repeated or out of order", path,
                            (long long)lines.number);
        status = gsa_labels_add(labels, name, &room, error);
    }
    if (status == GSA_OK) status = check_count(labels, path, 0, error);
    return status == GSA_OK ? own_names(labels, error) : status;
}

gsa_status gsa_labels_read(const gsa_system *system, const char *path, gsa_labels *labels,
                           gsa_error *error)
{
    char *bytes;
    int64_t count;
    *labels = (gsa_labels){ .system = system, .read = 1 };
    gsa_status status = gsa_read_file(system, path, 1 << 30, &bytes, &count, error);
    if (status != GSA_OK) return status;
    status = parse(labels, path, bytes, count, error);
    gsa_release(system, bytes);
    if (status != GSA_OK) gsa_labels_release(labels);
    return status;
}

gsa_status gsa_labels_write(const gsa_labels *labels, gsa_checkpoint *checkpoint, gsa_error *error)
{
    gsa_output *output;
    const gsa_status status = gsa_checkpoint_file(checkpoint, "labels.txt", &output, error);
    if (status != GSA_OK) return status;
    for (int32_t i = 0; i < labels->count; i++) {
        gsa_output_write(output, labels->name[i].at, labels->name[i].bytes);
        gsa_output_text(output, "\n");
    }
    return gsa_output_commit(output, error);
}

void gsa_labels_release(gsa_labels *labels)
{
    gsa_release(labels->system, labels->bytes);
    gsa_release(labels->system, labels->name);
    *labels = (gsa_labels){ 0 };
}

gsa_status gsa_labels_map(const gsa_labels *labels, const gsa_text *text, int32_t *out,
                          gsa_error *error)
{
    char name[64], shown[GSA_SHOWN];
    for (int64_t e = 0; e < text->examples; e++) {
        out[e] = gsa_labels_find(labels, text->label[e]);
        if (out[e] >= 0) continue;
        const size_t bytes = text->label[e].bytes < 63 ? (size_t)text->label[e].bytes : 63;
        memcpy(name, text->label[e].at, bytes);
        name[bytes] = 0;
        return gsa_fail(error, GSA_ERR_FORMAT, "%s:%lld: label %s is not %s", text->path,
                        (long long)text->line[e], gsa_word_show(name, shown),
                        labels->read ? "one of the model's labels" : "in the training data");
    }
    return GSA_OK;
}
