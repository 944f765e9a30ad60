/* Programs: what one run has for itself, and the launches of its steps with all pointers
 * settled. */
#include "internal.h"

#include <stdlib.h>
#include <string.h>

/* Shared trials of a launch among others: workers are awake from the first shared launch on. */
enum { SHARED_TRIALS = 10 };

const char *kgen_program_name(const kgen_program *program)
{
    return program->name;
}

const char *kgen_program_target(const kgen_program *program)
{
    return program->target;
}

size_t kgen_num_inputs(const kgen_program *program)
{
    return program->num_inputs;
}

size_t kgen_num_outputs(const kgen_program *program)
{
    return program->num_outputs;
}

size_t kgen_num_states(const kgen_program *program)
{
    return program->num_states;
}

const kgen_tensor *kgen_input(const kgen_program *program, size_t index)
{
    return index < program->num_inputs ? &program->inputs[index].tensor : NULL;
}

const kgen_tensor *kgen_output(const kgen_program *program, size_t index)
{
    return index < program->num_outputs ? &program->outputs[index].tensor : NULL;
}

const kgen_tensor *kgen_state(const kgen_program *program, size_t index)
{
    return index < program->num_states ? &program->states[index].tensor : NULL;
}

/* ---- sessions -------------------------------------------------------------------------------- */

typedef struct job {
    launch *of;
    void *pointers[MAX_POINTERS];
} job;

/* Scratch memory of one kernel, which its steps share: they run one after another. */
typedef struct used {
    const kgen_kernel *kernel;
    scratch *with;
} used;

struct kgen_session {
    const kgen_program *program;
    arena memory;
    void *intermediate, **inputs, **outputs, **states;
    size_t num_jobs, num_used;
    job *jobs;
    used *scratches;
    bool shares; /* whether workers took part in the last run */
};

static bool allocate_each(kgen_session *of, void ***into, size_t count, const value *values,
                          const state *states)
{
    *into = kgen_alloc(&of->memory, count, sizeof **into);
    for (size_t i = 0; *into != NULL && i < count; i++) {
        (*into)[i] = kgen_alloc_tensor(&of->memory, values != NULL ? values[i].tensor.nbytes
                                                                   : (uint64_t)states[i].nbytes);
        if ((*into)[i] == NULL)
            return false;
    }
    return *into != NULL;
}

static void *address_of(const kgen_session *in, const value *one)
{
    unsigned char *start = NULL;
    switch (one->kind) {
    case IN_ARENA:
        start = in->intermediate;
        break;
    case IN_WEIGHTS:
        start = (unsigned char *)in->program->weights[one->number].data; /* only read */
        break;
    case IN_INPUT:
        start = in->inputs[one->number];
        break;
    case IN_OUTPUT:
        start = in->outputs[one->number];
        break;
    case IN_STATE:
        start = in->states[one->number];
        break;
    }
    return start + one->offset;
}

static int by_kernel(const void *a, const void *b)
{
    uintptr_t one = (uintptr_t)((const used *)a)->kernel;
    uintptr_t other = (uintptr_t)((const used *)b)->kernel;
    return (one > other) - (one < other);
}

/* Scratch memory for each kernel that needs some. */
static bool make_scratches(kgen_session *of)
{
    const kgen_program *program = of->program;
    used *all = kgen_alloc(&of->memory, program->num_steps, sizeof *all);
    size_t count = 0;
    if (all == NULL)
        return false;
    for (size_t i = 0; i < program->num_steps; i++)
        if (program->steps[i].kernel->num_workspaces > 0)
            all[count++].kernel = program->steps[i].kernel;
    qsort(all, count, sizeof *all, by_kernel);
    of->scratches = all;
    for (size_t i = 0; i < count; i++) {
        if (of->num_used > 0 && all[of->num_used - 1].kernel == all[i].kernel)
            continue;
        all[of->num_used].kernel = all[i].kernel;
        all[of->num_used].with = kgen_scratch_create(all[i].kernel);
        if (all[of->num_used].with == NULL)
            return false;
        of->num_used++;
    }
    return true;
}

static void *slot_address(const kgen_session *in, const step *one, int slot)
{
    const kgen_kernel *kernel = one->kernel;
    size_t number = (size_t)slot;
    if (number < kernel->num_parameters) {
        const parameter *its = &kernel->parameters[number];
        return its->stored != NULL ? (void *)its->constant /* only read */
                                   : address_of(in, one->values[number]);
    }
    used wanted = {kernel, NULL};
    const used *found = bsearch(&wanted, in->scratches, in->num_used, sizeof wanted, by_kernel);
    return found->with->workspaces[number - kernel->num_parameters];
}

static bool make_jobs(kgen_session *of)
{
    const kgen_program *program = of->program;
    for (size_t s = 0; s < program->num_steps; s++)
        of->num_jobs += program->steps[s].kernel->num_launches;
    of->jobs = kgen_alloc(&of->memory, of->num_jobs, sizeof *of->jobs);
    job *next = of->jobs;
    for (size_t s = 0; next != NULL && s < program->num_steps; s++) {
        const step *one = &program->steps[s];
        for (size_t l = 0; l < one->kernel->num_launches; l++, next++) {
            next->of = &one->kernel->launches[l];
            for (size_t i = 0; i < next->of->num_arguments; i++)
                next->pointers[i] = slot_address(of, one, next->of->slots[i]);
        }
    }
    return of->jobs != NULL;
}

kgen_status kgen_session_create(kgen_program *program, kgen_session **session)
{
    if (program == NULL || session == NULL)
        return kgen_fail(KGEN_ERROR_ARGUMENT,
                         "the program, or the pointer for its session, is NULL");
    kgen_session *made = calloc(1, sizeof *made);
    if (made == NULL)
        return kgen_no_memory(sizeof *made);
    made->program = program;
    made->intermediate = kgen_alloc_tensor(&made->memory, (uint64_t)program->arena_nbytes);
    if (made->intermediate == NULL ||
        !allocate_each(made, &made->inputs, program->num_inputs, program->inputs, NULL) ||
        !allocate_each(made, &made->outputs, program->num_outputs, program->outputs, NULL) ||
        !allocate_each(made, &made->states, program->num_states, NULL, program->states) ||
        !make_scratches(made) || !make_jobs(made)) {
        kgen_session_destroy(made);
        return KGEN_ERROR_OUT_OF_MEMORY;
    }
    *session = made;
    return KGEN_OK;
}

void kgen_session_destroy(kgen_session *session)
{
    if (session == NULL)
        return;
    for (size_t i = 0; i < session->num_used; i++)
        kgen_scratch_destroy(session->scratches[i].with);
    kgen_free_all(&session->memory);
    free(session);
}

kgen_status kgen_session_run(kgen_session *session)
{
    pool *threads = session->program->bundle->threads;
    bool awake = session->shares;
    if (awake)
        kgen_pool_keep_awake(threads, true);
    session->shares = false;
    for (size_t i = 0; i < session->num_jobs; i++) {
        job *one = &session->jobs[i];
        if (kgen_pool_run(threads, one->of, one->pointers, SHARED_TRIALS))
            session->shares = true;
    }
    if (awake)
        kgen_pool_keep_awake(threads, false);
    return KGEN_OK;
}

void kgen_session_reset(kgen_session *session)
{
    for (size_t i = 0; i < session->program->num_states; i++)
        memset(session->states[i], 0, (size_t)session->program->states[i].nbytes);
}

/* ---- inputs, outputs and states by name ------------------------------------------------------ */

/* Those of one kind that a program has. */
typedef struct several {
    const char *kind;
    size_t (*count)(const kgen_program *of);
    const kgen_tensor *(*tensor)(const kgen_program *of, size_t index);
} several;

static const several inputs = {"input", kgen_num_inputs, kgen_input};
static const several outputs = {"output", kgen_num_outputs, kgen_output};
static const several states = {"state", kgen_num_states, kgen_state};

/* The memory of the one of this name, and its tensor; NULL if none has it. */
static void *find(const kgen_session *in, const several *among, const char *name,
                  const kgen_tensor **tensor)
{
    const kgen_program *of = in->program;
    size_t count = among->count(of);
    void *const *memory = among == &inputs    ? in->inputs
                          : among == &outputs ? in->outputs
                                              : in->states;
    for (size_t i = 0; name != NULL && i < count; i++) {
        *tensor = among->tensor(of, i);
        if (strcmp((*tensor)->name, name) == 0)
            return memory[i];
    }
    kgen_fail(KGEN_ERROR_NOT_FOUND,
              "%s: '%.120s' is not an %s of the program; it has %zu, the first is %.120s", of->name,
              name == NULL ? "NULL" : name, among->kind, count,
              count == 0 ? "none" : among->tensor(of, 0)->name);
    return NULL;
}

/* The same for a copy of so many bytes, which has to be all of it. */
static kgen_status find_for_copy(const kgen_session *in, const several *among, const char *name,
                                 const void *data, size_t nbytes, void **memory)
{
    const kgen_tensor *tensor = NULL;
    *memory = find(in, among, name, &tensor);
    if (*memory == NULL)
        return KGEN_ERROR_NOT_FOUND;
    if (data != NULL && nbytes == tensor->nbytes)
        return KGEN_OK;
    return kgen_fail(KGEN_ERROR_ARGUMENT, "%s: %s has %zu bytes, and the call gives %zu%s",
                     in->program->name, name, tensor->nbytes, nbytes,
                     data == NULL ? " at NULL" : "");
}

static kgen_status set(kgen_session *session, const several *among, const char *name, const void *data,
                       size_t nbytes)
{
    void *memory;
    kgen_status status = find_for_copy(session, among, name, data, nbytes, &memory);
    if (status == KGEN_OK)
        memcpy(memory, data, nbytes);
    return status;
}

static kgen_status copy_out(const kgen_session *session, const several *among, const char *name,
                            void *data, size_t nbytes)
{
    void *memory;
    kgen_status status = find_for_copy(session, among, name, data, nbytes, &memory);
    if (status == KGEN_OK)
        memcpy(data, memory, nbytes);
    return status;
}

kgen_status kgen_session_set_input(kgen_session *session, const char *name, const void *data,
                                   size_t nbytes)
{
    return set(session, &inputs, name, data, nbytes);
}

kgen_status kgen_session_get_output(const kgen_session *session, const char *name, void *data,
                                    size_t nbytes)
{
    return copy_out(session, &outputs, name, data, nbytes);
}

kgen_status kgen_session_set_state(kgen_session *session, const char *name, const void *data,
                                   size_t nbytes)
{
    return set(session, &states, name, data, nbytes);
}

kgen_status kgen_session_get_state(const kgen_session *session, const char *name, void *data,
                                   size_t nbytes)
{
    return copy_out(session, &states, name, data, nbytes);
}

void *kgen_session_input_data(kgen_session *session, const char *name)
{
    const kgen_tensor *tensor;
    return find(session, &inputs, name, &tensor);
}

const void *kgen_session_output_data(const kgen_session *session, const char *name)
{
    const kgen_tensor *tensor;
    return find(session, &outputs, name, &tensor);
}
