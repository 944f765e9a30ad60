/* Kernel calls: check arguments, order pointers for each launch, run tasks. */
#include "internal.h"

#include <stdlib.h>
#include <string.h>

/* Timed runs on several threads before the pool decides whether to share single calls of a kernel.
 * Workers that sleep between calls may miss dozens of these runs. */
enum { CALL_TRIALS = 100 };

const char *kgen_kernel_key(const kgen_kernel *kernel)
{
    return kernel == NULL ? NULL : kernel->key;
}

const char *kgen_kernel_target(const kgen_kernel *kernel)
{
    return kernel == NULL ? NULL : kernel->target;
}

size_t kgen_num_arguments(const kgen_kernel *kernel)
{
    return kernel == NULL ? 0 : kernel->num_arguments;
}

const kgen_tensor *kgen_argument(const kgen_kernel *kernel, size_t index)
{
    return index < kgen_num_arguments(kernel) ? &kernel->arguments[index]->tensor : NULL;
}

const kgen_tensor *kgen_unpacked_argument(const kgen_kernel *kernel, size_t index)
{
    return index < kgen_num_arguments(kernel) ? &kernel->arguments[index]->unpacked : NULL;
}

size_t kgen_num_launches(const kgen_kernel *kernel)
{
    return kernel == NULL ? 0 : kernel->num_launches;
}

int64_t kgen_num_tasks(const kgen_kernel *kernel, size_t launch)
{
    return launch < kgen_num_launches(kernel) ? kernel->launches[launch].grid[0] : 0;
}

void kgen_settle_launch(launch *of, uint64_t function)
{
    of->run.function = function;
    of->run.num_pointers = (int64_t)of->num_arguments;
    of->run.num_tasks = of->grid[0];
}

/* ---- scratch memory -------------------------------------------------------------------------- */

scratch *kgen_scratch_create(const kgen_kernel *kernel)
{
    size_t nbytes = sizeof(scratch) + kernel->num_workspaces * sizeof(void *);
    scratch *made = (scratch *)calloc(1, nbytes);
    if (made == NULL) {
        kgen_no_memory(nbytes);
        return NULL;
    }
    /* Zero all workspaces; those with `initial` "any" do not need it. */
    for (size_t i = 0; i < kernel->num_workspaces; i++) {
        made->workspaces[i] =
            kgen_alloc_tensor(&made->memory, (uint64_t)kernel->workspaces[i].nbytes);
        if (made->workspaces[i] == NULL) {
            kgen_scratch_destroy(made);
            return NULL;
        }
    }
    return made;
}

void kgen_scratch_destroy(scratch *of)
{
    if (of != NULL)
        kgen_free_all(&of->memory);
    free(of);
}

void kgen_scratch_destroy_all(kgen_kernel *kernel)
{
    while (kernel->idle != NULL) {
        scratch *one = kernel->idle;
        kernel->idle = one->next;
        kgen_scratch_destroy(one);
    }
}

/* Take the scratch memory of a finished call, or allocate new memory. */
static scratch *borrow(kgen_kernel *kernel)
{
    kgen_os_lock_take(&kernel->bundle->lock);
    scratch *found = kernel->idle;
    if (found != NULL)
        kernel->idle = found->next;
    kgen_os_lock_release(&kernel->bundle->lock);
    return found != NULL ? found : kgen_scratch_create(kernel);
}

static void give_back(kgen_kernel *kernel, scratch *of)
{
    kgen_os_lock_take(&kernel->bundle->lock);
    of->next = kernel->idle;
    kernel->idle = of;
    kgen_os_lock_release(&kernel->bundle->lock);
}

/* ---- arguments ------------------------------------------------------------------------------- */

static kgen_status wrong(const kgen_kernel *of, size_t i, const char *what)
{
    return kgen_argument_error("%s: %s %s", of->key, of->arguments[i]->tensor.name, what);
}

static kgen_status check_argument_count(const kgen_kernel *of, const void *arguments, size_t count)
{
    if (of == NULL)
        return kgen_null_handle("kernel");
    if (count == of->num_arguments && arguments != NULL)
        return KGEN_OK;
    return kgen_argument_error("%s: takes %zu arguments, got %zu", of->key, of->num_arguments,
                               arguments == NULL ? 0 : count);
}

static kgen_status check_address(const kgen_kernel *of, size_t i, const void *address)
{
    size_t itemsize = kgen_dtype_size(of->arguments[i]->tensor.dtype);
    if (address == NULL)
        return wrong(of, i, "is NULL");
    if ((uintptr_t)address % itemsize == 0)
        return KGEN_OK;
    return kgen_argument_error("%s: %s starts at address %p; expected a multiple of %zu", of->key,
                               of->arguments[i]->tensor.name, address, itemsize);
}

/* Check that an output overlaps no other argument, and that a scatter's output is its table. */
static kgen_status check_output_apart(const kgen_kernel *of, const kgen_buffer *arguments,
                                      size_t output)
{
    uintptr_t own = (uintptr_t)arguments[output].data;
    uintptr_t end = own + of->arguments[output]->tensor.nbytes;
    for (size_t i = 0; i < of->num_arguments; i++) {
        uintptr_t other = (uintptr_t)arguments[i].data;
        const char *name = of->arguments[i]->tensor.name;
        if (of->arguments[i] == of->overwritten_table) {
            if (other != own)
                return kgen_argument_error("%s: writes rows of %s in place; pass the same memory "
                                           "as %s", of->key, name,
                                           of->arguments[output]->tensor.name);
        } else if (i != output && other < end &&
                   own < other + of->arguments[i]->tensor.nbytes) {
            return kgen_argument_error("%s: %s overlaps %s in memory; pass separate memory",
                                       of->key, of->arguments[output]->tensor.name, name);
        }
    }
    return KGEN_OK;
}

static kgen_status check_buffers(const kgen_kernel *of, const kgen_buffer *arguments, size_t count)
{
    TRY(check_argument_count(of, arguments, count));
    for (size_t i = 0; i < count; i++) {
        const kgen_tensor *wanted = &of->arguments[i]->tensor;
        TRY(check_address(of, i, arguments[i].data));
        if (arguments[i].nbytes < wanted->nbytes)
            return kgen_argument_error("%s: %s has %zu bytes; expected %zu", of->key, wanted->name,
                                       arguments[i].nbytes, wanted->nbytes);
    }
    for (size_t i = 0; i < count; i++)
        if (of->arguments[i]->tensor.role == KGEN_OUTPUT)
            TRY(check_output_apart(of, arguments, i));
    return KGEN_OK;
}

/* Address of every tensor and workspace, by slot. */
typedef struct memories {
    void *of[MAX_SLOTS];
} memories;

static const void *data_of(const kgen_kernel *of, const memories *at, const parameter *argument)
{
    return argument == NULL ? NULL : at->of[argument - of->parameters];
}

/* Check attention's numbers of keys and pages; `at` holds the addresses of the arguments. */
static kgen_status check_argument_keys(const kgen_kernel *of, const memories *at)
{
    const key_limits *keys = &of->keys;
    if (keys->length == NULL)
        return KGEN_OK;
    return kgen_check_keys(keys, of->key, keys->length->tensor.name,
                           data_of(of, at, keys->length), data_of(of, at, keys->table));
}

/* ---- running --------------------------------------------------------------------------------- */

static void place_others(const kgen_kernel *of, const scratch *with, memories *into)
{
    for (size_t i = 0; i < of->num_parameters; i++)
        if (of->parameters[i].stored != NULL)
            into->of[i] = (void *)of->parameters[i].constant; /* only read */
    for (size_t i = 0; i < of->num_workspaces; i++)
        into->of[of->num_parameters + i] = with->workspaces[i];
}

static void order_pointers(const launch *one, const memories *from, void **pointers)
{
    for (size_t i = 0; i < one->num_arguments; i++)
        pointers[i] = from->of[one->slots[i]];
}

/* Run the launches; `at` holds the addresses of the arguments. */
static kgen_status run(kgen_kernel *of, memories *at)
{
    void *pointers[MAX_POINTERS];
    scratch *with = NULL;
    if (of->num_workspaces > 0 && (with = borrow(of)) == NULL)
        return KGEN_ERROR_OUT_OF_MEMORY;
    place_others(of, with, at);
    for (size_t i = 0; i < of->num_launches; i++) {
        kgen_job job = {&of->launches[i].run, pointers};
        kgen_jobs one = {of->bundle->threads, &job, 1, CALL_TRIALS, 0};
        order_pointers(&of->launches[i], at, pointers);
        kgen_jobs_run(&one);
    }
    if (with != NULL)
        give_back(of, with);
    return KGEN_OK;
}

static void place(const kgen_kernel *of, size_t argument, void *data, memories *into)
{
    into->of[of->arguments[argument] - of->parameters] = data;
}

kgen_status kgen_run(kgen_kernel *kernel, const kgen_buffer *arguments, size_t count)
{
    memories at;
    TRY(check_buffers(kernel, arguments, count));
    for (size_t i = 0; i < count; i++)
        place(kernel, i, arguments[i].data, &at);
    TRY(check_argument_keys(kernel, &at));
    return run(kernel, &at);
}

kgen_status kgen_run_pointers(kgen_kernel *kernel, void *const *arguments, size_t count)
{
    memories at;
    TRY(check_argument_count(kernel, arguments, count));
    for (size_t i = 0; i < count; i++) {
        TRY(check_address(kernel, i, arguments[i]));
        place(kernel, i, arguments[i], &at);
    }
    TRY(check_argument_keys(kernel, &at));
    return run(kernel, &at);
}

/* ---- prepared calls -------------------------------------------------------------------------- */

struct kgen_call {
    kgen_kernel *kernel;
    scratch *with;
    arena memory;
    kgen_jobs launches;
};

/* Create the jobs of a call's launches; `at` holds the addresses of the arguments. */
static bool make_launches(kgen_call *of, const memories *at)
{
    const kgen_kernel *kernel = of->kernel;
    kgen_job *jobs = (kgen_job *)kgen_alloc(&of->memory, kernel->num_launches, sizeof *jobs);
    of->launches = (kgen_jobs){kernel->bundle->threads, jobs, (int64_t)kernel->num_launches,
                               CALL_TRIALS, 0};
    for (size_t i = 0; jobs != NULL && i < kernel->num_launches; i++) {
        launch *one = &kernel->launches[i];
        jobs[i].launch = &one->run;
        jobs[i].pointers = (void **)kgen_alloc(&of->memory, one->num_arguments, sizeof(void *));
        if (jobs[i].pointers == NULL)
            return false;
        order_pointers(one, at, jobs[i].pointers);
    }
    return jobs != NULL;
}

kgen_status kgen_call_create(kgen_kernel *kernel, const kgen_buffer *arguments, size_t count,
                             kgen_call **call)
{
    memories at;
    TRY(check_buffers(kernel, arguments, count));
    if (call == NULL)
        return kgen_argument_error("%s: the pointer for the call is NULL", kernel->key);
    for (size_t i = 0; i < count; i++)
        place(kernel, i, arguments[i].data, &at);
    TRY(check_argument_keys(kernel, &at));
    kgen_call *made = (kgen_call *)calloc(1, sizeof *made);
    if (made == NULL)
        return kgen_no_memory(sizeof *made);
    made->kernel = kernel;
    made->with = kgen_scratch_create(kernel);
    if (made->with != NULL)
        place_others(kernel, made->with, &at);
    if (made->with == NULL || !make_launches(made, &at)) {
        kgen_call_destroy(made);
        return KGEN_ERROR_OUT_OF_MEMORY;
    }
    *call = made;
    return KGEN_OK;
}

void kgen_call_destroy(kgen_call *call)
{
    if (call != NULL) {
        kgen_scratch_destroy(call->with);
        kgen_free_all(&call->memory);
    }
    free(call);
}

kgen_status kgen_call_run(kgen_call *call)
{
    if (call == NULL)
        return kgen_null_handle("call");
    kgen_jobs_run(&call->launches);
    return KGEN_OK;
}

kgen_status kgen_call_run_tasks(kgen_call *call, size_t launch, int64_t begin, int64_t end)
{
    if (call == NULL)
        return kgen_null_handle("call");
    const kgen_kernel *of = call->kernel;
    int64_t tasks = kgen_num_tasks(of, launch);
    if (launch >= of->num_launches)
        return kgen_argument_error("%s: launch=%zu is out of range; give 0 to %zu", of->key, launch,
                                   of->num_launches - 1);
    if (begin < 0 || begin > end || end > tasks)
        return kgen_argument_error("%s: tasks %lld to %lld are out of range; give 0 to %lld", of->key,
                                   (long long)begin, (long long)end, (long long)tasks);
    if (begin < end) /* kernels do not accept an empty range */
        kgen_run_tasks(&of->launches[launch].run, call->launches.jobs[launch].pointers, begin, end);
    return KGEN_OK;
}
