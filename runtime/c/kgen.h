/* C runtime of kgen: opens a .kgen bundle and runs its CPU kernels and programs.
 *
 * Requirements. Linux, macOS or Windows on x86-64 or AArch64. The comments of this file become the
 * tables of docs/reference/c-runtime.md, which has examples: make reference.
 *
 * Errors. A function that can fail returns a kgen_status; a function that finds a handle returns
 * NULL. kgen_last_error() then tells in one line the value, the limit and the remedy. A call that
 * fails leaves its results as they were, and nothing has run. A NULL handle is an error, whose
 * message repeats why the handle was not found; queries of it return 0 or NULL.
 *
 * Units. Sizes named nbytes are bytes; shapes and strides count elements, innermost last.
 *
 * Ownership. A bundle owns its kernels and programs, and their texts and descriptions; all are
 * valid until kgen_close. Calls and sessions belong to the caller, who destroys them before the
 * bundle is closed. Memory that is passed to a call stays the caller's.
 *
 * Threads. Any number of threads may use one bundle, its kernels and its programs at once. One
 * thread at a time may use a kgen_session or a kgen_call. No thread may be in a call when the
 * bundle is closed. A child of fork(2) may use what its parent had opened, if no other thread was
 * in a call at the fork; it makes threads of its own.
 *
 * Trust. The runtime checks what a bundle says of itself (docs/reference/bundle-format.md,
 * "Trust"). It cannot check what machine code does: load bundles from where you would load a
 * shared library. */
#ifndef KGEN_H
#define KGEN_H

#include <stddef.h>
#include <stdint.h>

/* A Windows program that uses kgen.dll may define KGEN_DLL; builds of libkgen define
 * KGEN_BUILDING. */
#if defined(_WIN32) && defined(KGEN_DLL) && defined(KGEN_BUILDING)
#define KGEN_API __declspec(dllexport)
#elif defined(_WIN32) && defined(KGEN_DLL)
#define KGEN_API __declspec(dllimport)
#elif defined(__GNUC__) && !defined(_WIN32)
#define KGEN_API __attribute__((visibility("default")))
#else
#define KGEN_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* ---- versions -------------------------------------------------------------------------------- */

/* Version of this header. A change of KGEN_ABI_VERSION breaks programs that are not compiled
 * again. */
#define KGEN_VERSION "0.1.0"
#define KGEN_VERSION_MAJOR 0
#define KGEN_VERSION_MINOR 1
#define KGEN_VERSION_PATCH 0
#define KGEN_ABI_VERSION 1

/* KGEN_VERSION and KGEN_ABI_VERSION of the library. A program that finds a shared library at run
 * time compares the second with its own. */
KGEN_API const char *kgen_version(void);
KGEN_API int kgen_abi_version(void);

/* ---- errors ---------------------------------------------------------------------------------- */

/* Result of a function that can fail. */
typedef enum kgen_status {
    KGEN_OK = 0,             /* success */
    KGEN_ERROR_ARGUMENT,     /* invalid argument: size, alignment, overlap or count */
    KGEN_ERROR_NOT_FOUND,    /* no file, kernel, program or tensor of this name */
    KGEN_ERROR_BUNDLE,       /* not a bundle, or one that contradicts itself */
    KGEN_ERROR_INTEGRITY,    /* bytes that do not match their digest or size */
    KGEN_ERROR_VERSION,      /* a bundle of another schema */
    KGEN_ERROR_DEVICE,       /* no code for this CPU in the bundle, or the system cannot map code */
    KGEN_ERROR_OUT_OF_MEMORY /* the system grants the process no more memory */
} kgen_status;

/* Message of this thread's last failed call: one line with the value, the limit and the remedy;
 * "" before the first failure. The text is valid until the thread's next failed call. */
KGEN_API const char *kgen_last_error(void);

/* ---- tensors --------------------------------------------------------------------------------- */

/* Most dimensions of a tensor. */
enum { KGEN_MAX_RANK = 8 };

/* Element types. A bool is a byte, 0 or 1. Only inputs and outputs of programs have s16 and u16. */
typedef enum kgen_dtype {
    KGEN_F64,
    KGEN_F32,
    KGEN_F16,
    KGEN_BF16,
    KGEN_E4M3,
    KGEN_E5M2,
    KGEN_E4M3FNUZ,
    KGEN_E5M2FNUZ,
    KGEN_S64,
    KGEN_S32,
    KGEN_S8,
    KGEN_U8,
    KGEN_BOOL,
    KGEN_S16,
    KGEN_U16
} kgen_dtype;

/* Name of a dtype in manifests, such as "f32"; NULL if the number is not a dtype. */
KGEN_API const char *kgen_dtype_name(kgen_dtype dtype);

/* Bytes of an element; 0 if the number is not a dtype. */
KGEN_API size_t kgen_dtype_size(kgen_dtype dtype);

/* Direction of a tensor. */
typedef enum kgen_role { KGEN_INPUT, KGEN_OUTPUT } kgen_role;

/* Argument of a kernel, or input, output or state of a program. Its address must be a multiple of
 * the element size. */
typedef struct kgen_tensor {
    const char *name;               /* name of the argument */
    kgen_role role;                 /* KGEN_INPUT or KGEN_OUTPUT */
    kgen_dtype dtype;               /* element type */
    int rank;                       /* number of dimensions */
    int64_t shape[KGEN_MAX_RANK];   /* sizes of the dimensions, innermost last */
    int64_t strides[KGEN_MAX_RANK]; /* elements between neighbours along each dimension; a kernel
                                       accepts no other strides */
    size_t nbytes;                  /* bytes from the first element to the end of the last */
    int packed;                     /* 1 if kgen_pack makes the tensor, else 0 */
} kgen_tensor;

/* ---- bundles --------------------------------------------------------------------------------- */

typedef struct kgen_bundle kgen_bundle;
typedef struct kgen_kernel kgen_kernel;
typedef struct kgen_program kgen_program;
typedef struct kgen_call kgen_call;
typedef struct kgen_session kgen_session;

/* Options of kgen_open; all-zero options are the default. */
typedef struct kgen_options {
    int num_threads;    /* threads per launch, 1 to 1024, the caller included; 0: every CPU that the
                           process, or its container, may use; 1 makes no threads */
    int verify_weights; /* 1: check the digests of weights too, which reads all of them */
} kgen_options;

/* Open the bundle at a path. The file is mapped and must not change until kgen_close; weights are
 * read when they are first used. Weight files outside of the bundle are searched in its folder.
 * If a kernel or a program has several entries, the one that uses the most features of the CPU is
 * loaded. Code that needs a feature that the CPU lacks is never mapped. `options` may be NULL. */
KGEN_API kgen_status kgen_open(const char *path, const kgen_options *options, kgen_bundle **bundle);

/* Open a bundle in the caller's memory, which must not change until kgen_close. Weights aligned
 * to 64 bytes are used in place; others are copied. Weight files outside of the bundle are not
 * found. */
KGEN_API kgen_status kgen_open_memory(const void *data, size_t nbytes, const kgen_options *options,
                                      kgen_bundle **bundle);

/* Release code, threads and mappings. NULL is allowed. */
KGEN_API void kgen_close(kgen_bundle *bundle);

/* Threads per launch. */
KGEN_API int kgen_num_threads(const kgen_bundle *bundle);

/* Entries of the bundle that are not used, by "target/key", each with a one-line reason: the
 * entry is for another device, or another entry suits this CPU better. NULL past the end. */
KGEN_API size_t kgen_num_skipped(const kgen_bundle *bundle);
KGEN_API const char *kgen_skipped_name(const kgen_bundle *bundle, size_t index);
KGEN_API const char *kgen_skipped_reason(const kgen_bundle *bundle, size_t index);

/* 1 if this CPU has a feature, the system enables it, and the environment does not hide it; else
 * 0. Names are those of targets, which are Linux's: "avx2", "avx512_bf16", "asimddp". */
KGEN_API int kgen_cpu_supports(const char *feature);

/* ---- kernels --------------------------------------------------------------------------------- */

/* Kernels in the order of the manifest; NULL past the end. */
KGEN_API size_t kgen_num_kernels(const kgen_bundle *bundle);
KGEN_API kgen_kernel *kgen_kernel_at(const kgen_bundle *bundle, size_t index);

/* Kernel of a key, such as "matmul_32x128x384_f32_nn_bias_relu"; NULL if there is none. */
KGEN_API kgen_kernel *kgen_find_kernel(const kgen_bundle *bundle, const char *key);

/* Key and target of a kernel, such as "x86-64-v3". */
KGEN_API const char *kgen_kernel_key(const kgen_kernel *kernel);
KGEN_API const char *kgen_kernel_target(const kgen_kernel *kernel);

/* Inputs and outputs in calling order, as `kgen inspect` shows them, without the constants that
 * the bundle holds. NULL past the end. */
KGEN_API size_t kgen_num_arguments(const kgen_kernel *kernel);
KGEN_API const kgen_tensor *kgen_argument(const kgen_kernel *kernel, size_t index);

/* Matrix that kgen_pack reads, if the argument is packed; else the argument. NULL past the end. */
KGEN_API const kgen_tensor *kgen_unpacked_argument(const kgen_kernel *kernel, size_t index);

/* Reorder the matrix of a packed argument, from nbytes of kgen_unpacked_argument to nbytes of
 * kgen_argument. The two must not overlap. Kernels of one target with equal packed shapes share a
 * packed matrix. */
KGEN_API kgen_status kgen_pack(const kgen_kernel *kernel, size_t index, const void *matrix,
                               size_t matrix_nbytes, void *packed, size_t packed_nbytes);

/* Memory of an argument. Inputs are not written. */
typedef struct kgen_buffer {
    void *data;    /* address */
    size_t nbytes; /* bytes at the address, at least those of the tensor */
} kgen_buffer;

/* Run a kernel on one buffer per argument, in order, and wait until it is finished. Each call
 * checks the count, the sizes, the alignment, and that no output overlaps another argument. A
 * scatter writes rows of its table: pass the table's memory as its output. Attention refuses a
 * kv_length above the number of its keys, and page numbers of valid keys that are out of range.
 * Scratch memory is reused by later calls. */
KGEN_API kgen_status kgen_run(kgen_kernel *kernel, const kgen_buffer *arguments, size_t count);

/* Run a kernel on one pointer per argument. Each call checks the count, the alignment and that no
 * pointer is NULL, and attention's numbers as kgen_run does, but neither sizes nor overlap. */
KGEN_API kgen_status kgen_run_pointers(kgen_kernel *kernel, void *const *arguments, size_t count);

/* Array with strides of its own, for kgen_run_strided. */
typedef struct kgen_array {
    void *data;             /* address of the first element */
    const int64_t *strides; /* elements between neighbours along each dimension of the argument; 0
                               repeats, negative ones reverse; NULL: those of the argument */
} kgen_array;

/* Run a kernel on arrays with any strides. Inputs whose strides or alignment the kernel does not
 * accept are copied first. Outputs and packed inputs have the strides of their argument. Neither
 * sizes nor overlap are checked. */
KGEN_API kgen_status kgen_run_strided(kgen_kernel *kernel, const kgen_array *arguments,
                                      size_t count);

/* Prepared call: its arguments are checked once, as by kgen_run. Each run reads and writes the
 * same memory and checks nothing. The call has its own scratch memory. Destroying NULL is
 * allowed. */
KGEN_API kgen_status kgen_call_create(kgen_kernel *kernel, const kgen_buffer *arguments,
                                      size_t count, kgen_call **call);
KGEN_API void kgen_call_destroy(kgen_call *call);
KGEN_API kgen_status kgen_call_run(kgen_call *call);

/* Number of launches of a call, and of independent tasks of a launch (0 past the end), for an
 * application with its own thread pool. Any threads may run the tasks of a launch, in any order,
 * each task exactly once. A launch may begin when all tasks of the previous one are finished. */
KGEN_API size_t kgen_num_launches(const kgen_kernel *kernel);
KGEN_API int64_t kgen_num_tasks(const kgen_kernel *kernel, size_t launch);

/* Run the tasks begin to end - 1 of a launch on the calling thread. Only the range is checked. */
KGEN_API kgen_status kgen_call_run_tasks(kgen_call *call, size_t launch, int64_t begin,
                                         int64_t end);

/* ---- programs -------------------------------------------------------------------------------- */

/* Programs in the order of the manifest; NULL past the end. */
KGEN_API size_t kgen_num_programs(const kgen_bundle *bundle);
KGEN_API kgen_program *kgen_program_at(const kgen_bundle *bundle, size_t index);

/* Program of a name; a NULL name finds the only program. NULL if there is none. */
KGEN_API kgen_program *kgen_find_program(const kgen_bundle *bundle, const char *name);

/* Name and target of a program. */
KGEN_API const char *kgen_program_name(const kgen_program *program);
KGEN_API const char *kgen_program_target(const kgen_program *program);

/* Inputs, outputs and states, row-major without gaps; a state keeps its value from one run to the
 * next. NULL past the end. */
KGEN_API size_t kgen_num_inputs(const kgen_program *program);
KGEN_API size_t kgen_num_outputs(const kgen_program *program);
KGEN_API size_t kgen_num_states(const kgen_program *program);
KGEN_API const kgen_tensor *kgen_input(const kgen_program *program, size_t index);
KGEN_API const kgen_tensor *kgen_output(const kgen_program *program, size_t index);
KGEN_API const kgen_tensor *kgen_state(const kgen_program *program, size_t index);

/* Steps of a program in order: the kernel of each, and the names of the ONNX nodes that it
 * computes. NULL past the end. */
KGEN_API size_t kgen_num_steps(const kgen_program *program);
KGEN_API const kgen_kernel *kgen_step_kernel(const kgen_program *program, size_t step);
KGEN_API size_t kgen_num_step_nodes(const kgen_program *program, size_t step);
KGEN_API const char *kgen_step_node(const kgen_program *program, size_t step, size_t index);

/* Session: memory of one run at a time, with inputs, outputs, intermediate values and states,
 * zero at first. Sessions of a program share its weights and may run concurrently. Destroying
 * NULL is allowed. */
KGEN_API kgen_status kgen_session_create(kgen_program *program, kgen_session **session);
KGEN_API void kgen_session_destroy(kgen_session *session);

/* Copy all bytes of an input into the session. The input keeps its value until it is set again. */
KGEN_API kgen_status kgen_session_set_input(kgen_session *session, const char *name,
                                            const void *data, size_t nbytes);

/* Copy an input into the session from an array with any strides: elements between neighbours
 * along each dimension, where 0 repeats and negative ones reverse. The size is not checked. */
KGEN_API kgen_status kgen_session_set_input_strided(kgen_session *session, const char *name,
                                                    const void *data, const int64_t *strides);

/* Run the program once and wait until it is finished. The run is refused if an input was never
 * set, or if lengths or pages that attention reads from an input are out of range. The call fails
 * after the run if an output has more elements than its shape; the message names the option of
 * kgen compile. A write past the end of a state is ignored: check the index before the run. */
KGEN_API kgen_status kgen_session_run(kgen_session *session);

/* Run the program once, and write the nanoseconds of each of its steps. */
KGEN_API kgen_status kgen_session_profile(kgen_session *session, int64_t *nanoseconds,
                                          size_t num_steps);

/* Copy all bytes of an output of the last run to the caller. */
KGEN_API kgen_status kgen_session_get_output(const kgen_session *session, const char *name,
                                             void *data, size_t nbytes);

/* Write the sizes of an output after the last run, one for each dimension. If they depend on
 * data, kgen_output has the largest sizes, and the elements keep its strides. The call fails if
 * the last run had more elements than the output's shape; the message names the option of kgen
 * compile. */
KGEN_API kgen_status kgen_session_output_shape(const kgen_session *session, const char *name,
                                               int64_t *shape);

/* Address of an input or output in the session, aligned to 256 bytes, to write or read in place
 * between runs. Every run uses this memory; an input counts as set once its address was
 * requested. NULL if there is none of this name. */
KGEN_API void *kgen_session_input_data(kgen_session *session, const char *name);
KGEN_API const void *kgen_session_output_data(const kgen_session *session, const char *name);

/* Copy a state into or out of the session, or zero all states (reset). */
KGEN_API kgen_status kgen_session_set_state(kgen_session *session, const char *name,
                                            const void *data, size_t nbytes);
KGEN_API kgen_status kgen_session_get_state(const kgen_session *session, const char *name,
                                            void *data, size_t nbytes);
KGEN_API void kgen_session_reset(kgen_session *session);

/* Copy the start of a state into the session, such as a cache of fewer tokens: an array with the
 * rank and the sizes of the state, but shorter along at most one axis, row-major without gaps.
 * Zeros follow. */
KGEN_API kgen_status kgen_session_set_state_start(kgen_session *session, const char *name,
                                                  const void *data, const int64_t *shape,
                                                  int rank);

#ifdef __cplusplus
}
#endif

#endif
