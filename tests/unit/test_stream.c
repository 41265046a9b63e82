/* SPDX-License-Identifier: MIT
 *
 * Streams (apps/support/stream.h) whose device is a second context of the CPU: all stages in threads, and failures of
 * each stage at every piece.
 */
#include "support.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>

#include "apps/support/die.h"
#include "apps/support/stream.h"

/* Replaces the C library's function: the call at which this count reaches 0 fails. */
static int fail_thread;

int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*start)(void *), void *argument) {
    if (fail_thread && --fail_thread == 0)
        return EAGAIN;
    int (*real)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *) =
        (int (*)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *))dlsym(RTLD_NEXT, "pthread_create");
    return real(thread, attributes, start, argument);
}

enum { PIECES = 23, SLOTS = 3, BYTES = 64 };

typedef struct stream_test {
    int pieces;
    int fail_stage, fail_piece; /* 0 to 2; -1: never */
    unsigned char in[SLOTS][BYTES], up[SLOTS][BYTES], made[SLOTS][BYTES], down[SLOTS][BYTES];
    int finished, on_host;
    bool wrong;
    const session *session;
} stream_test;

static bool read_piece(void *arg, size_t piece) {
    stream_test *t = arg;
    if ((int)piece == t->pieces)
        return false;
    memset(t->in[piece % SLOTS], (int)piece + 1, BYTES);
    return true;
}

static scan_status stage(stream_test *t, stream_lane *lane, int number, size_t piece, const unsigned char *from,
                         unsigned char *to) {
    if (!lane->on_host && number == t->fail_stage && (int)piece == t->fail_piece)
        return SCAN_ERR_DEVICE;
    if (from[0] != piece + 1 || from[BYTES - 1] != piece + 1)
        t->wrong = true;
    memcpy(to, from, BYTES);
    lane->bytes += BYTES;
    return SCAN_OK;
}

static scan_status upload(void *arg, stream_lane *lane, size_t piece) {
    stream_test *t = arg;
    return stage(t, lane, 0, piece, t->in[piece % SLOTS], t->up[piece % SLOTS]);
}

static scan_status compute(void *arg, stream_lane *lane, size_t piece) {
    stream_test *t = arg;
    size_t slot = piece % SLOTS;
    if (lane->on_host) {
        t->on_host++;
        return stage(t, lane, 1, piece, t->in[slot], t->down[slot]);
    }
    return stage(t, lane, 1, piece, t->up[slot], t->made[slot]);
}

static scan_status download(void *arg, stream_lane *lane, size_t piece) {
    stream_test *t = arg;
    return stage(t, lane, 2, piece, t->made[piece % SLOTS], t->down[piece % SLOTS]);
}

static void finish(void *arg, size_t piece) {
    stream_test *t = arg;
    if ((int)piece != t->finished || t->down[piece % SLOTS][0] != piece + 1)
        t->wrong = true;
    t->finished++;
}

/* A session as if its CPU context were a device. */
static void open_session(session *s, cli_common *common, bool device) {
    *common = (cli_common){.device = "cpu", .threads = 1};
    session_open(s, common);
    session_ready(s);
    s->opening.options = (scan_options){.struct_size = sizeof s->opening.options, .threads = 1};
    s->on_host = !device;
}

static void run_in(session *s, stream_test *t) {
    stream_run(s, &(stream_job){.subject = "input",
                                .slots = SLOTS,
                                .read = read_piece,
                                .upload = upload,
                                .compute = compute,
                                .download = download,
                                .finish = finish,
                                .arg = t});
    assert_false(t->wrong);
    assert_int_equal(t->finished, t->pieces);
}

static void run(stream_test *t, bool device) {
    session s;
    cli_common common;
    open_session(&s, &common, device);
    run_in(&s, t);
    session_close(&s);
}

static void test_every_length(void **state) {
    (void)state;
    for (int pieces = 0; pieces <= PIECES; pieces++)
        for (int device = 0; device < 2; device++) {
            stream_test t = {.pieces = pieces, .fail_stage = -1};
            run(&t, device);
            assert_int_equal(t.on_host, device ? 0 : pieces);
        }
}

/* Discards messages on stderr until talk_again(). */
static int be_quiet(void) {
    int talk = dup(STDERR_FILENO), nowhere = open("/dev/null", O_WRONLY);
    assert_true(talk >= 0 && dup2(nowhere, STDERR_FILENO) >= 0);
    close(nowhere);
    return talk;
}

static void talk_again(int talk) {
    dup2(talk, STDERR_FILENO);
    close(talk);
}

/* The CPU computes the piece that failed and all after it; of those before it only pieces that were not finished. */
static void test_failures(void **state) {
    (void)state;
    int talk = be_quiet();
    for (int number = 0; number < 3; number++)
        for (int piece = 0; piece < PIECES; piece++) {
            stream_test t = {.pieces = PIECES, .fail_stage = number, .fail_piece = piece};
            run(&t, true);
            assert_true(t.on_host >= PIECES - piece && t.on_host <= PIECES - piece + SLOTS);
        }
    talk_again(talk);
}

/* Opening another context on a device takes a while, and loads kernels. */
static scan_status download_alone(void *arg, stream_lane *lane, size_t piece) {
    stream_test *t = arg;
    if (lane->ctx != t->session->ctx)
        t->wrong = true;
    return stage(t, lane, 2, piece, t->in[piece % SLOTS], t->down[piece % SLOTS]);
}

static scan_status copy_on_host(void *arg, stream_lane *lane, size_t piece) {
    stream_test *t = arg;
    t->on_host++;
    if (!lane->on_host)
        t->wrong = true;
    return stage(t, lane, 2, piece, t->in[piece % SLOTS], t->down[piece % SLOTS]);
}

static void test_a_stage_alone_has_the_sessions_context(void **state) {
    (void)state;
    for (int piece = -1; piece < PIECES; piece += 8) {
        session s;
        cli_common common;
        open_session(&s, &common, true);
        int talk = be_quiet();
        stream_test t = {.pieces = PIECES, .fail_stage = piece < 0 ? -1 : 2, .fail_piece = piece, .session = &s};
        stream_run(&s, &(stream_job){.subject = "input",
                                     .slots = SLOTS,
                                     .read = read_piece,
                                     .download = download_alone,
                                     .on_host = copy_on_host,
                                     .finish = finish,
                                     .arg = &t});
        talk_again(talk);
        assert_false(t.wrong);
        assert_int_equal(t.finished, PIECES);
        assert_int_equal(t.on_host, piece < 0 ? 0 : PIECES - piece);
        session_close(&s);
    }
}

/* Without threads the stages follow each other in the caller's thread. */
static void test_without_threads(void **state) {
    (void)state;
    for (int at = 1; at <= 4; at++) {
        stream_test t = {.pieces = PIECES, .fail_stage = -1};
        session s;
        cli_common common;
        open_session(&s, &common, true);
        fail_thread = at;
        run_in(&s, &t);
        assert_int_equal(fail_thread, 0);
        assert_int_equal(t.on_host, 0);
        session_close(&s);
    }
}

static scan_status make_slots(void *arg, session *s, size_t n) {
    size_t *min_n = arg;
    stream_buffer buffer;
    if (n < *min_n)
        return SCAN_ERR_ARGUMENT;
    scan_status status = stream_buffer_new(s, &buffer, n);
    return status == SCAN_OK && n > *min_n && !s->on_host ? SCAN_ERR_MEMORY : status;
}

static void test_pieces(void **state) {
    (void)state;
    session s;
    cli_common common;
    open_session(&s, &common, true);
    size_t min_n = 1 << 20;
    assert_int_equal(stream_prepare(&s, "input", 1, 0, make_slots, &min_n), 1 << 20);
    min_n = 8 << 20;
    assert_int_equal(stream_prepare(&s, "input", 1, 0, make_slots, &min_n), 8 << 20);
    assert_int_equal(stream_prepare(&s, "input", 1, 1 << 30, make_slots, &min_n), 8 << 20);
    min_n = 1 << 18;
    assert_int_equal(stream_prepare(&s, "input", 4, 1000, make_slots, &min_n), 1 << 18);
    assert_int_equal(stream_prepare(&s, "input", 4, 10 << 20, make_slots, &min_n), 1 << 18);
    min_n = 1 << 19;
    assert_int_equal(stream_prepare(&s, "input", 4, 10 << 20, make_slots, &min_n), 1 << 19);
    assert_false(s.fell_back);
    session_close(&s);
}

static void die_hard(void *arg) {
    if (arg)
        die(EXIT_USAGE, "%s: line %d", (const char *)arg, 7);
}

static void test_a_death_is_kept(void **state) {
    (void)state;
    fatal_error error = {0};
    assert_true(die_catch(&error, die_hard, NULL));
    assert_false(die_catch(&error, die_hard, "a\nb"));
    assert_int_equal(error.code, EXIT_USAGE);
    assert_string_equal(error.line, "scan: a?b: line 7\n");
    assert_true(die_catch(&error, die_hard, NULL));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_length),    cmocka_unit_test(test_failures),
        cmocka_unit_test(test_without_threads), cmocka_unit_test(test_pieces),
        cmocka_unit_test(test_a_death_is_kept), cmocka_unit_test(test_a_stage_alone_has_the_sessions_context),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
