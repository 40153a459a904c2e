#include "tools/command/tokens.h"
#include "graph/index.h"
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include "graph/utf8.h"

enum { NAME = 5 }; /* "0xE4" and its end */

static int is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\v' || c == '\f';
}

/* The token that starts at or after `at`; bytes 0 at the end. */
static gsa_slice next_token(const char *at, const char *how)
{
    if (strcmp(how, "bytes") == 0) return (gsa_slice){ at, *at != 0 };
    if (strcmp(how, "chars") == 0) {
        while (*at == '\n' || *at == '\r') at++;
        return (gsa_slice){ at, *at ? gsa_utf8_length(at) : 0 };
    }
    while (is_blank(*at)) at++;
    const char *end = at;
    while (*end && !is_blank(*end)) end++;
    return (gsa_slice){ at, end - at };
}

static gsa_slice byte_label(char *name, gsa_slice byte)
{
    const unsigned char c = (unsigned char)*byte.at;
    if (c > 0x20 && c < 0x7f) return byte;
    return (gsa_slice){ name, snprintf(name, NAME, "0x%02X", c) };
}

static gsa_status fill(gsa_tokens *tokens, const char *text, const char *how, int64_t count,
                       gsa_error *error)
{
    const gsa_system *system = tokens->system;
    const int bytes = strcmp(how, "bytes") == 0;
    tokens->token = gsa_alloc_zero(system, (size_t)count, sizeof *tokens->token);
    tokens->label = gsa_alloc_zero(system, (size_t)count, sizeof *tokens->label);
    tokens->names = gsa_alloc_zero(system, bytes ? (size_t)count : 0, NAME);
    if (!tokens->token || !tokens->label || !tokens->names)
        return gsa_out_of_memory(error, "tokens", count);
    const char *at = text;
    for (int64_t i = 0; i < count; i++) {
        const gsa_slice token = next_token(at, how);
        tokens->token[i] = token;
        tokens->label[i] = bytes ? byte_label(tokens->names + i * NAME, token) : token;
        at = token.at + token.bytes;
    }
    tokens->count = (int32_t)count;
    return GSA_OK;
}

gsa_status gsa_tokens_split(const gsa_system *system, const char *option, const char *text,
                            const char *how, gsa_tokens *tokens, gsa_error *error)
{
    *tokens = (gsa_tokens){ .system = system };
    const int64_t bad = gsa_utf8_invalid(text, (int64_t)strlen(text));
    if (bad >= 0)
        return gsa_fail(error, GSA_ERR_FORMAT, "--%s is not UTF-8: byte %" PRId64 " is 0x%02X",
                        option, bad, (unsigned char)text[bad]);
    int64_t count = 0;
    for (gsa_slice token = next_token(text, how); token.bytes > 0;
         token = next_token(token.at + token.bytes, how))
        count++;
    if (count > gsa_index_most)
        return gsa_fail(error, GSA_ERR_LIMIT, "--%s has %" PRId64 " tokens, at most %d can be",
                        option, count, gsa_index_most);
    const gsa_status status = fill(tokens, text, how, count, error);
    if (status != GSA_OK) gsa_tokens_release(tokens);
    return status;
}

void gsa_tokens_release(gsa_tokens *tokens)
{
    if (!tokens->system) return;
    gsa_release(tokens->system, tokens->token);
    gsa_release(tokens->system, tokens->label);
    gsa_release(tokens->system, tokens->names);
    *tokens = (gsa_tokens){ 0 };
}
