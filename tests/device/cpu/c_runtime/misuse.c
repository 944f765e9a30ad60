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
    kgen_close(NULL);
    kgen_call_destroy(NULL);
    kgen_session_destroy(NULL);
    return 0;
}
