/* Inputs that were never set, strides, profiles, versions and empty tensors: words[1] is the bundle
 * of a program of several steps, words[2] that of kernels, words[3] that of a program with empty
 * tensors and an output whose size depends on data, words[4] that of one without steps. */
#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "kgen.h"

static float values[7 * 1001], turned[7 * 1001], odd[7 * 1001 + 1], out[7 * 1001], wanted[7 * 1001];

static void check_program(kgen_program *program)
{
    kgen_session *session = NULL;
    const kgen_tensor *input = kgen_input(program, 0);
    int64_t nanoseconds[64] = {0}, strides[2] = {1, 0};
    size_t steps = kgen_num_steps(program);
    assert(input->rank == 2 && steps > 1 && steps <= 64 && kgen_num_inputs(program) == 1);
    int64_t rows = input->shape[0], columns = input->shape[1];
    strides[1] = rows;
    assert(kgen_session_create(program, &session) == KGEN_OK);
    const char *never = "input x was never set; call kgen_session_set_input before the run";
    assert(kgen_session_run(session) == KGEN_ERROR_ARGUMENT);
    assert(strstr(kgen_last_error(), never) != NULL);
    assert(kgen_session_profile(session, nanoseconds, steps) == KGEN_ERROR_ARGUMENT);
    assert(strstr(kgen_last_error(), never) != NULL);
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < columns; j++)
            values[i * columns + j] = turned[j * rows + i] = (float)(i * 3 + j % 5) - 2;
    assert(kgen_session_set_input(session, "x", values, input->nbytes) == KGEN_OK);
    assert(kgen_session_run(session) == KGEN_OK);
    size_t nbytes = kgen_output(program, 0)->nbytes;
    const char *result = kgen_output(program, 0)->name;
    assert(nbytes <= sizeof wanted);
    assert(kgen_session_get_output(session, result, wanted, nbytes) == KGEN_OK);

    /* The transposed matrix, read along its columns; all steps are measured, and computed. */
    memset(kgen_session_input_data(session, "x"), 0, input->nbytes);
    assert(kgen_session_set_input_strided(session, "x", turned, strides) == KGEN_OK);
    assert(kgen_session_profile(session, nanoseconds, steps) == KGEN_OK);
    assert(memcmp(kgen_session_output_data(session, result), wanted, nbytes) == 0);
    for (size_t i = 0; i < steps; i++) {
        assert(nanoseconds[i] > 0 && kgen_step_kernel(program, i) != NULL);
        assert(strlen(kgen_kernel_key(kgen_step_kernel(program, i))) > 0);
        for (size_t n = 0; n < kgen_num_step_nodes(program, i); n++)
            printf("%s ", kgen_step_node(program, i, n));
        assert(kgen_step_node(program, i, kgen_num_step_nodes(program, i)) == NULL);
    }
    assert(kgen_step_kernel(program, steps) == NULL && kgen_num_step_nodes(program, steps) == 0);
    assert(kgen_session_profile(session, nanoseconds, steps + 1) == KGEN_ERROR_ARGUMENT);
    assert(kgen_session_profile(session, NULL, steps) == KGEN_ERROR_ARGUMENT);
    assert(kgen_session_set_input_strided(session, "x", NULL, NULL) == KGEN_ERROR_ARGUMENT);
    assert(kgen_session_set_input_strided(session, "y", values, NULL) == KGEN_ERROR_NOT_FOUND);
    kgen_session_destroy(session);

    /* Memory that a caller asked for counts as set. */
    assert(kgen_session_create(program, &session) == KGEN_OK);
    memcpy(kgen_session_input_data(session, "x"), values, input->nbytes);
    assert(kgen_session_run(session) == KGEN_OK);
    assert(memcmp(kgen_session_output_data(session, result), wanted, nbytes) == 0);
    kgen_session_destroy(session);
}

/* An input and an output without elements, and an input of 2 x 3. */
static void check_empty(kgen_program *program)
{
    kgen_session *session = NULL;
    const float x[6] = {0, 1, 0, 3, 0, 5}; /* no more places of numbers than there is room for */
    const int64_t strides[2] = {3, 1};
    float present[6] = {0};
    assert(kgen_input(program, 0)->nbytes == 0 && kgen_input(program, 0)->shape[0] == 0);
    assert(kgen_session_create(program, &session) == KGEN_OK);
    assert(kgen_session_set_input(session, "x", x, sizeof x) == KGEN_OK);
    assert(kgen_session_run(session) == KGEN_ERROR_ARGUMENT);
    assert(kgen_session_set_input(session, "past", NULL, 4) == KGEN_ERROR_ARGUMENT);
    assert(strstr(kgen_last_error(), "past has 0 bytes, and the call gives 4") != NULL);
    assert(kgen_session_set_input(session, "past", NULL, 0) == KGEN_OK);
    assert(kgen_session_set_input_strided(session, "past", NULL, strides) == KGEN_OK);
    assert(kgen_session_input_data(session, "past") != NULL);
    assert(kgen_session_run(session) == KGEN_OK);
    assert(kgen_session_get_output(session, "present", present, sizeof present) == KGEN_OK);
    assert(kgen_session_get_output(session, "none", NULL, 0) == KGEN_OK);
    assert(kgen_session_get_output(session, "none", present, 4) == KGEN_ERROR_ARGUMENT);
    for (int i = 0; i < 6; i++)
        assert(present[i] == -x[i]);
    kgen_session_destroy(session);
}

/* Places of numbers other than 0, of which there is room for 3. */
static void check_sizes(kgen_program *program)
{
    kgen_session *session = NULL;
    float x[2][3] = {{0, 1, 0}, {0, 0, 2}};
    int64_t shape[2] = {-1, -1}, nanoseconds[64];
    assert(kgen_session_create(program, &session) == KGEN_OK);
    assert(kgen_session_set_input(session, "past", NULL, 0) == KGEN_OK);
    for (int more = 0; more < 3; more++) {
        x[0][0] = x[1][0] = (float)more;
        x[0][2] = (float)(more > 1);
        assert(kgen_session_set_input(session, "x", x, sizeof x) == KGEN_OK);
        kgen_status status = kgen_session_run(session);
        const int64_t *places = (const int64_t *)kgen_session_output_data(session, "places");
        for (int again = 0; again < 3; again++) { /* the run, the shape and the profile agree */
            if (more == 0) {
                assert(status == KGEN_OK);
                assert(places[0] == 0 && places[1] == 1 && places[3] == 1 && places[4] == 2);
            } else {
                assert(status == KGEN_ERROR_ARGUMENT);
                assert(strstr(kgen_last_error(), more == 1 ? "--capacity places=4"
                                                           : "--capacity places=5") != NULL);
            }
            if (again == 0)
                status = kgen_session_profile(session, nanoseconds, kgen_num_steps(program));
            else
                status = kgen_session_output_shape(session, "places", shape);
        }
        assert(shape[0] == (more == 0 ? 2 : -1) && shape[1] == (more == 0 ? 2 : -1));
        assert(kgen_session_output_shape(session, "present", shape) == KGEN_OK);
        assert(shape[0] == 2 && shape[1] == 3);
        shape[0] = shape[1] = -1;
    }
    for (size_t i = 0; i < kgen_num_outputs(program); i++)
        assert(strcmp(kgen_output(program, i)->name, "places.count") != 0);
    assert(kgen_output(program, kgen_num_outputs(program)) == NULL);
    assert(kgen_session_output_data(session, "places.count") == NULL);
    assert(kgen_session_output_shape(session, "places", NULL) == KGEN_ERROR_ARGUMENT);
    assert(kgen_session_output_shape(session, "x", shape) == KGEN_ERROR_NOT_FOUND);
    kgen_session_destroy(session);
}

/* A program that has nothing to compute. */
static void check_nothing(kgen_program *program)
{
    kgen_session *session = NULL;
    assert(kgen_num_steps(program) == 0);
    assert(kgen_session_create(program, &session) == KGEN_OK);
    assert(kgen_session_set_input(session, "x", NULL, 0) == KGEN_OK);
    assert(kgen_session_run(session) == KGEN_OK);
    kgen_session_destroy(session);
}

static void check_kernel(kgen_kernel *relu)
{
    int64_t transposed[] = {1, 7}, reversed[] = {-1001, -1}, repeated[] = {0, 1};
    kgen_array arrays[] = {{NULL, transposed}, {out, NULL}};
    for (int i = 0; i < 7; i++)
        for (int j = 0; j < 1001; j++)
            values[i * 1001 + j] = turned[j * 7 + i] = (float)(j % 9 - 4 + i);
    for (int how = 0; how < 4; how++) {
        memset(out, 0xa5, sizeof out);
        if (how == 0) {
            arrays[0].data = turned;
        } else if (how == 1) {
            arrays[0].data = values + 7 * 1001 - 1;
            arrays[0].strides = reversed;
        } else if (how == 2) {
            arrays[0].data = values;
            arrays[0].strides = repeated;
        } else { /* not aligned */
            arrays[0].data = memcpy((char *)odd + 1, values, sizeof values);
            arrays[0].strides = NULL;
        }
        assert(kgen_run_strided(relu, arrays, 2) == KGEN_OK);
        for (int i = 0; i < 7 * 1001; i++) {
            float x = values[how == 1 ? 7 * 1001 - 1 - i : how == 2 ? i % 1001 : i];
            assert(out[i] == (x > 0 ? x : 0));
        }
    }
    arrays[0].data = values;
    arrays[1].strides = transposed;
    assert(kgen_run_strided(relu, arrays, 2) == KGEN_ERROR_ARGUMENT);
    assert(strstr(kgen_last_error(), "out has other strides than the kernel writes") != NULL);
    arrays[1].strides = NULL;
    arrays[0].data = NULL;
    assert(kgen_run_strided(relu, arrays, 2) == KGEN_ERROR_ARGUMENT);
    assert(strstr(kgen_last_error(), "x is NULL") != NULL);
    assert(kgen_run_strided(relu, arrays, 1) == KGEN_ERROR_ARGUMENT);
    assert(strstr(kgen_last_error(), "takes 2 arguments, got 1") != NULL);
    assert(kgen_run_strided(relu, NULL, 2) == KGEN_ERROR_ARGUMENT);
}

int main(int count, char **words)
{
    kgen_bundle *bundle = NULL;
    assert((count == 3 || count == 5) && kgen_abi_version() == KGEN_ABI_VERSION);
    assert(strcmp(kgen_version(), KGEN_VERSION) == 0);
    assert(kgen_open(words[1], NULL, &bundle) == KGEN_OK);
    check_program(kgen_find_program(bundle, NULL));
    kgen_close(bundle);
    assert(kgen_open(words[2], NULL, &bundle) == KGEN_OK);
    check_kernel(kgen_find_kernel(bundle, "relu_7x1001_f32"));
    kgen_close(bundle);
    if (count == 3) /* the other bundles are for x86-64 */
        return 0;
    assert(kgen_open(words[3], NULL, &bundle) == KGEN_OK);
    check_empty(kgen_find_program(bundle, NULL));
    check_sizes(kgen_find_program(bundle, NULL));
    kgen_close(bundle);
    assert(kgen_open(words[4], NULL, &bundle) == KGEN_OK && kgen_num_kernels(bundle) == 0);
    check_nothing(kgen_find_program(bundle, NULL));
    kgen_close(bundle);
    return 0;
}
