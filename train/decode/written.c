#include "train/decode/written.h"
#include <string.h>
#include "graph/utf8.h"
#include "train/settings/keys.h"

static gsa_status put(const gsa_system *system, gsa_written *w, const char *text, int64_t bytes,
                      gsa_error *error)
{
    if (bytes > w->room - w->bytes) {
        const int64_t room = 2 * (w->bytes + bytes) + 64;
        char *more = gsa_resize(system, w->text, (size_t)room, 1);
        if (!more) return gsa_out_of_memory(error, "a text", room);
        w->text = more, w->room = room;
    }
    memcpy(w->text + w->bytes, text, (size_t)bytes);
    w->bytes += bytes;
    return GSA_OK;
}

/* Can bytes be appended so that these become one character? */
static int is_beginning(const char *at, int count)
{
    static const char tails[][4] = { "\x80\x80\x80", "\xa0\x80\x80", "\x90\x80\x80" };
    for (size_t t = 0; t < sizeof tails / sizeof *tails; t++)
        for (int more = 1; count + more <= 4; more++) {
            char whole[4];
            memcpy(whole, at, (size_t)count);
            if (count == 1) memcpy(whole + 1, tails[t], (size_t)more);
            else memset(whole + count, 0x80, (size_t)more);
            if (gsa_utf8_invalid(whole, count + more) < 0 && gsa_utf8_length(whole) == count + more)
                return 1;
        }
    return 0;
}

static gsa_status put_byte(const gsa_system *system, gsa_written *w, char byte, gsa_error *error)
{
    gsa_status status = GSA_OK;
    w->wait[w->waiting++] = byte;
    if (gsa_utf8_invalid(w->wait, w->waiting) < 0) {
        status = put(system, w, w->wait, w->waiting, error);
        w->waiting = 0;
    } else if (w->waiting == 4 || !is_beginning(w->wait, w->waiting)) {
        const int again = w->waiting > 1; /* the last byte may begin another */
        w->waiting = 0;
        status = put(system, w, "\xef\xbf\xbd", 3, error);
        if (status == GSA_OK && again) status = put_byte(system, w, byte, error);
    }
    return status;
}

gsa_status gsa_written_token(const gsa_system *system, gsa_written *w, int32_t id, gsa_error *error)
{
    char room[4];
    const gsa_slice text = gsa_units_text(w->units, id, room);
    const int word = w->units->kind == GSA_TOKENS_WORDS,
              line_end = id == w->units->line_end && id > 0;
    gsa_status status = GSA_OK;
    if (word && w->blank && !line_end) status = put(system, w, " ", 1, error);
    w->blank = !line_end;
    if (w->raw || w->units->kind != GSA_TOKENS_BYTES)
        return status == GSA_OK ? put(system, w, text.at, text.bytes, error) : status;
    for (int64_t i = 0; i < text.bytes && status == GSA_OK; i++)
        status = put_byte(system, w, text.at[i], error);
    return status;
}

gsa_status gsa_written_end(const gsa_system *system, gsa_written *w, gsa_error *error)
{
    if (w->waiting == 0) return GSA_OK;
    w->waiting = 0;
    return put(system, w, "\xef\xbf\xbd", 3, error);
}

void gsa_written_release(const gsa_system *system, gsa_written *w)
{
    gsa_release(system, w->text);
    *w = (gsa_written){ 0 };
}
