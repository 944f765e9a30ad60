/* A model from C, without Python: opens a bundle, sets its inputs, runs it, prints the output.
 * docs/c-runtime.md says how it is built. */
#include <stdio.h>
#include <stdlib.h>

#include "kgen.h"

static void check(kgen_status status)
{
    if (status != KGEN_OK) {
        fprintf(stderr, "%s\n", kgen_last_error());
        exit(1);
    }
}

int main(void)
{
    static const int64_t ids[] = {2, 7, 1, 8, 2, 8, 1}, mask[] = {1, 1, 1, 1, 1, 1, 1}, types[7];
    kgen_bundle *bundle = NULL;
    kgen_session *session = NULL;

    check(kgen_open("encoder.kgen", NULL, &bundle)); /* NULL: every CPU of this process */
    kgen_program *program = kgen_find_program(bundle, NULL);
    check(kgen_session_create(program, &session)); /* memory of its own; weights are shared */
    check(kgen_session_set_input(session, "input_ids", ids, sizeof ids));
    check(kgen_session_set_input(session, "attention_mask", mask, sizeof mask));
    check(kgen_session_set_input(session, "token_type_ids", types, sizeof types));
    check(kgen_session_run(session));

    const kgen_tensor *hidden = kgen_output(program, 0);
    const float *values = kgen_session_output_data(session, hidden->name);
    printf("%s on %s: %s", kgen_program_name(program), kgen_program_target(program), hidden->name);
    for (int i = 0; i < hidden->rank; i++)
        printf("%s%lld", i ? "x" : " ", (long long)hidden->shape[i]);
    printf(" begins with %.4f %.4f %.4f\n", values[0], values[1], values[2]);

    kgen_session_destroy(session);
    kgen_close(bundle);
    return 0;
}
