/* Sessions of programs: memory of one run, and the launches of its steps with all pointers
 * resolved. */
#include "internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Timed runs on several threads before the pool decides whether to share a launch of a program.
 * Few suffice, because the workers stay awake from the first shared launch of a run on. */
enum { STEP_TRIALS = 10 };

const char *kgen_program_name(const kgen_program *program)
{
    return program == NULL ? NULL : program->name;
}

const char *kgen_program_target(const kgen_program *program)
{
    return program == NULL ? NULL : program->target;
}

size_t kgen_num_inputs(const kgen_program *program)
{
    return program == NULL ? 0 : program->num_inputs;
}

size_t kgen_num_outputs(const kgen_program *program)
{
    return program == NULL ? 0 : program->num_outputs - program->num_sizes;
}

size_t kgen_num_states(const kgen_program *program)
{
    return program == NULL ? 0 : program->num_states;
}

const kgen_tensor *kgen_input(const kgen_program *program, size_t index)
{
    return index < kgen_num_inputs(program) ? &program->inputs[index].tensor : NULL;
}

const kgen_tensor *kgen_output(const kgen_program *program, size_t index)
{
    return index < kgen_num_outputs(program) ? &program->outputs[index].tensor : NULL;
}

const kgen_tensor *kgen_state(const kgen_program *program, size_t index)
{
    return index < kgen_num_states(program) ? &program->states[index].tensor : NULL;
}

size_t kgen_num_steps(const kgen_program *program)
{
    return program == NULL ? 0 : program->num_steps;
}

const kgen_kernel *kgen_step_kernel(const kgen_program *program, size_t step)
{
    return step < kgen_num_steps(program) ? program->steps[step].kernel : NULL;
}

size_t kgen_num_step_nodes(const kgen_program *program, size_t step)
{
    const json *nodes = step < kgen_num_steps(program) ? program->steps[step].nodes : NULL;
    return nodes == NULL ? 0 : nodes->count;
}

const char *kgen_step_node(const kgen_program *program, size_t step, size_t index)
{
    if (index >= kgen_num_step_nodes(program, step))
        return NULL;
    const json *one = program->steps[step].nodes->as.first;
    for (; index > 0; index--)
        one = one->next;
    return one->as.text;
}

/* ---- sessions -------------------------------------------------------------------------------- */

/* Scratch memory of one kernel. Its steps share it, because they run one after another. */
typedef struct used {
    const kgen_kernel *kernel;
    scratch *with;
} used;

struct kgen_session {
    const kgen_program *program;
    arena memory;
    void *intermediate, **inputs, **outputs, **states;
    kgen_jobs jobs; /* jobs of all steps */
    int64_t *ends;  /* by step: number of jobs up to its last */
    size_t num_used;
    used *scratches;
    bool *is_set; /* by input */
    size_t num_unset;
};

/* Set the memory of inputs or outputs (`values`) or states: the caller's, or new memory if
 * `given` is NULL. */
static bool settle_each(kgen_session *of, void ***into, size_t count, const value *values,
                        const state *states, void *const *given)
{
    *into = (void **)kgen_alloc(&of->memory, count, sizeof **into);
    for (size_t i = 0; *into != NULL && i < count; i++) {
        uint64_t nbytes = values != NULL ? values[i].tensor.nbytes : (uint64_t)states[i].nbytes;
        /* The address of an empty tensor may be NULL. */
        (*into)[i] =
            given != NULL && nbytes > 0 ? given[i] : kgen_alloc_tensor(&of->memory, nbytes);
        if ((*into)[i] == NULL)
            return false;
    }
    return *into != NULL;
}

static void *address_of(const kgen_session *in, const bound *of)
{
    const value *one = of->is;
    unsigned char *start = NULL;
    switch (one->kind) {
    case IN_ARENA:
        start = (unsigned char *)in->intermediate;
        break;
    case IN_WEIGHTS:
        start = (unsigned char *)in->program->weights[one->number].data; /* only read */
        break;
    case IN_INPUT:
        start = (unsigned char *)in->inputs[one->number];
        break;
    case IN_OUTPUT:
        start = (unsigned char *)in->outputs[one->number];
        break;
    case IN_STATE:
        start = (unsigned char *)in->states[one->number];
        break;
    }
    return start + of->offset;
}

static int by_kernel(const void *a, const void *b)
{
    uintptr_t one = (uintptr_t)((const used *)a)->kernel;
    uintptr_t other = (uintptr_t)((const used *)b)->kernel;
    return (one > other) - (one < other);
}

/* Allocate scratch memory for each kernel with workspaces. */
static bool make_scratches(kgen_session *of)
{
    const kgen_program *program = of->program;
    used *all = (used *)kgen_alloc(&of->memory, program->num_steps, sizeof *all);
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

static void *slot_address(const kgen_session *in, const step *one, size_t number)
{
    const kgen_kernel *kernel = one->kernel;
    if (number < kernel->num_parameters) {
        const parameter *its = &kernel->parameters[number];
        return its->stored != NULL ? (void *)its->constant /* only read */
                                   : address_of(in, &one->values[number]);
    }
    used wanted = {kernel, NULL};
    const used *found =
        (const used *)bsearch(&wanted, in->scratches, in->num_used, sizeof wanted, by_kernel);
    return found->with->workspaces[number - kernel->num_parameters];
}

static bool make_jobs(kgen_session *of, kgen_pool *threads)
{
    const kgen_program *program = of->program;
    kgen_jobs *all = &of->jobs;
    all->threads = threads;
    all->shared_trials = STEP_TRIALS;
    of->ends = (int64_t *)kgen_alloc(&of->memory, program->num_steps, sizeof *of->ends);
    if (of->ends == NULL)
        return false;
    for (size_t s = 0; s < program->num_steps; s++)
        of->ends[s] = all->count += (int64_t)program->steps[s].kernel->num_launches;
    all->jobs = (kgen_job *)kgen_alloc(&of->memory, (size_t)all->count, sizeof *all->jobs);
    kgen_job *next = all->jobs;
    for (size_t s = 0; next != NULL && s < program->num_steps; s++) {
        const step *one = &program->steps[s];
        for (size_t l = 0; l < one->kernel->num_launches; l++, next++) {
            launch *its = &one->kernel->launches[l];
            next->launch = &its->run;
            next->pointers = (void **)kgen_alloc(&of->memory, its->num_arguments, sizeof(void *));
            if (next->pointers == NULL)
                return false;
            for (size_t i = 0; i < its->num_arguments; i++)
                next->pointers[i] = slot_address(of, one, its->slots[i]);
        }
    }
    return all->jobs != NULL;
}

kgen_status kgen_session_create_on(kgen_program *program, kgen_pool *threads, void *const *inputs,
                                   void *const *outputs, kgen_session **session)
{
    kgen_session *made = (kgen_session *)calloc(1, sizeof *made);
    if (made == NULL)
        return kgen_no_memory(sizeof *made);
    made->program = program;
    made->num_unset = inputs == NULL ? program->num_inputs : 0;
    made->is_set = (bool *)kgen_alloc(&made->memory, program->num_inputs, sizeof *made->is_set);
    made->intermediate = kgen_alloc_tensor(&made->memory, (uint64_t)program->arena_nbytes);
    if (made->is_set == NULL || made->intermediate == NULL ||
        !settle_each(made, &made->inputs, program->num_inputs, program->inputs, NULL, inputs) ||
        !settle_each(made, &made->outputs, program->num_outputs, program->outputs, NULL,
                     outputs) ||
        !settle_each(made, &made->states, program->num_states, NULL, program->states, NULL) ||
        !make_scratches(made) || !make_jobs(made, threads)) {
        kgen_session_destroy(made);
        return KGEN_ERROR_OUT_OF_MEMORY;
    }
    memset(made->is_set, inputs != NULL, program->num_inputs);
    *session = made;
    return KGEN_OK;
}

kgen_status kgen_session_create(kgen_program *program, kgen_session **session)
{
    if (program == NULL)
        return kgen_null_handle("program");
    if (session == NULL)
        return kgen_argument_error("%s: the pointer for the session is NULL", program->name);
    return kgen_session_create_on(program, program->bundle->threads, NULL, NULL, session);
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

static void note_set(kgen_session *of, size_t input)
{
    if (!of->is_set[input])
        of->num_unset--;
    of->is_set[input] = true;
}

static kgen_status miss_input(const kgen_session *of)
{
    size_t i = 0;
    while (of->is_set[i])
        i++;
    return kgen_argument_error("%s: input %.120s was never set; call kgen_session_set_input "
                               "before the run", of->program->name,
                               of->program->inputs[i].tensor.name);
}

/* Read the size of an axis after the last run. Fail if it exceeds the output's shape. */
static kgen_status find_size(const kgen_session *in, const count *axis, int64_t *size)
{
    const kgen_tensor *one = &in->program->outputs[axis->of].tensor;
    int64_t room = one->shape[axis->axis];
    memcpy(size, in->outputs[axis->in], sizeof *size);
    if (*size >= 0 && *size <= room)
        return KGEN_OK;
    return kgen_argument_error("%s: output %s has %lld elements along axis %lld, and room for "
                               "%lld; compile the model with --capacity %s=%lld", in->program->name,
                               one->name, (long long)*size, (long long)axis->axis, (long long)room,
                               one->name, (long long)*size);
}

/* Check that all elements of the last run fitted into the outputs. */
static kgen_status check_sizes(const kgen_session *of)
{
    int64_t size;
    for (size_t i = 0; i < of->program->num_counts; i++)
        TRY(find_size(of, &of->program->counts[i], &size));
    return KGEN_OK;
}

/* Return the input of the program that a step reads as a parameter; NULL if it reads none. */
static const bound *bound_to(const step *one, const parameter *its)
{
    const bound *found = its == NULL ? NULL : &one->values[its - one->kernel->parameters];
    return found != NULL && found->is != NULL && found->is->kind == IN_INPUT ? found : NULL;
}

/* Check attention's numbers of keys, and pages, that are inputs. */
static kgen_status check_input_keys(const kgen_session *of)
{
    for (size_t s = 0; s < of->program->num_steps; s++) {
        const step *one = &of->program->steps[s];
        const key_limits *keys = &one->kernel->keys;
        if (keys->length == NULL)
            continue;
        const bound *length = bound_to(one, keys->length), *table = bound_to(one, keys->table);
        if (length != NULL)
            TRY(kgen_check_keys(keys, of->program->name, length->is->memory,
                                address_of(of, length),
                                table == NULL ? NULL : address_of(of, table)));
    }
    return KGEN_OK;
}

/* Check what must hold before a run. */
static kgen_status check_inputs(const kgen_session *of)
{
    if (of == NULL)
        return kgen_null_handle("session");
    return of->num_unset > 0 ? miss_input(of) : check_input_keys(of);
}

kgen_status kgen_session_run(kgen_session *session)
{
    TRY(check_inputs(session));
    kgen_jobs_run(&session->jobs);
    return check_sizes(session);
}

kgen_status kgen_session_profile(kgen_session *session, int64_t *nanoseconds, size_t num_steps)
{
    TRY(check_inputs(session));
    const kgen_program *of = session->program;
    if (nanoseconds == NULL || num_steps != of->num_steps)
        return kgen_argument_error("%s: has %zu steps, and the call gives %zu%s; give all", of->name,
                                   of->num_steps, num_steps, nanoseconds == NULL ? " at NULL" : "");
    kgen_jobs_profile(&session->jobs, session->ends, num_steps, nanoseconds);
    return check_sizes(session);
}

void kgen_session_run_step(kgen_session *session, size_t step)
{
    int64_t begin = step == 0 ? 0 : session->ends[step - 1];
    kgen_jobs one = session->jobs;
    one.jobs += begin;
    one.count = session->ends[step] - begin;
    one.is_shared = 0;
    kgen_jobs_run(&one);
}

const void *kgen_session_step_data(const kgen_session *session, size_t step, size_t parameter)
{
    return slot_address(session, &session->program->steps[step], parameter);
}

void kgen_session_reset(kgen_session *session)
{
    for (size_t i = 0; session != NULL && i < session->program->num_states; i++)
        memset(session->states[i], 0, (size_t)session->program->states[i].nbytes);
}

/* ---- inputs, outputs and states by name ------------------------------------------------------ */

typedef enum memory_kind { INPUTS, OUTPUTS, STATES } memory_kind;

static const struct {
    const char *one, *several;
    size_t (*count)(const kgen_program *of);
    const kgen_tensor *(*tensor)(const kgen_program *of, size_t index);
} KINDS[] = {{"an input", "inputs", kgen_num_inputs, kgen_input},
             {"an output", "outputs", kgen_num_outputs, kgen_output},
             {"a state", "states", kgen_num_states, kgen_state}};

enum { NAMES_BYTES = 300, FEW_NAMES = 3 };

/* Write the names of a kind for messages: all of them if they fit, else the first and a count. */
static const char *known_names(const kgen_program *of, memory_kind kind, char into[NAMES_BYTES])
{
    size_t count = KINDS[kind].count(of), used = 0;
    for (size_t most = count;; most = FEW_NAMES) {
        bool fits = true;
        used = 0;
        *into = 0;
        for (size_t i = 0; i < most && fits; i++) {
            int more = snprintf(into + used, NAMES_BYTES - used, "%s%.60s", i > 0 ? ", " : "",
                                KINDS[kind].tensor(of, i)->name);
            fits = more >= 0 && used + (size_t)more + 32 < NAMES_BYTES; /* 32: "and N more" */
            used += fits ? (size_t)more : 0;
        }
        if (most < count)
            snprintf(into + used, NAMES_BYTES - used, " and %zu more", count - most);
        if (fits || most == FEW_NAMES || count <= FEW_NAMES)
            break;
    }
    return count == 0 ? "none" : into;
}

/* Find the number of a name among those of its kind. */
static kgen_status find_number(const kgen_program *of, memory_kind kind, const char *name,
                               size_t *number)
{
    char known[NAMES_BYTES];
    size_t count = KINDS[kind].count(of);
    for (*number = 0; name != NULL && *number < count; ++*number)
        if (strcmp(KINDS[kind].tensor(of, *number)->name, name) == 0)
            return KGEN_OK;
    return kgen_fail(KGEN_ERROR_NOT_FOUND, "%s: '%.120s' is not %s; %s are %s", of->name,
                     name == NULL ? "NULL" : name, KINDS[kind].one, KINDS[kind].several,
                     known_names(of, kind, known));
}

/* Memory of a named input, output or state. */
typedef struct named_memory {
    void *data;
    const kgen_tensor *tensor;
    size_t number; /* number among those of its kind */
} named_memory;

static kgen_status find(const kgen_session *in, memory_kind kind, const char *name,
                        named_memory *into)
{
    if (in == NULL) {
        kgen_null_handle("session");
        return KGEN_ERROR_ARGUMENT; /* a constant: GCC sees that *into is not used */
    }
    void *const *memory = kind == INPUTS ? in->inputs : kind == OUTPUTS ? in->outputs : in->states;
    size_t number;
    TRY(find_number(in->program, kind, name, &number));
    *into = (named_memory){memory[number], KINDS[kind].tensor(in->program, number), number};
    return KGEN_OK;
}

/* Copy bytes; the address of an empty tensor may be NULL. */
static void copy(void *into, const void *from, size_t nbytes)
{
    if (nbytes > 0)
        memcpy(into, from, nbytes);
}

/* Find the memory for a copy of `nbytes`, which must be its size. */
static kgen_status find_for_copy(const kgen_session *in, memory_kind kind, const char *name,
                                 const void *data, size_t nbytes, named_memory *into)
{
    TRY(find(in, kind, name, into));
    if ((data != NULL || nbytes == 0) && nbytes == into->tensor->nbytes)
        return KGEN_OK;
    return kgen_argument_error("%s: %s has %zu bytes, and the call gives %zu%s", in->program->name,
                               name, into->tensor->nbytes, nbytes, data == NULL ? " at NULL" : "");
}

kgen_status kgen_session_set_input(kgen_session *session, const char *name, const void *data,
                                   size_t nbytes)
{
    named_memory found;
    TRY(find_for_copy(session, INPUTS, name, data, nbytes, &found));
    copy(found.data, data, nbytes);
    note_set(session, found.number);
    return KGEN_OK;
}

kgen_status kgen_session_set_input_strided(kgen_session *session, const char *name,
                                           const void *data, const int64_t *strides)
{
    named_memory found;
    TRY(find(session, INPUTS, name, &found));
    if (data == NULL && found.tensor->nbytes > 0)
        return kgen_argument_error("%s: %s is NULL", session->program->name, name);
    if (found.tensor->nbytes > 0)
        kgen_copy_strided(found.tensor, data, strides, found.data);
    note_set(session, found.number);
    return KGEN_OK;
}

kgen_status kgen_session_get_output(const kgen_session *session, const char *name, void *data,
                                    size_t nbytes)
{
    named_memory found;
    TRY(find_for_copy(session, OUTPUTS, name, data, nbytes, &found));
    copy(data, found.data, nbytes);
    return KGEN_OK;
}

kgen_status kgen_session_output_shape(const kgen_session *session, const char *name,
                                      int64_t *shape)
{
    named_memory found;
    int64_t known[KGEN_MAX_RANK];
    TRY(find(session, OUTPUTS, name, &found));
    const kgen_program *of = session->program;
    if (shape == NULL)
        return kgen_argument_error("%s: the memory for the shape of %s is NULL", of->name, name);
    memcpy(known, found.tensor->shape, sizeof known);
    for (size_t i = 0; i < of->num_counts; i++) {
        const count *one = &of->counts[i];
        if (one->of == found.number)
            TRY(find_size(session, one, &known[one->axis]));
    }
    memcpy(shape, known, (size_t)found.tensor->rank * sizeof *shape);
    return KGEN_OK;
}

kgen_status kgen_session_set_state(kgen_session *session, const char *name, const void *data,
                                   size_t nbytes)
{
    named_memory found;
    TRY(find_for_copy(session, STATES, name, data, nbytes, &found));
    copy(found.data, data, nbytes);
    return KGEN_OK;
}

kgen_status kgen_session_get_state(const kgen_session *session, const char *name, void *data,
                                   size_t nbytes)
{
    named_memory found;
    TRY(find_for_copy(session, STATES, name, data, nbytes, &found));
    copy(data, found.data, nbytes);
    return KGEN_OK;
}

/* ---- starts of states ------------------------------------------------------------------------ */

enum { SHAPE_BYTES = 24 * KGEN_MAX_RANK };

/* Write a shape, for messages. */
static const char *shown_shape(const int64_t *shape, int rank, char into[SHAPE_BYTES])
{
    int used = 0;
    strcpy(into, "()");
    for (int i = 0; i < rank && i < KGEN_MAX_RANK; i++)
        used += snprintf(into + used, (size_t)(SHAPE_BYTES - used), "%s%lld", i > 0 ? "x" : "",
                         (long long)shape[i]);
    return into;
}

/* Find the axis along which a shape is shorter than a state; -1 if the shapes are equal. */
static kgen_status find_short_axis(const kgen_program *of, const kgen_tensor *state,
                                   const int64_t *shape, int rank, int *axis)
{
    char given[SHAPE_BYTES], wanted[SHAPE_BYTES];
    int others = 0;
    *axis = -1;
    for (int i = 0; i < rank && i < state->rank; i++)
        if (shape[i] != state->shape[i]) {
            *axis = i;
            others++;
        }
    if (rank != state->rank || others > 1 || (others == 1 && shape[*axis] < 0))
        return kgen_argument_error("%s: %s has shape %s; expected %s, or less along one axis",
                                   of->name, state->name, shown_shape(shape, rank, given),
                                   shown_shape(state->shape, state->rank, wanted));
    if (others == 1 && shape[*axis] > state->shape[*axis])
        return kgen_argument_error("%s: %s has %lld positions along axis %d, and this array has "
                                   "%lld; pass the last %lld, or compile a longer cache", of->name,
                                   state->name, (long long)state->shape[*axis], *axis,
                                   (long long)shape[*axis], (long long)state->shape[*axis]);
    return KGEN_OK;
}

kgen_status kgen_state_start(const kgen_program *program, const char *name, const void *data,
                             const int64_t *shape, int rank, void *into)
{
    size_t number;
    int axis;
    TRY(find_number(program, STATES, name, &number));
    const kgen_tensor *state = &program->states[number].tensor;
    if (data == NULL || (shape == NULL && rank != 0) || rank < 0)
        return kgen_argument_error("%s: %s is NULL, or has no shape", program->name, name);
    TRY(find_short_axis(program, state, shape, rank, &axis));
    /* Rows from the short axis on are contiguous in both. */
    size_t whole = state->nbytes, part = whole;
    for (int i = 0; i <= axis; i++)
        whole /= (size_t)state->shape[i];
    if (axis >= 0) {
        part = whole * (size_t)shape[axis];
        whole *= (size_t)state->shape[axis];
    }
    for (size_t at = 0, from = 0; at < state->nbytes; at += whole, from += part) {
        memcpy((unsigned char *)into + at, (const unsigned char *)data + from, part);
        memset((unsigned char *)into + at + part, 0, whole - part);
    }
    return KGEN_OK;
}

kgen_status kgen_session_set_state_start(kgen_session *session, const char *name, const void *data,
                                         const int64_t *shape, int rank)
{
    named_memory found;
    TRY(find(session, STATES, name, &found));
    return kgen_state_start(session->program, name, data, shape, rank, found.data);
}

/* ---- access in place ------------------------------------------------------------------------- */

void *kgen_session_input_data(kgen_session *session, const char *name)
{
    named_memory found;
    if (find(session, INPUTS, name, &found) != KGEN_OK)
        return NULL;
    note_set(session, found.number);
    return found.data;
}

const void *kgen_session_output_data(const kgen_session *session, const char *name)
{
    named_memory found;
    return find(session, OUTPUTS, name, &found) == KGEN_OK ? found.data : NULL;
}
