/* page_data.h - the data block of a page, read back by a reader that shares nothing with the
 * writer. */
#ifndef GSA_TEST_PAGE_DATA_H
#define GSA_TEST_PAGE_DATA_H
#include <jansson.h>
#include <stdint.h>

typedef struct page_edge {
    int64_t from, to, label;
    int head_from, head_to; /* -1: not of a per-head phase */
    int sheet;
} page_edge;

typedef struct page_data {
    json_t *json;
    page_edge *edge;
    double *weight; /* [edges][columns] as the file has them: of a per-head phase in its head, else
                       0; of a pattern without weights NULL */
    int64_t edges, columns, bytes;
} page_data;

/* The JSON of a page, which has one block of it, without any '<'; the caller drops it. bytes: of
 * the file, or NULL. */
json_t *page_json(const char *path, int64_t *bytes);
/* The first picture; asserts that it has the declared shape. */
page_data page_data_read(const char *path);
void page_data_release(page_data *page);
/* "left 3": what the block calls the edge's label, or "". */
const char *page_label(const page_data *page, const page_edge *edge);
const char *page_phase(const page_data *page, const page_edge *edge);
int64_t page_layer(const page_data *page, const page_edge *edge);

#endif
