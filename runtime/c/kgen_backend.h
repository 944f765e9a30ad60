/* Low-level functions of libkgen with which the Python runtime runs CPU kernels
 * (kgen_runtime/libkgen.py). No other program may use them: they check no arguments and change
 * without notice. The caller owns all structures; those of jobs consist of 64-bit words. */
#ifndef KGEN_BACKEND_H
#define KGEN_BACKEND_H

#include "kgen.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Version of the declarations of this file and of kgen_reader.h. Raise it with every change of
 * them: callers that mirror them in another language compare it with the version that they
 * mirror. */
#define KGEN_BACKEND_VERSION 2
KGEN_API int kgen_backend_version(void);

/* ---- the CPU --------------------------------------------------------------------------------- */

/* Facts about the CPU; an unknown text is "". */
typedef struct kgen_cpu_facts {
    char arch[16];      /* architecture by Linux's name: x86_64, aarch64 */
    char name[64];      /* model name from CPUID */
    char vendor[16];    /* vendor from CPUID, such as GenuineIntel */
    char features[512]; /* features by the names of kgen_cpu_supports, separated by blanks */
    int64_t family, model;
} kgen_cpu_facts;

KGEN_API kgen_status kgen_cpu_describe(kgen_cpu_facts *into);

/* Number of CPUs that this process may use now. */
KGEN_API int kgen_cpu_count(void);

/* Request AMX tile state from the system, for the whole process. */
KGEN_API kgen_status kgen_cpu_request_tiles(void);

/* ---- machine code ---------------------------------------------------------------------------- */

typedef struct kgen_code kgen_code;

/* Bytes of a shared object. They are read only during kgen_code_map. */
typedef struct kgen_object {
    const void *data;
    uint64_t nbytes;
} kgen_object;

/* Function of an object, by the object's number. kgen_code_map writes the address. */
typedef struct kgen_function {
    const char *name;
    uint64_t object, address;
} kgen_function;

/* Map objects into one block of memory, which profilers show as `name`. */
KGEN_API kgen_status kgen_code_map(const kgen_object *objects, size_t num_objects,
                                   kgen_function *functions, size_t num_functions,
                                   const char *name, kgen_code **code);
KGEN_API void kgen_code_unmap(kgen_code *code);

/* ---- jobs ------------------------------------------------------------------------------------ */

/* Threads that share the tasks of a launch. The pool starts them on first use; in a child of
 * fork(2) it starts new ones. kgen_pool_create returns NULL if memory does not suffice. */
typedef struct kgen_pool kgen_pool;
KGEN_API kgen_pool *kgen_pool_create(int num_threads);
KGEN_API void kgen_pool_destroy(kgen_pool *threads);

/* Function of a kernel, with measurements: the shortest times in nanoseconds with one thread and
 * with all, and the number of timed runs. Concurrent launches may overwrite each other's
 * measurements, which costs a timed run. */
typedef struct kgen_launch {
    uint64_t function;
    int64_t num_pointers, num_tasks;
    int64_t alone, shared, trials; /* zero at first */
} kgen_launch;

/* Launch with its memory: one pointer per argument. */
typedef struct kgen_job {
    kgen_launch *launch;
    void **pointers;
} kgen_job;

/* Jobs that run one after another. The first runs of a job are timed: some with one thread, then
 * up to `shared_trials` with all threads. Later runs use all threads if that was faster. */
typedef struct kgen_jobs {
    kgen_pool *threads;
    kgen_job *jobs;
    int64_t count, shared_trials;
    int64_t is_shared; /* whether the last run shared a job; zero at first */
} kgen_jobs;

/* Run all jobs. */
KGEN_API void kgen_jobs_run(kgen_jobs *all);

/* Run all jobs, and write the nanoseconds of each step. A step's jobs end before `ends[step]`. */
KGEN_API void kgen_jobs_profile(kgen_jobs *all, const int64_t *ends, size_t num_steps,
                                int64_t *nanoseconds);

/* ---- packed matrices ------------------------------------------------------------------------- */

/* Order of a packed matrix, as in the manifest: bytes of an element; shape and strides (in
 * elements) of the matrices before packing; and steps along K per panel. */
typedef struct kgen_packing {
    int64_t itemsize, rank, shape[KGEN_MAX_RANK], strides[KGEN_MAX_RANK];
    int64_t transposed, width, depth, steps, num_runs;
    const int64_t *runs;
} kgen_packing;

/* Pack matrices and fill unused places with zeros. If `unpacks` is not 0, write the elements of
 * the matrices from the packed ones. */
KGEN_API void kgen_pack_matrices(const kgen_packing *order, void *matrix, void *packed,
                                 size_t packed_nbytes, int unpacks);

/* ---- programs -------------------------------------------------------------------------------- */

/* Return a program of a bundle that kgen_read opened, by "target/name"; NULL if there is none. */
KGEN_API kgen_program *kgen_read_program(const kgen_bundle *bundle, const char *name);

/* Set the code and the constants of a kernel of a bundle that kgen_read opened, by "target/key":
 * the function of each launch, and the constant of each parameter (NULL if the parameter is an
 * argument). Functions and constants must stay valid while sessions use them. */
KGEN_API kgen_status kgen_settle_kernel(kgen_bundle *bundle, const char *name,
                                        const uint64_t *functions, const void *const *constants);

/* Set the weights of a program of a bundle that kgen_read opened. They must stay valid while
 * sessions use them. */
KGEN_API void kgen_settle_weights(kgen_program *program, const void *const *weights);

/* Create a session of a program whose kernels and weights are set. Inputs and outputs use the
 * caller's memory, or new memory if `inputs` or `outputs` is NULL. */
KGEN_API kgen_status kgen_session_create_on(kgen_program *program, kgen_pool *threads,
                                            void *const *inputs, void *const *outputs,
                                            kgen_session **session);

/* Run one step of a program. */
KGEN_API void kgen_session_run_step(kgen_session *session, size_t step);

/* Return the address of a parameter of a step's kernel. */
KGEN_API const void *kgen_session_step_data(const kgen_session *session, size_t step,
                                            size_t parameter);

/* Write the bytes of a state as by kgen_session_set_state_start, for sessions on other devices. */
KGEN_API kgen_status kgen_state_start(const kgen_program *program, const char *name,
                                      const void *data, const int64_t *shape, int rank,
                                      void *into);

#ifdef __cplusplus
}
#endif

#endif
