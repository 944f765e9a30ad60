/* What tests ask of the C runtime, on the command line: tensors come from files and go to files.
 *
 *   driver BUNDLE THREADS COMMAND...     BUNDLE: a path, or memory:PATH to open its bytes
 *   list                                 kernels, arguments, programs, and what is skipped
 *   run|pointers|call|tasks KEY FILE...  one file for each argument; those of outputs are written
 *   pack KEY ARGUMENT MATRIX PACKED
 *   program NAME RUNS FILE...            inputs, then outputs, of the last of some runs
 *   states NAME RUNS FILE...             the same, and a reset and one more run behind it
 *   threads KEY COUNT RUNS FILE...       threads that call one kernel at once, each with own memory
 *   sessions NAME COUNT RUNS FILE...     threads with a session each
 *   fork KEY FILE...                     runs in a child after a run in the parent
 *   weights                              opens with verify_weights
 */
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#if !defined(_WIN32)
#include <sys/wait.h>
#include <unistd.h>
#endif

#include "kgen.h"

static void fail(const char *what)
{
    fprintf(stderr, "%s\n", what);
    exit(1);
}

static void check(kgen_status status)
{
    if (status != KGEN_OK) {
        fprintf(stderr, "%d: %s\n", status, kgen_last_error());
        exit(1);
    }
}

static void *read_file(const char *path, size_t *nbytes)
{
    FILE *file = fopen(path, "rb");
    if (file == NULL)
        fail(path);
    fseek(file, 0, SEEK_END);
    *nbytes = (size_t)ftell(file);
    rewind(file);
    void *data = malloc(*nbytes + 1);
    if (data == NULL || fread(data, 1, *nbytes, file) != *nbytes)
        fail(path);
    fclose(file);
    return data;
}

static void write_file(const char *path, const void *data, size_t nbytes)
{
    FILE *file = fopen(path, "wb");
    if (file == NULL || fwrite(data, 1, nbytes, file) != nbytes || fclose(file) != 0)
        fail(path);
}

static void print_tensor(const char *what, const kgen_tensor *of)
{
    printf("  %s %s %s", what, of->name, kgen_dtype_name(of->dtype));
    for (int i = 0; i < of->rank; i++)
        printf(" %lld:%lld", (long long)of->shape[i], (long long)of->strides[i]);
    printf(" %zu bytes%s\n", of->nbytes, of->packed ? " packed" : "");
}

static void list(const kgen_bundle *of)
{
    for (size_t i = 0; i < kgen_num_kernels(of); i++) {
        const kgen_kernel *one = kgen_kernel_at(of, i);
        printf("kernel %s %s\n", kgen_kernel_target(one), kgen_kernel_key(one));
        for (size_t a = 0; a < kgen_num_arguments(one); a++)
            print_tensor(kgen_argument(one, a)->role == KGEN_INPUT ? "input" : "output",
                         kgen_argument(one, a));
        for (size_t l = 0; l < kgen_num_launches(one); l++)
            printf("  tasks %lld\n", (long long)kgen_num_tasks(one, l));
    }
    for (size_t i = 0; i < kgen_num_programs(of); i++) {
        const kgen_program *one = kgen_program_at(of, i);
        printf("program %s %s\n", kgen_program_target(one), kgen_program_name(one));
        for (size_t a = 0; a < kgen_num_inputs(one); a++)
            print_tensor("input", kgen_input(one, a));
        for (size_t a = 0; a < kgen_num_outputs(one); a++)
            print_tensor("output", kgen_output(one, a));
        for (size_t a = 0; a < kgen_num_states(one); a++)
            print_tensor("state", kgen_state(one, a));
    }
    for (size_t i = 0; i < kgen_num_skipped(of); i++)
        printf("skipped %s: %s\n", kgen_skipped_name(of, i), kgen_skipped_reason(of, i));
    printf("threads %d\n", kgen_num_threads(of));
}

static kgen_kernel *find(const kgen_bundle *of, const char *key)
{
    kgen_kernel *found = kgen_find_kernel(of, key);
    if (found == NULL)
        fail(kgen_last_error());
    return found;
}

/* Buffers from the files of inputs; outputs are poisoned, or are the input of the same file. */
static kgen_buffer *buffers(const kgen_kernel *of, char **files, int count)
{
    kgen_buffer *made = calloc((size_t)count + 1, sizeof *made);
    for (int i = 0; i < count; i++) {
        const kgen_tensor *wanted = kgen_argument(of, (size_t)i);
        if (wanted == NULL || wanted->role == KGEN_INPUT) {
            made[i].data = read_file(files[i], &made[i].nbytes);
            continue;
        }
        made[i].nbytes = wanted->nbytes;
        for (int j = 0; j < i && made[i].data == NULL; j++)
            if (strcmp(files[i], files[j]) == 0)
                made[i].data = made[j].data;
        if (made[i].data == NULL) {
            made[i].data = malloc(wanted->nbytes);
            memset(made[i].data, 0xa5, wanted->nbytes);
        }
    }
    return made;
}

/* What an earlier run has left in outputs is no result of this one. (A table is an input too.) */
static void poison(const kgen_kernel *of, const kgen_buffer *with, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (kgen_argument(of, i)->role == KGEN_OUTPUT && with[i].data != with[0].data)
            memset(with[i].data, 0xa5, with[i].nbytes);
}

static void run_as(const char *how, kgen_kernel *of, const kgen_buffer *with, size_t count)
{
    if (strcmp(how, "run") == 0) {
        check(kgen_run(of, with, count));
    } else if (strcmp(how, "pointers") == 0) {
        void *pointers[64];
        for (size_t i = 0; i < count; i++)
            pointers[i] = with[i].data;
        check(kgen_run_pointers(of, pointers, count));
    } else {
        kgen_call *call = NULL;
        check(kgen_call_create(of, with, count, &call));
        if (strcmp(how, "call") == 0) {
            for (int i = 0; i < 120; i++) { /* trials alone, trials shared, and as was faster */
                poison(of, with, count);
                check(kgen_call_run(call));
            }
        } else {
            /* Each task on its own, the last one first. */
            for (size_t l = 0; l < kgen_num_launches(of); l++)
                for (int64_t task = kgen_num_tasks(of, l); task-- > 0;)
                    check(kgen_call_run_tasks(call, l, task, task + 1));
        }
        kgen_call_destroy(call);
    }
}

/* Write the outputs, and give the buffers back. */
static void finish(const kgen_kernel *of, kgen_buffer *with, char **files, int count)
{
    for (int i = 0; i < count && files != NULL; i++) {
        if (kgen_argument(of, (size_t)i)->role == KGEN_OUTPUT)
            write_file(files[i], with[i].data, with[i].nbytes);
    }
    for (int i = 0; i < count; i++) {
        bool is_last = true; /* of those that share its memory */
        for (int j = i + 1; j < count; j++)
            is_last = is_last && with[j].data != with[i].data;
        if (is_last)
            free(with[i].data);
    }
    free(with);
}

static void set_inputs(kgen_session *of, const kgen_program *program, char **files)
{
    for (size_t i = 0; i < kgen_num_inputs(program); i++) {
        size_t nbytes;
        void *data = read_file(files[i], &nbytes);
        check(kgen_session_set_input(of, kgen_input(program, i)->name, data, nbytes));
        free(data);
    }
}

/* The inputs of all runs but the last are zero, so that what they leave is no right result. */
static void run_to_the_last(kgen_session *of, const kgen_program *program, int runs, char **files)
{
    for (size_t i = 0; i < kgen_num_inputs(program); i++) {
        const kgen_tensor *one = kgen_input(program, i);
        memset(kgen_session_input_data(of, one->name), 0, one->nbytes);
    }
    for (int i = 1; i < runs; i++)
        check(kgen_session_run(of));
    set_inputs(of, program, files);
    check(kgen_session_run(of));
}

static void write_outputs(kgen_session *of, const kgen_program *program, char **files)
{
    for (size_t i = 0; i < kgen_num_outputs(program); i++) {
        const kgen_tensor *one = kgen_output(program, i);
        void *data = malloc(one->nbytes);
        check(kgen_session_get_output(of, one->name, data, one->nbytes));
        if (memcmp(data, kgen_session_output_data(of, one->name), one->nbytes) != 0)
            fail("an output is not what lies in the session");
        write_file(files[i], data, one->nbytes);
        free(data);
    }
}

static kgen_program *find_program(const kgen_bundle *of, const char *name)
{
    kgen_program *found = kgen_find_program(of, *name ? name : NULL);
    if (found == NULL)
        fail(kgen_last_error());
    return found;
}

static void run_program(const kgen_bundle *of, const char *name, int runs, char **files, int count,
                        int resets)
{
    kgen_program *program = find_program(of, name);
    kgen_session *session = NULL;
    size_t inputs = kgen_num_inputs(program), outputs = kgen_num_outputs(program);
    if ((size_t)count != inputs + outputs * (size_t)(1 + resets))
        fail("not a file for each input and output");
    check(kgen_session_create(program, &session));
    if (!resets) {
        run_to_the_last(session, program, runs, files);
        write_outputs(session, program, files + inputs);
    } else {
        set_inputs(session, program, files);
        for (int i = 0; i < runs; i++)
            check(kgen_session_run(session));
        write_outputs(session, program, files + inputs);
        kgen_session_reset(session);
        check(kgen_session_run(session));
        write_outputs(session, program, files + inputs + outputs);
    }
    kgen_session_destroy(session);
}

/* ---- several threads ------------------------------------------------------------------------- */

typedef struct caller {
    pthread_t thread;
    kgen_kernel *kernel;
    kgen_program *program;
    char **files;
    int count, runs;
    void *output; /* of the last argument, or the first output */
    size_t nbytes;
} caller;

static void *call_kernel(void *argument)
{
    caller *is = argument;
    kgen_buffer *with = buffers(is->kernel, is->files, is->count);
    kgen_buffer *zeros = buffers(is->kernel, is->files, is->count);
    for (int i = 0; i < is->count; i++)
        memset(zeros[i].data, 0, zeros[i].nbytes);
    /* By turns with inputs of zeros, so that what a run leaves in scratch memory is not right for
     * the next one. */
    for (int left = is->runs; left > 0; left--) {
        poison(is->kernel, with, (size_t)is->count);
        check(kgen_run(is->kernel, left % 2 ? with : zeros, (size_t)is->count));
    }
    finish(is->kernel, zeros, NULL, is->count);
    is->nbytes = with[is->count - 1].nbytes;
    is->output = malloc(is->nbytes);
    memcpy(is->output, with[is->count - 1].data, is->nbytes);
    finish(is->kernel, with, NULL, is->count);
    return NULL;
}

static void *call_program(void *argument)
{
    caller *is = argument;
    kgen_session *session = NULL;
    const kgen_tensor *out = kgen_output(is->program, 0);
    check(kgen_session_create(is->program, &session));
    run_to_the_last(session, is->program, is->runs, is->files);
    is->nbytes = out->nbytes;
    is->output = malloc(out->nbytes);
    check(kgen_session_get_output(session, out->name, is->output, out->nbytes));
    kgen_session_destroy(session);
    return NULL;
}

/* All of them have to give the same; the last file gets it. */
static void run_threads(void *body(void *), kgen_kernel *kernel, kgen_program *program, int threads,
                        int runs, char **files, int count)
{
    caller *all = calloc((size_t)threads, sizeof *all);
    for (int i = 0; i < threads; i++) {
        all[i] = (caller){0, kernel, program, files, count, runs, NULL, 0};
        if (pthread_create(&all[i].thread, NULL, body, &all[i]) != 0)
            fail("no thread");
    }
    for (int i = 0; i < threads; i++) {
        pthread_join(all[i].thread, NULL);
        if (memcmp(all[0].output, all[i].output, all[0].nbytes) != 0)
            fail("threads differ");
    }
    write_file(files[count - 1], all[0].output, all[0].nbytes);
    for (int i = 0; i < threads; i++)
        free(all[i].output);
    free(all);
}

#if !defined(_WIN32)
static void run_in_child(kgen_kernel *of, char **files, int count)
{
    kgen_buffer *with = buffers(of, files, count);
    for (int i = 0; i < 20; i++)
        check(kgen_run(of, with, (size_t)count));
    memset(with[count - 1].data, 0xa5, with[count - 1].nbytes);
    pid_t child = fork();
    int status = 0;
    if (child == 0) {
        check(kgen_run(of, with, (size_t)count));
        write_file(files[count - 1], with[count - 1].data, with[count - 1].nbytes);
    } else if (waitpid(child, &status, 0) != child || status != 0) {
        fail("the child failed");
    }
    finish(of, with, NULL, count); /* the child too ends as a program does */
}
#endif

int main(int count, char **words)
{
    if (count < 4)
        fail("driver BUNDLE THREADS COMMAND...");
    static const char memory[] = "memory:";
    const char *path = words[1], *command = words[3];
    kgen_options options = {atoi(words[2]), strcmp(command, "weights") == 0};
    kgen_bundle *bundle = NULL;
    void *bytes = NULL;
    if (strncmp(path, memory, sizeof memory - 1) == 0) {
        size_t nbytes;
        bytes = read_file(path + sizeof memory - 1, &nbytes);
        check(kgen_open_memory(bytes, nbytes, &options, &bundle));
    } else {
        check(kgen_open(path, &options, &bundle));
    }
    if (strcmp(command, "list") == 0) {
        list(bundle);
    } else if (strcmp(command, "pack") == 0) {
        kgen_kernel *kernel = find(bundle, words[4]);
        size_t argument = (size_t)atoi(words[5]), nbytes;
        void *matrix = read_file(words[6], &nbytes);
        const kgen_tensor *packed = kgen_argument(kernel, argument);
        size_t room = packed != NULL ? packed->nbytes : 1;
        void *data = malloc(room);
        check(kgen_pack(kernel, argument, matrix, nbytes, data, room));
        write_file(words[7], data, room);
        free(matrix);
        free(data);
    } else if (strcmp(command, "program") == 0 || strcmp(command, "states") == 0) {
        run_program(bundle, words[4], atoi(words[5]), words + 6, count - 6, *command == 's');
    } else if (strcmp(command, "threads") == 0) {
        run_threads(call_kernel, find(bundle, words[4]), NULL, atoi(words[5]), atoi(words[6]),
                    words + 7, count - 7);
    } else if (strcmp(command, "sessions") == 0) {
        run_threads(call_program, NULL, find_program(bundle, words[4]), atoi(words[5]),
                    atoi(words[6]), words + 7, count - 7);
#if !defined(_WIN32)
    } else if (strcmp(command, "fork") == 0) {
        run_in_child(find(bundle, words[4]), words + 5, count - 5);
#endif
    } else if (strcmp(command, "weights") != 0) {
        kgen_kernel *kernel = find(bundle, words[4]);
        kgen_buffer *with = buffers(kernel, words + 5, count - 5);
        run_as(command, kernel, with, (size_t)(count - 5));
        finish(kernel, with, words + 5, count - 5);
    }
    kgen_close(bundle);
    free(bytes);
    return 0;
}
