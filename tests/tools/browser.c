/* browser.c - one Chromium at a time. */
#define _XOPEN_SOURCE 700
#include "browser.h"
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "support/suite.h"

const char *const browser_views[BROWSER_VIEWS] = { "matrix", "arcs",    "tree",
                                                   "ring",   "columns", "grid" };

enum { PATIENCE = 60000 }; /* milliseconds for one answer */

static struct {
    pid_t child;
    int to, from;
    char *text; /* bytes that came and are not read yet */
    size_t used, room;
    int number;
    char session[80], own[4096];
    char *complaints;
    double x, y;
    int held;
} browser;

static const char *program(void)
{
    const char *named = getenv("GSA_TEST_CHROMIUM");
    return named && *named ? named : "chromium";
}

int browser_is_here(void)
{
    const char *path = getenv("PATH"), *name = program();
    char whole[4096];
    if (strchr(name, '/')) return access(name, X_OK) == 0;
    while (path && *path) {
        const int length = (int)strcspn(path, ":");
        snprintf(whole, sizeof whole, "%.*s/%s", length, path, name);
        if (access(whole, X_OK) == 0) return 1;
        path += length + (path[length] == ':');
    }
    return 0;
}

/* ---- messages ------------------------------------------------------------------------------ */

static void complain(const char *what, const char *text)
{
    const size_t old = browser.complaints ? strlen(browser.complaints) : 0;
    const size_t room = old + strlen(what) + strlen(text) + 4;
    browser.complaints = realloc(browser.complaints, room);
    snprintf(browser.complaints + old, room - old, "%s: %s\n", what, text);
}

static const char *text_at(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));
    return text ? text : "";
}

static void note_event(const json_t *event)
{
    const char *method = text_at(event, "method");
    const json_t *params = json_object_get(event, "params");
    if (strcmp(method, "Runtime.consoleAPICalled") == 0) {
        char *said = json_dumps(json_object_get(params, "args"), 0);
        complain("console", said);
        free(said);
    } else if (strcmp(method, "Runtime.exceptionThrown") == 0) {
        const json_t *details = json_object_get(params, "exceptionDetails");
        complain("exception", text_at(json_object_get(details, "exception"), "description"));
    } else if (strcmp(method, "Log.entryAdded") == 0) {
        complain("log", text_at(json_object_get(params, "entry"), "text"));
    } else if (strcmp(method, "Network.requestWillBeSent") == 0) {
        const char *url = text_at(json_object_get(params, "request"), "url");
        if (strncmp(url, browser.own, strcspn(browser.own, "#")) != 0) complain("request", url);
    }
}

/* The next message, which ends with a zero byte. */
static json_t *next_message(void)
{
    json_error_t error;
    for (;;) {
        char *end = browser.used ? memchr(browser.text, 0, browser.used) : NULL;
        if (end) {
            json_t *message = json_loads(browser.text, 0, &error);
            const size_t taken = (size_t)(end - browser.text) + 1;
            ck_assert_msg(message != NULL, "the browser wrote no JSON: %s", error.text);
            memmove(browser.text, end + 1, browser.used -= taken);
            return message;
        }
        if (browser.room < browser.used + 65536)
            browser.text = realloc(browser.text, browser.room = 2 * browser.room + 65536);
        struct pollfd wait = { .fd = browser.from, .events = POLLIN };
        ck_assert_msg(poll(&wait, 1, PATIENCE) == 1, "the browser does not answer");
        const ssize_t got = read(browser.from, browser.text + browser.used, 65536);
        ck_assert_msg(got > 0, "the browser has ended");
        browser.used += (size_t)got;
    }
}

/* The result of a method; its parameters are taken over. */
static json_t *call(const char *method, json_t *params)
{
    const int number = ++browser.number;
    json_t *request =
        json_pack("{s:i, s:s, s:o}", "id", number, "method", method, "params", params);
    if (browser.session[0]) json_object_set_new(request, "sessionId", json_string(browser.session));
    char *text = json_dumps(request, JSON_COMPACT);
    const size_t bytes = strlen(text) + 1;
    for (size_t sent = 0; sent < bytes;) {
        const ssize_t some = write(browser.to, text + sent, bytes - sent);
        ck_assert_msg(some > 0, "the browser takes no message");
        sent += (size_t)some;
    }
    free(text);
    json_decref(request);
    for (;;) {
        json_t *message = next_message();
        const json_t *id = json_object_get(message, "id");
        note_event(message);
        if (id && json_integer_value(id) == number) {
            json_t *result = json_incref(json_object_get(message, "result"));
            ck_assert_msg(result != NULL, "%s: %s", method,
                          text_at(json_object_get(message, "error"), "message"));
            json_decref(message);
            return result;
        }
        json_decref(message);
    }
}

static void order(const char *method, json_t *params)
{
    json_decref(call(method, params));
}

/* ---- start and end ------------------------------------------------------------------------- */

static void become(int in, int out, const char *size)
{
    const int log = open("chromium.log", O_WRONLY | O_CREAT | O_TRUNC, 0666);
    char folder[4096], profile[4200];
    if (!getcwd(folder, sizeof folder)) _exit(126);
    snprintf(profile, sizeof profile, "--user-data-dir=%s/chromium", folder);
    setenv("TMPDIR", folder, 1);      /* nothing stays in /tmp */
    prctl(PR_SET_PDEATHSIG, SIGKILL); /* nor does a browser whose test was killed */
    /* past 3 and 4 first: one may be the other */
    const int a = fcntl(in, F_DUPFD, 10), b = fcntl(out, F_DUPFD, 10);
    if (dup2(a, 3) < 0 || dup2(b, 4) < 0 || dup2(log, 1) < 0 || dup2(log, 2) < 0) _exit(126);
    close(a), close(b);
    execlp(program(), program(), "--headless=new", "--no-sandbox", "--disable-gpu",
           "--disable-dev-shm-usage", "--hide-scrollbars", "--no-first-run",
           "--disable-background-networking", "--disable-component-update", "--disable-sync",
           "--force-device-scale-factor=1", "--remote-debugging-pipe", profile, size, "about:blank",
           (char *)NULL);
    _exit(127);
}

static void stop(void)
{
    if (browser.child > 0) {
        kill(-browser.child, SIGKILL); /* its group: renderers and all */
        waitpid(browser.child, NULL, 0);
    }
    browser.child = 0;
}

void browser_start(int width, int height)
{
    int in[2], out[2];
    char size[64];
    free(browser.text);
    free(browser.complaints);
    memset(&browser, 0, sizeof browser);
    snprintf(size, sizeof size, "--window-size=%d,%d", width, height);
    ck_assert(pipe(in) == 0 && pipe(out) == 0);
    signal(SIGPIPE, SIG_IGN);
    fflush(NULL);
    browser.child = fork();
    ck_assert_int_ge(browser.child, 0);
    if (browser.child == 0) {
        setpgid(0, 0);
        become(in[0], out[1], size);
    }
    setpgid(browser.child, browser.child);
    atexit(stop);
    close(in[0]), close(out[1]);
    browser.to = in[1], browser.from = out[0];
    json_t *made = call("Target.createTarget", json_pack("{s:s}", "url", "about:blank"));
    json_t *joined =
        call("Target.attachToTarget",
             json_pack("{s:O, s:b}", "targetId", json_object_get(made, "targetId"), "flatten", 1));
    snprintf(browser.session, sizeof browser.session, "%s", text_at(joined, "sessionId"));
    json_decref(made), json_decref(joined);
    static const char *const domains[] = { "Runtime", "Log", "Network", "Page" };
    for (int i = 0; i < GSA_COUNT(domains); i++) {
        char method[32];
        snprintf(method, sizeof method, "%s.enable", domains[i]);
        order(method, json_object());
    }
    order("Emulation.setDeviceMetricsOverride",
          json_pack("{s:i, s:i, s:i, s:b}", "width", width, "height", height, "deviceScaleFactor",
                    1, "mobile", 0));
}

char *browser_complaints(void)
{
    browser_run("0"); /* what was on its way */
    return strdup(browser.complaints ? browser.complaints : "");
}

void browser_forgive(void)
{
    free(browser.complaints);
    browser.complaints = NULL;
}

void browser_end(void)
{
    char *said = browser_complaints();
    ck_assert_msg(*said == 0, "%s", said);
    free(said);
    close(browser.to), close(browser.from);
    stop();
}

/* ---- the page ------------------------------------------------------------------------------ */

static json_t *evaluate(const char *format, va_list arguments)
{
    char text[8192];
    const int length = vsnprintf(text, sizeof text, format, arguments);
    ck_assert(length >= 0 && length < (int)sizeof text);
    json_t *result = call("Runtime.evaluate", json_pack("{s:s, s:b, s:b}", "expression", text,
                                                        "returnByValue", 1, "awaitPromise", 1));
    const json_t *wrong = json_object_get(result, "exceptionDetails");
    ck_assert_msg(wrong == NULL, "%s: %s", text,
                  text_at(json_object_get(wrong, "exception"), "description"));
    json_t *value = json_incref(json_object_get(json_object_get(result, "result"), "value"));
    json_decref(result);
    return value;
}

json_t *browser_value(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    json_t *value = evaluate(format, arguments);
    va_end(arguments);
    return value;
}

void browser_run(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    json_decref(evaluate(format, arguments));
    va_end(arguments);
}

void browser_says(const char *text, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    json_t *value = evaluate(format, arguments);
    va_end(arguments);
    ck_assert_msg(json_is_string(value) && strcmp(json_string_value(value), text) == 0,
                  "%s is '%s', expected '%s'", format,
                  json_is_string(value) ? json_string_value(value) : "no text", text);
    json_decref(value);
}

double browser_number(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    json_t *value = evaluate(format, arguments);
    va_end(arguments);
    ck_assert_msg(json_is_number(value), "%s is no number", format);
    const double number = json_number_value(value);
    json_decref(value);
    return number;
}

void browser_open(const char *path, const char *fragment)
{
    char folder[2048];
    const struct timespec pause = { 0, 20000000 };
    ck_assert_ptr_nonnull(getcwd(folder, sizeof folder));
    /* from a page of none: another fragment alone would load nothing */
    snprintf(browser.own, sizeof browser.own, "about:blank");
    order("Page.navigate", json_pack("{s:s}", "url", browser.own));
    snprintf(browser.own, sizeof browser.own, "file://%s/%s#%s", folder, path, fragment);
    order("Page.navigate", json_pack("{s:s}", "url", browser.own));
    for (int i = 0; i < PATIENCE / 20; i++) {
        if (browser_number("Number(document.documentElement?.dataset.painted === 'all')") == 1)
            return;
        nanosleep(&pause, NULL);
    }
    char *said = browser_complaints();
    ck_abort_msg("%s is not painted: %s", path, said);
}

/* ---- hand and eye -------------------------------------------------------------------------- */

static void mouse(const char *type, double delta)
{
    order("Input.dispatchMouseEvent",
          json_pack("{s:s, s:f, s:f, s:s, s:i, s:i, s:f, s:f}", "type", type, "x", browser.x, "y",
                    browser.y, "button",
                    browser.held || strcmp(type, "mouseReleased") == 0 ? "left" : "none", "buttons",
                    browser.held, "clickCount", 1, "deltaX", 0.0, "deltaY", delta));
}

void browser_move(double x, double y)
{
    browser.x = x, browser.y = y;
    mouse("mouseMoved", 0);
}

void browser_button(int down)
{
    browser.held = down;
    mouse(down ? "mousePressed" : "mouseReleased", 0);
}

void browser_wheel(double delta)
{
    mouse("mouseWheel", delta);
}

void browser_key(const char *key)
{
    json_t *down = json_pack("{s:s, s:s}", "type", "keyDown", "key", key);
    if (strlen(key) == 1) json_object_set_new(down, "text", json_string(key));
    order("Input.dispatchKeyEvent", down);
    order("Input.dispatchKeyEvent", json_pack("{s:s, s:s}", "type", "keyUp", "key", key));
}

void browser_dark(int dark)
{
    order("Emulation.setEmulatedMedia",
          json_pack("{s:[{s:s, s:s}]}", "features", "name", "prefers-color-scheme", "value",
                    dark ? "dark" : "light"));
}

void browser_shot(const char *name)
{
    const char *folder = getenv("GSA_TEST_SHOTS");
    char path[512];
    if (!folder) return;
    snprintf(path, sizeof path, "%s/%s.base64", folder, name);
    json_t *shot = call("Page.captureScreenshot", json_pack("{s:s}", "format", "png"));
    FILE *file = fopen(path, "w");
    ck_assert_ptr_nonnull(file);
    fputs(text_at(shot, "data"), file); /* base64 */
    fclose(file);
    json_decref(shot);
}
