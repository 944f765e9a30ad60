/* What a caller may get wrong, in C itself: words[1] is a bundle. */
#include <assert.h>
#include <stdio.h>
#include <string.h>
#include "kgen.h"
static void expect(kgen_status status, const char *message)
{
    printf("%d: %s\n", status, kgen_last_error());
    assert(status == KGEN_ERROR_ARGUMENT && strstr(kgen_last_error(), message) != NULL);
}
/* Handles that were not found, and are used all the same. */
static void refuse_null(void)
{
    kgen_kernel *kernel = NULL;
    kgen_session *session = NULL;
    kgen_call *call = NULL;
    int64_t number = 0;
    expect(kgen_open(NULL, NULL, NULL), "the bundle to open, or the pointer for it, is NULL");
    static const char last[] = "the kernel is NULL; the last error was: the bundle to open, or";
    expect(kgen_run(kernel, NULL, 0), last);
    expect(kgen_run_pointers(kernel, NULL, 0), last); /* the message does not grow */
    expect(kgen_run_strided(kernel, NULL, 0), last);
    expect(kgen_call_create(kernel, NULL, 0, &call), last);
    expect(kgen_pack(kernel, 0, NULL, 0, NULL, 0), last);
    expect(kgen_call_run(call), "the call is NULL");
    expect(kgen_call_run_tasks(call, 0, 0, 0), "the call is NULL");
    assert(kgen_find_kernel(NULL, "x") == NULL);
    expect(kgen_session_create(kgen_find_program(NULL, NULL), &session),
           "the program is NULL; the last error was: the bundle to open");
    expect(kgen_session_run(session), "the session is NULL");
    expect(kgen_session_profile(session, &number, 1), "the session is NULL");
    expect(kgen_session_set_input(session, "x", &number, 8), "the session is NULL");
    expect(kgen_session_set_input_strided(session, "x", &number, &number), "the session is NULL");
    expect(kgen_session_get_output(session, "x", &number, 8), "the session is NULL");
    expect(kgen_session_output_shape(session, "x", &number), "the session is NULL");
    expect(kgen_session_set_state(session, "x", &number, 8), "the session is NULL");
    expect(kgen_session_get_state(session, "x", &number, 8), "the session is NULL");
    expect(kgen_session_set_state_start(session, "x", &number, &number, 1), "the session is NULL");
    assert(kgen_session_input_data(session, "x") == NULL);
    assert(kgen_session_output_data(session, "x") == NULL);
    kgen_session_reset(session);
    assert(kgen_num_threads(NULL) == 0 && kgen_num_skipped(NULL) + kgen_num_kernels(NULL) == 0);
    assert(kgen_skipped_name(NULL, 0) == NULL && kgen_skipped_reason(NULL, 0) == NULL);
    assert(kgen_kernel_at(NULL, 0) == NULL && kgen_program_at(NULL, 0) == NULL);
    assert(kgen_kernel_key(NULL) == NULL && kgen_kernel_target(NULL) == NULL);
    assert(kgen_num_arguments(NULL) == 0 && kgen_argument(NULL, 0) == NULL);
    assert(kgen_unpacked_argument(NULL, 0) == NULL && kgen_num_launches(NULL) == 0);
    assert(kgen_num_tasks(NULL, 0) == 0 && kgen_num_programs(NULL) == 0);
    assert(kgen_program_name(NULL) == NULL && kgen_program_target(NULL) == NULL);
    assert(kgen_num_inputs(NULL) + kgen_num_outputs(NULL) + kgen_num_states(NULL) == 0);
    assert(kgen_input(NULL, 0) == NULL && kgen_output(NULL, 0) == NULL);
    assert(kgen_state(NULL, 0) == NULL && kgen_num_steps(NULL) == 0);
    assert(kgen_step_kernel(NULL, 0) == NULL && kgen_step_node(NULL, 0, 0) == NULL);
}
int main(int count, char **words)
{
    static float memory[20000] = {0};
    kgen_bundle *bundle = NULL;
    kgen_call *call = NULL;
    assert(count == 2 && kgen_open(words[1], NULL, &bundle) == KGEN_OK);
    kgen_kernel *relu = kgen_find_kernel(bundle, "relu_7x1001_f32");
    kgen_kernel *scatter = NULL;
    for (size_t i = 0; i < kgen_num_kernels(bundle); i++)
        if (strncmp(kgen_kernel_key(kgen_kernel_at(bundle, i)), "scatter", 7) == 0)
            scatter = kgen_kernel_at(bundle, i);
    size_t nbytes = 7 * 1001 * 4;
    kgen_buffer near[] = {{memory, nbytes}, {memory + 7006, nbytes}};
    expect(kgen_run(relu, near, 2), "relu_7x1001_f32: out overlaps x in memory; pass separate memory");
    near[1].data = memory + 7007;
    assert(kgen_run(relu, near, 2) == KGEN_OK);
    near[1].data = (char *)memory + 30001;
    expect(kgen_run(relu, near, 2), "expected a multiple of 4");
    near[1].data = NULL;
    expect(kgen_run(relu, near, 2), "relu_7x1001_f32: out is NULL");
    void *pointers[] = {memory, NULL};
    expect(kgen_run_pointers(relu, pointers, 2), "out is NULL");
    expect(kgen_run_pointers(relu, NULL, 2), "takes 2 arguments, got 0");
    near[1].data = memory + 7007;
    assert(kgen_call_create(relu, near, 2, &call) == KGEN_OK);
    expect(kgen_call_run_tasks(call, 1, 0, 1), "launch=1 is out of range; give 0 to 0");
    expect(kgen_call_run_tasks(call, 0, 0, 1 << 20), "tasks 0 to 1048576 are out of range; give 0 to");
    expect(kgen_call_run_tasks(call, 0, -1, 0), "tasks -1 to 0");
    assert(kgen_call_run_tasks(call, 0, 1, 1) == KGEN_OK); /* none */
    kgen_call_destroy(call);
    int32_t rows[] = {0, 1};
    kgen_buffer apart[] = {{memory, 1152}, {rows, 8}, {memory + 400, 96}, {memory + 800, 1152}};
    expect(kgen_run(scatter, apart, 4), "writes rows of table in place; pass the same memory as out");
    apart[3].data = memory;
    assert(kgen_run(scatter, apart, 4) == KGEN_OK);
    assert(kgen_argument(relu, 2) == NULL && kgen_unpacked_argument(relu, 2) == NULL);
    assert(kgen_num_tasks(relu, 1) == 0 && kgen_kernel_at(bundle, 1000) == NULL);
    assert(kgen_dtype_name((kgen_dtype)99) == NULL && kgen_dtype_size((kgen_dtype)99) == 0);
    expect(kgen_open(NULL, NULL, &bundle), "is NULL");
    expect(kgen_open(words[1], NULL, NULL), "is NULL");
    kgen_close(bundle);
    refuse_null();
    kgen_close(NULL);
    kgen_call_destroy(NULL);
    kgen_session_destroy(NULL);
    return 0;
}
