/* xml.h - a strict reader of the little XML that a GraphML writer may use: one root, nested tags,
 * quoted attributes, the five entities and &#13;, comments without "--". Shares nothing with the
 * writer. */
#ifndef GSA_TEST_XML_H
#define GSA_TEST_XML_H
#include <stdint.h>

/* The text of the n-th <data key="..."> (to be freed), CR and CRLF outside entities read as LF;
 * NULL when the document is not well-formed or has no such data. */
char *xml_data(const char *document, const char *key, int nth);
/* The numbers of every <data key="..."> in order (to be freed); NULL when the document is not
 * well-formed. */
double *xml_numbers(const char *document, const char *key, int64_t *count);
/* Elements of the name; -1 when the document is not well-formed. */
int64_t xml_count(const char *document, const char *name);

typedef struct xml_edge {
    int64_t from, to, phase, label, head_from, head_to; /* heads: -1 where they are not written */
    int used;
} xml_edge;
/* All edges (to be freed); NULL when the document is not well-formed. */
xml_edge *xml_edges(const char *document, int64_t *count);

#endif
