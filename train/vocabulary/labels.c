#include "train/vocabulary/labels.h"
#include <string.h>
#include "topologies/words.h"
#include "train/data/lines.h"

/* Where `name` is or belongs among the first `count`. */
static int32_t place(const gsa_labels *labels, gsa_slice name)
{
    int32_t low = 0, high = labels->count;
    while (low < high) {
        const int32_t middle = low + (high - low) / 2;
        if (gsa_slice_compare(labels->name[middle], name) < 0) low = middle + 1;
        else high = middle;
    }
    return low;
}

int32_t gsa_labels_find(const gsa_labels *labels, gsa_slice name)
{
    const int32_t at = place(labels, name);
    return at < labels->count && gsa_slice_compare(labels->name[at], name) == 0 ? at : -1;
}

gsa_status gsa_labels_insert(gsa_labels *labels, gsa_slice name, int32_t *room, gsa_error *error)
{
    if (labels->count == *room) {
        const int32_t wanted = 2 * *room + 16;
        gsa_slice *larger =
            gsa_resize(labels->system, labels->name, (size_t)wanted, sizeof *larger);
        if (!larger) return gsa_out_of_memory(error, "labels", wanted * (int64_t)sizeof *larger);
        labels->name = larger, *room = wanted;
    }
    const int32_t at = place(labels, name);
    memmove(labels->name + at + 1, labels->name + at,
            (size_t)(labels->count - at) * sizeof *labels->name);
    labels->name[at] = name;
    labels->count++;
    return GSA_OK;
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
        if (gsa_labels_find(labels, text->label[e]) < 0)
            status = gsa_labels_insert(labels, text->label[e], &room, error);
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
        status = gsa_labels_insert(labels, gsa_vocabulary_word(counted, i), &room, error);
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
        if (count == 0 || gsa_labels_find(labels, (gsa_slice){ line, count }) >= 0)
            return gsa_fail(error, GSA_ERR_FORMAT, "%s:%lld: an empty or repeated label", path,
                            (long long)lines.number);
        status = gsa_labels_insert(labels, (gsa_slice){ line, count }, &room, error);
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
