/* drawn.h - patterns of the built-in topologies as GraphML files and as views of them. */
#ifndef GSA_TEST_INSPECT_DRAWN_H
#define GSA_TEST_INSPECT_DRAWN_H
#include "graph/inspect/inspect.h"
#include "topologies/pattern.h"

typedef struct drawn { /* a pattern, its instance, and what was read back */
    gsa_registry *registry;
    gsa_pattern *pattern;
    gsa_instance *instance;
    gsa_view *view;
    char path[64]; /* the GraphML, removed by drawn_end */
} drawn;

/* Text of hostile tokens: markup, quotes, Chinese, emoji, controls that XML can carry. Any number
 * of them. */
gsa_slice drawn_token(int64_t i);
/* `spec` holds no path; LEXICON in it stands for a dictionary of the tokens' Chinese. memory_length
 * is length + 2, heads
 * 3. */
drawn drawn_make(const char *spec, int32_t length, int with_text);
void drawn_end(drawn *d);
/* A view of a GraphML text; dies through Check when it is refused. */
gsa_view *drawn_view(const char *graphml);
/* Two stacks of one topology in one view, as an encoder and its decoder are drawn: kinds
 * "encoder.token", "decoder.token"; every node of the decoder's sequence reads every one of the
 * encoder's. */
gsa_view *drawn_pair(const char *spec, int32_t encoder_length, int32_t decoder_length);
/* A window of `half` tokens a side over n, as if it had been read: large graphs without a large
 * file. */
gsa_view *drawn_large(int32_t n, int32_t half);
/* The file with this text, its path in `path` (64 bytes). */
void drawn_write(char *path, const char *text, int64_t bytes);
/* The usual system, whose files need not reach the medium: hundreds of pictures a test. */
gsa_system drawn_quick_system(void);
/* The SVG of a view, to be freed with gsa_release. */
char *drawn_svg(const gsa_view *view, int style, int32_t focus);
/* As XML that these pictures are: the declaration, one root, nested tags, quoted attributes. */
int drawn_is_well_formed(const char *svg);
/* The part of the group of this class, to its end; to be freed. */
char *drawn_group(const char *svg, const char *class);

#endif
