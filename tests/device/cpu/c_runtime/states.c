/* A decoder's states by name: words[1] is its bundle. */
#include <assert.h>
#include <string.h>
#include "kgen.h"

/* The start of a state (2x12x8 f32) from an array that is shorter along one axis. */
static void starts(kgen_session *session, const kgen_tensor *state)
{
    float set[2][12][8], got[2][12][8];
    for (int i = 0; i < 2 * 12 * 8; i++)
        ((float *)set)[i] = (float)(1 + i);
    const struct {
        int64_t shape[3];
    } shorter[] = {{{2, 3, 8}}, {{2, 0, 8}}, {{1, 12, 8}}, {{2, 12, 5}}, {{2, 12, 8}}};
    for (size_t s = 0; s < 5; s++) {
        const int64_t *n = shorter[s].shape;
        assert(kgen_session_set_state_start(session, state->name, set, n, 3) == KGEN_OK);
        assert(kgen_session_get_state(session, state->name, got, sizeof got) == KGEN_OK);
        for (int64_t a = 0; a < 2; a++)
            for (int64_t b = 0; b < 12; b++)
                for (int64_t c = 0; c < 8; c++)
                    assert(got[a][b][c] == (a < n[0] && b < n[1] && c < n[2]
                                                ? 1 + (float)((a * n[1] + b) * n[2] + c)
                                                : 0));
    }
    const int64_t longer[3] = {2, 13, 8}, two[3] = {1, 3, 8}, negative[3] = {2, -1, 8};
    assert(kgen_session_set_state_start(session, state->name, set, longer, 3) != KGEN_OK);
    assert(strstr(kgen_last_error(), "has 12 positions along axis 1, and this array has 13") != NULL);
    assert(kgen_session_set_state_start(session, state->name, set, two, 3) != KGEN_OK);
    assert(strstr(kgen_last_error(), "has shape 1x3x8; expected 2x12x8, or less along one axis"));
    assert(kgen_session_set_state_start(session, state->name, set, negative, 3) != KGEN_OK);
    assert(kgen_session_set_state_start(session, state->name, set, longer + 1, 2) != KGEN_OK);
    assert(kgen_session_set_state_start(session, state->name, NULL, longer, 3) != KGEN_OK);
    assert(kgen_session_set_state_start(session, state->name, set, NULL, 3) != KGEN_OK);
    assert(kgen_session_set_state_start(session, "no", set, longer, 3) == KGEN_ERROR_NOT_FOUND);
    assert(strstr(kgen_last_error(), "'no' is not a state; states are past.0.key, ") != NULL);
    assert(kgen_session_get_state(session, state->name, set, sizeof set) == KGEN_OK);
    assert(memcmp(set, got, sizeof got) == 0); /* a refusal changes nothing */
}

int main(int count, char **words)
{
    kgen_bundle *bundle = NULL;
    kgen_session *session = NULL;
    assert(count == 2 && kgen_open(words[1], NULL, &bundle) == KGEN_OK);
    kgen_program *program = kgen_find_program(bundle, NULL);
    assert(kgen_session_create(program, &session) == KGEN_OK);
    const kgen_tensor *state = kgen_state(program, 0);
    static unsigned char set[1 << 16], got[1 << 16], output[1 << 20], other[1 << 20];
    assert(state->nbytes <= sizeof set && kgen_output(program, 0)->nbytes <= sizeof output);
    const char *out = kgen_output(program, 0)->name;
    size_t nbytes = kgen_output(program, 0)->nbytes;
    int64_t place = 2, token = 3;
    assert(kgen_session_set_input(session, "pos", &place, 8) == KGEN_OK);
    assert(kgen_session_set_input(session, "ids", &token, 8) == KGEN_OK);
    assert(kgen_session_run(session) == KGEN_OK);
    assert(kgen_session_get_output(session, out, output, nbytes) == KGEN_OK);
    /* Half of what was kept of earlier tokens: a float of 0.5 in every place. */
    for (size_t i = 0; i < state->nbytes; i += 4)
        memcpy(set + i, "\0\0\0\77", 4);
    assert(kgen_session_set_state(session, state->name, set, state->nbytes) == KGEN_OK);
    assert(kgen_session_get_state(session, state->name, got, state->nbytes) == KGEN_OK);
    assert(memcmp(set, got, state->nbytes) == 0);
    assert(kgen_session_run(session) == KGEN_OK);
    assert(memcmp(output, kgen_session_output_data(session, out), nbytes) != 0);
    kgen_session_reset(session);
    assert(kgen_session_get_state(session, state->name, got, state->nbytes) == KGEN_OK);
    assert(memchr(got, 63, state->nbytes) == NULL);
    memcpy(kgen_session_input_data(session, "ids"), &token, 8);
    assert(kgen_session_run(session) == KGEN_OK);
    assert(kgen_session_get_output(session, out, other, nbytes) == KGEN_OK);
    assert(memcmp(output, other, nbytes) == 0);
    assert(kgen_session_set_state(session, state->name, set, 3) == KGEN_ERROR_ARGUMENT);
    assert(strstr(kgen_last_error(), "bytes, and the call gives 3") != NULL);
    assert(kgen_session_set_input(session, "past", set, 3) == KGEN_ERROR_NOT_FOUND);
    assert(strstr(kgen_last_error(), "'past' is not an input; inputs are ids, pos") != NULL);
    assert(kgen_session_input_data(session, out) == NULL);
    starts(session, state);
    kgen_session_destroy(session);
    kgen_close(bundle);
    return 0;
}
