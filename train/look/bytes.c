#include <string.h>
#include "graph/utf8.h"
#include "train/data/encoding.h"
#include "train/data/lines.h"
#include "train/look/look_parts.h"

static const int64_t LARGEST = INT64_C(1) << 34;

static int starts(const gsa_look_bytes *file, const char *mark, int64_t bytes)
{
    return file->count >= bytes && memcmp(file->bytes, mark, (size_t)bytes) == 0;
}

static gsa_status fail_packed(const gsa_look_bytes *file, gsa_error *error)
{
    static const struct {
        const char *mark, *what, *how;
        int bytes;
    } packed[] = { { "\x1f\x8b", "gzip", "gunzip", 2 },
                   { "\xfd"
                     "7zXZ",
                     "xz", "unxz", 5 },
                   { "BZh", "bzip2", "bunzip2", 3 },
                   { "PK\x03\x04", "zip (a spreadsheet, too)", "unzip", 4 },
                   { "\x28\xb5\x2f\xfd", "zstd", "unzstd", 4 } };
    for (size_t i = 0; i < sizeof packed / sizeof *packed; i++)
        if (starts(file, packed[i].mark, packed[i].bytes))
            return gsa_fail(error, GSA_ERR_FORMAT,
                            "%s: the file is packed by %s, expected text: unpack it first (%s)",
                            file->path, packed[i].what, packed[i].how);
    return GSA_OK;
}

/* UTF-16 of western text has a zero in every other byte; any other zero, and many controls, are no
 * text. */
static gsa_status check_text(const gsa_look_bytes *file, gsa_error *error)
{
    int64_t zeros = 0, controls = 0;
    const int64_t looked = file->count < 1 << 20 ? file->count : 1 << 20;
    for (int64_t i = 0; i < looked; i++) {
        const unsigned char c = (unsigned char)file->bytes[i];
        zeros += c == 0;
        controls += c < 0x20 && !(c >= '\t' && c <= '\r');
    }
    if (starts(file, "\xff\xfe", 2) || starts(file, "\xfe\xff", 2) || zeros > looked / 4)
        return gsa_fail(
            error, GSA_ERR_FORMAT,
            "%s: the file is UTF-16, expected UTF-8: 'iconv -f UTF-16 -t UTF-8 %s >NEW' writes one",
            file->path, file->path);
    const char *zero = memchr(file->bytes, 0, (size_t)file->count);
    if (zero)
        return gsa_fail(error, GSA_ERR_FORMAT, "%s: the file is no text: byte %lld is zero",
                        file->path, (long long)(zero - file->bytes) + 1);
    if (memchr(file->bytes, '\r', (size_t)(file->count - 1)) &&
        !memchr(file->bytes, '\n', (size_t)file->count))
        return gsa_fail(error, GSA_ERR_FORMAT,
                        "%s: its lines end with a carriage return alone: 'tr \"\\r\" \"\\n\" <%s "
                        ">NEW' writes lines",
                        file->path, file->path);
    if (controls <= looked / 100) return GSA_OK;
    return gsa_fail(error, GSA_ERR_FORMAT,
                    "%s: the file is no text: %lld of its first %lld bytes are control characters",
                    file->path, (long long)controls, (long long)looked);
}

gsa_status gsa_look_read(const gsa_system *system, const char *path, gsa_look_bytes *file,
                         gsa_error *error)
{
    *file = (gsa_look_bytes){ .path = path };
    gsa_status status = gsa_read_file(system, path, LARGEST, &file->bytes, &file->count, error);
    if (status != GSA_OK) return status;
    const char *at = file->bytes, *const end = at + file->count;
    while (at < end && (unsigned char)*at <= ' ') at++;
    if (file->count == 0) status = gsa_fail(error, GSA_ERR_FORMAT, "%s: the file is empty", path);
    if (status == GSA_OK) status = fail_packed(file, error);
    if (status == GSA_OK) status = check_text(file, error);
    if (status == GSA_OK && at == end)
        status = gsa_fail(error, GSA_ERR_FORMAT, "%s: the file holds blanks alone", path);
    if (status == GSA_OK && gsa_utf8_invalid(file->bytes, file->count) >= 0) {
        file->encoding = GSA_ENCODING_MIXED;
        status =
            gsa_encoding_decode(system, path, file->encoding, &file->bytes, &file->count, error);
    }
    if (status != GSA_OK) gsa_release(system, file->bytes), file->bytes = NULL;
    return status;
}

int gsa_look_is_recipe(const char *bytes, int64_t count)
{
    gsa_lines lines =
        gsa_lines_start("", (char *)(uintptr_t)bytes, count); /* which writes nothing */
    char *line;
    while (gsa_lines_next(&lines, &line, &count)) {
        while (count > 0 && (*line == ' ' || *line == '\t')) line++, count--;
        while (count > 0 && (line[count - 1] == ' ' || line[count - 1] == '\t')) count--;
        if (count == 0 || *line == '#' || *line == ';') continue;
        if (*line != '[' || line[count - 1] != ']' || count < 3) return 0;
        for (int64_t i = 1; i + 1 < count; i++)
            if (!strchr("abcdefghijklmnopqrstuvwxyz0123456789_. ", line[i])) return 0;
        return 1;
    }
    return 0;
}
