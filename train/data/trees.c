/* trees.c - Stanford Sentiment Treebank trees: (label word) or (label node node ...), one tree a
 * line. Explicit stack, so that no depth is too deep. */
#include <string.h>
#include <strings.h>
#include "train/data/text.h"

/* Phrases of a deep tree hold each other's tokens, again and again: so many a byte of the file. */
enum { A_BYTE = 8, FEW = 1 << 20 };

typedef struct open_node {
    gsa_slice label;
    int64_t first;        /* token */
    int32_t nodes, words; /* seen inside */
} open_node;

typedef struct tree {
    gsa_text_reader *reader;
    char *line;
    int64_t bytes, at;
    open_node *open;
    int64_t depth, room;
} tree;

int64_t gsa_tree_unescape(char *word, int64_t bytes, int escapes)
{
    static const struct {
        const char *name;
        char mark;
    } brackets[] = { { "-lrb-", '(' }, { "-rrb-", ')' }, { "-lsb-", '[' },
                     { "-rsb-", ']' }, { "-lcb-", '{' }, { "-rcb-", '}' } };
    for (size_t i = 0; bytes == 5 && i < sizeof brackets / sizeof *brackets; i++) {
        if (strncasecmp(word, brackets[i].name, 5) != 0) continue;
        word[0] = brackets[i].mark;
        return 1;
    }
    if (!escapes || !memchr(word, '\\', (size_t)bytes)) return bytes;
    int64_t used = 0;
    for (int64_t i = 0; i < bytes; i++) {
        if (word[i] == '\\' && i + 1 < bytes && (word[i + 1] == '/' || word[i + 1] == '*'))
            continue;
        word[used++] = word[i];
    }
    return used;
}

static void skip_blanks(tree *t)
{
    while (t->at < t->bytes && (t->line[t->at] == ' ' || t->line[t->at] == '\t')) t->at++;
}

static gsa_slice take_word(tree *t)
{
    const int64_t first = t->at;
    while (t->at < t->bytes && !strchr(" \t()", t->line[t->at])) t->at++;
    return (gsa_slice){ t->line + first, t->at - first };
}

static gsa_status open_one(tree *t, gsa_error *error)
{
    if (t->depth == t->room) {
        const int64_t room = 2 * t->room + 64;
        open_node *larger =
            gsa_resize(t->reader->text->system, t->open, (size_t)room, sizeof *larger);
        if (!larger)
            return gsa_out_of_memory(error, t->reader->text->path, room * (int64_t)sizeof *larger);
        t->open = larger, t->room = room;
    }
    t->at++;
    skip_blanks(t);
    const gsa_slice label = take_word(t);
    if (label.bytes == 0)
        return gsa_text_fail(t->reader, error, "a node at byte %lld has no label",
                             (long long)t->at + 1);
    if (t->depth > 0) t->open[t->depth - 1].nodes++;
    t->open[t->depth++] = (open_node){ label, t->reader->words, 0, 0 };
    return GSA_OK;
}

static gsa_status close_one(tree *t, gsa_error *error)
{
    const open_node node = t->open[--t->depth];
    const gsa_text_options *options = t->reader->options;
    const int64_t count = t->reader->words - node.first;
    t->at++;
    if (node.nodes + node.words == 0)
        return gsa_text_fail(t->reader, error, "the node that ends at byte %lld is empty",
                             (long long)t->at);
    if (t->depth > 0 && (!options->subtrees || count < options->phrase_min)) return GSA_OK;
    const int64_t held = t->reader->text->tokens + count, most = FEW + A_BYTE * t->reader->bytes;
    if (held > most)
        return gsa_text_fail(t->reader, error,
                             "the phrases up to here hold %lld tokens, expected at most %lld, %d a "
                             "byte of the file: take a larger data.phrase_min, or data.subtrees "
                             "= 0",
                             (long long)held, (long long)most, A_BYTE);
    return gsa_text_add(t->reader, node.label, node.first, t->reader->words, error);
}

static gsa_status leaf(tree *t, gsa_error *error)
{
    open_node *node = &t->open[t->depth - 1];
    const int64_t first = t->at;
    const gsa_slice word = take_word(t);
    if (node->nodes > 0 || node->words > 0)
        return gsa_text_fail(t->reader, error,
                             "a word at byte %lld where the node must end or a node must start",
                             (long long)first + 1);
    node->words = 1;
    return gsa_text_tokenize(t->reader, t->line + first, word.bytes, error);
}

static gsa_status step(tree *t, gsa_error *error)
{
    const char c = t->line[t->at];
    if (t->depth == 0)
        return gsa_text_fail(t->reader, error, "more text at byte %lld after the tree's end",
                             (long long)t->at + 1);
    if (c == '(' && t->open[t->depth - 1].words > 0)
        return gsa_text_fail(t->reader, error, "a node at byte %lld inside a leaf",
                             (long long)t->at + 1);
    return c == '(' ? open_one(t, error) : c == ')' ? close_one(t, error) : leaf(t, error);
}

gsa_status gsa_tree_read(gsa_text_reader *reader, char *line, int64_t bytes, gsa_error *error)
{
    tree t = { .reader = reader, .line = line, .bytes = bytes };
    gsa_status status = GSA_OK;
    skip_blanks(&t);
    if (t.at == bytes || line[t.at] != '(')
        return gsa_text_fail(reader, error, "the line is no tree: it does not start with '('");
    status = open_one(&t, error);
    while (status == GSA_OK) {
        skip_blanks(&t);
        if (t.at == bytes) break;
        status = step(&t, error);
    }
    if (status == GSA_OK && t.depth > 0)
        status = gsa_text_fail(reader, error, "the tree is not closed: %lld ')' missing",
                               (long long)t.depth);
    gsa_release(reader->text->system, t.open);
    return status;
}
