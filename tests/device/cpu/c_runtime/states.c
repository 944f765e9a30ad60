/* A decoder's states by name: words[1] is its bundle. */
#include <assert.h>
#include <string.h>
#include "kgen.h"
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
    assert(strstr(kgen_last_error(), "'past' is not an input of the program; it has 2, the first is ids") != NULL);
    assert(kgen_session_input_data(session, out) == NULL);
    kgen_session_destroy(session);
    kgen_close(bundle);
    return 0;
}
