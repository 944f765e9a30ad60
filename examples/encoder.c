/* encoder.c */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include "kgen.h"

static void check(kgen_status status)
{
    if (status == KGEN_OK)
        return;
    fprintf(stderr, "%s\n", kgen_last_error());
    exit(1);
}

int main(void)
{
    const int64_t ids[7] = {2, 7, 1, 8, 2, 8, 1}, mask[7] = {1, 1, 1, 1, 1, 1, 1}, types[7] = {0};
    kgen_bundle *bundle = NULL;
    kgen_session *session = NULL; /* the memory of one run */
    check(kgen_open("encoder.kgen", NULL, &bundle));
    check(kgen_session_create(kgen_find_program(bundle, NULL), &session));
    check(kgen_session_set_input(session, "input_ids", ids, sizeof ids));
    check(kgen_session_set_input(session, "attention_mask", mask, sizeof mask));
    check(kgen_session_set_input(session, "token_type_ids", types, sizeof types));
    check(kgen_session_run(session));

    const float *hidden = kgen_session_output_data(session, "last_hidden_state"); /* 1x7x32 */
    printf("%.3f %.3f %.3f\n", hidden[0], hidden[1], hidden[2]);
    kgen_session_destroy(session);
    kgen_close(bundle);
    return 0;
}
