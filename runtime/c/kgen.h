/* kgen's C runtime: opens a .kgen bundle and runs its CPU kernels and programs.
 *
 * It needs libc and pthreads, Linux on x86-64 or aarch64, and neither Python nor a compiler where
 * it runs. docs/reference/c-runtime.md has examples and a table of the functions.
 *
 * Errors. A function that can fail returns a kgen_status, KGEN_OK (0) for success; one that gives a
 * handle by name returns NULL. Either way kgen_last_error() then says in one line what was wrong,
 * the limit and what to do. A failed call leaves its results as they were, and nothing has run.
 *
 * Units. Sizes named nbytes are bytes; shapes and strides count elements, innermost last.
 *
 * Ownership. A bundle owns its kernels and programs and all texts and descriptions that they give;
 * they are valid until kgen_close. Calls and sessions belong to the caller, who destroys them
 * before the bundle is closed. Memory that is passed to a call stays the caller's.
 *
 * Threads. Any number of threads may use one bundle, its kernels and its programs at once. A
 * kgen_session is for one thread at a time, and so is kgen_call_run of one kgen_call. Nobody may be
 * in a call when the bundle is closed. A child of fork(2), which is for a moment when no other
 * thread is in a call, goes on with what the parent had opened, on its calling threads alone.
 *
 * Trust. What a bundle says of itself is checked (docs/reference/bundle-format.md, "Trust"); what its
 * machine code does cannot be. Load bundles from where you would load a shared library from. */
#ifndef KGEN_H
#define KGEN_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- errors ---------------------------------------------------------------------------------- */

typedef enum kgen_status {
    KGEN_OK = 0,
    KGEN_ERROR_ARGUMENT,     /* a wrong argument: a size, an alignment, an overlap, a count */
    KGEN_ERROR_NOT_FOUND,    /* no file, kernel, program or tensor of this name */
    KGEN_ERROR_BUNDLE,       /* not a bundle, or one that contradicts itself */
    KGEN_ERROR_INTEGRITY,    /* bytes of another digest or size than the manifest says */
    KGEN_ERROR_VERSION,      /* a manifest of a schema that this runtime does not read */
    KGEN_ERROR_DEVICE,       /* nothing in it runs on this CPU, or the system refuses to map code */
    KGEN_ERROR_OUT_OF_MEMORY
} kgen_status;

/* What went wrong in this thread's last call that failed, on one line; "" before the first. The
 * text is the thread's own and stays until its next call that fails. */
const char *kgen_last_error(void);

/* ---- tensors --------------------------------------------------------------------------------- */

enum { KGEN_MAX_RANK = 8 };

/* Element types. A bool is a byte, 0 or 1; the 8-bit floats are those of docs/reference/bundle-format.md. */
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
    KGEN_BOOL
} kgen_dtype;

/* The name in manifests: "f32", "bf16", ...; NULL for a number that is no type. */
const char *kgen_dtype_name(kgen_dtype dtype);

/* Bytes of an element; 0 for a number that is no type. */
size_t kgen_dtype_size(kgen_dtype dtype);

typedef enum kgen_role { KGEN_INPUT, KGEN_OUTPUT } kgen_role;

/* A tensor that a kernel or a program takes. Neighbours along dimension i lie strides[i] elements
 * apart. With `packed` it is the packed form of a constant matrix: kgen_pack makes it. */
typedef struct kgen_tensor {
    const char *name;
    kgen_role role;
    kgen_dtype dtype;
    int rank;
    int64_t shape[KGEN_MAX_RANK];
    int64_t strides[KGEN_MAX_RANK];
    size_t nbytes; /* from the first to the end of the last element */
    int packed;    /* 1 or 0 */
} kgen_tensor;

/* ---- bundles --------------------------------------------------------------------------------- */

typedef struct kgen_bundle kgen_bundle;
typedef struct kgen_kernel kgen_kernel;
typedef struct kgen_program kgen_program;
typedef struct kgen_call kgen_call;
typedef struct kgen_session kgen_session;

/* Options of kgen_open; all zero is the default. */
typedef struct kgen_options {
    int num_threads;    /* threads of a launch, the caller's among them, 1 to 1024; 0: all CPUs that
                           this process may use. 1 never makes a thread */
    int verify_weights; /* 1: check the digests of programs' weights too, which reads all of them */
} kgen_options;

/* Open the bundle at a path. The file is mapped: weights are read where they lie, when they are
 * first used, so it has to stay as it is until kgen_close. Weights that are not in it are looked
 * for beside it. Of several entries for one kernel or program that is taken which uses most of
 * what this CPU has; none that needs more than it has is ever loaded. `options` may be NULL. */
kgen_status kgen_open(const char *path, const kgen_options *options, kgen_bundle **bundle);

/* Open a bundle that lies in memory, which stays the caller's, unchanged until kgen_close. Weights
 * are read where they lie if they start at a multiple of 64 bytes, else copied; weights beside a
 * bundle are not found. */
kgen_status kgen_open_memory(const void *data, size_t nbytes, const kgen_options *options,
                             kgen_bundle **bundle);

/* Give everything back: code, threads, mappings. NULL is allowed. */
void kgen_close(kgen_bundle *bundle);

/* Threads of a launch, as kgen_open settled them. */
int kgen_num_threads(const kgen_bundle *bundle);

/* Entries of the manifest that are not used, and one line each that says why: those for other
 * devices, and those that another suits this CPU better than. Names are "target/key". */
size_t kgen_num_skipped(const kgen_bundle *bundle);
const char *kgen_skipped_name(const kgen_bundle *bundle, size_t index);   /* NULL past the end */
const char *kgen_skipped_reason(const kgen_bundle *bundle, size_t index); /* NULL past the end */

/* ---- kernels --------------------------------------------------------------------------------- */

size_t kgen_num_kernels(const kgen_bundle *bundle);

/* The kernels in the order of the manifest; NULL past the end. */
kgen_kernel *kgen_kernel_at(const kgen_bundle *bundle, size_t index);

/* The kernel of this key, such as "matmul_32x128x384_f32_nn_bias_relu"; NULL if there is none. */
kgen_kernel *kgen_find_kernel(const kgen_bundle *bundle, const char *key);

const char *kgen_kernel_key(const kgen_kernel *kernel);
const char *kgen_kernel_target(const kgen_kernel *kernel); /* "x86-64-v3", ... */

/* The arguments of a call: inputs and outputs in calling order, as `kgen inspect` shows them.
 * Inputs whose bytes are in the bundle (constants) are not among them. */
size_t kgen_num_arguments(const kgen_kernel *kernel);
const kgen_tensor *kgen_argument(const kgen_kernel *kernel, size_t index); /* NULL past the end */

/* An argument as the operation has it: for a packed one the matrix that kgen_pack takes, for any
 * other the argument itself. NULL past the end. */
const kgen_tensor *kgen_unpacked_argument(const kgen_kernel *kernel, size_t index);

/* Bring the matrix of a packed argument, kgen_unpacked_argument's nbytes of it, in the order
 * that the kernel takes: kgen_argument's nbytes. The two may not overlap. All kernels of one
 * target whose packed shapes are equal take the same packed matrix. */
kgen_status kgen_pack(const kgen_kernel *kernel, size_t index, const void *matrix,
                      size_t matrix_nbytes, void *packed, size_t packed_nbytes);

/* Memory of an argument. Inputs are only read. */
typedef struct kgen_buffer {
    void *data;
    size_t nbytes; /* what there is at `data`, at least the tensor's nbytes */
} kgen_buffer;

/* Run a kernel: one buffer for each argument, in order. Checked are the count, the sizes, that each
 * address is a multiple of the element's size, and that no output overlaps another argument (by the
 * bytes that they span). The kernel of a scatter writes rows of its table: there the output has to
 * be the table's own memory. Done on return; large work is shared with the bundle's threads. */
kgen_status kgen_run(kgen_kernel *kernel, const kgen_buffer *arguments, size_t count);

/* The same for callers that know their sizes: one pointer for each argument. Checked are the count,
 * that no pointer is NULL, and alignment. */
kgen_status kgen_run_pointers(kgen_kernel *kernel, void *const *arguments, size_t count);

/* A call whose arguments are settled: checked once as by kgen_run, run as often as wanted. It reads
 * and writes the same memory each time and has scratch memory of its own. */
kgen_status kgen_call_create(kgen_kernel *kernel, const kgen_buffer *arguments, size_t count,
                             kgen_call **call);
void kgen_call_destroy(kgen_call *call); /* NULL is allowed */
kgen_status kgen_call_run(kgen_call *call);

/* For an application with a thread pool of its own: a call is kgen_num_launches launches in order,
 * and a launch is kgen_num_tasks independent tasks, which any threads may do in any order and at
 * once, each exactly once and all of them before the next launch begins. A thread needs 320 KiB of
 * stack and a C program's floating-point environment. */
size_t kgen_num_launches(const kgen_kernel *kernel);
int64_t kgen_num_tasks(const kgen_kernel *kernel, size_t launch); /* 0 past the end */

/* Do the tasks begin to end - 1 of a launch on the calling thread. */
kgen_status kgen_call_run_tasks(kgen_call *call, size_t launch, int64_t begin, int64_t end);

/* ---- programs -------------------------------------------------------------------------------- */

size_t kgen_num_programs(const kgen_bundle *bundle);
kgen_program *kgen_program_at(const kgen_bundle *bundle, size_t index); /* NULL past the end */

/* The program of this name; with NULL the bundle's only one. NULL if there is none. */
kgen_program *kgen_find_program(const kgen_bundle *bundle, const char *name);

const char *kgen_program_name(const kgen_program *program);
const char *kgen_program_target(const kgen_program *program);

/* Inputs and outputs are packed: row-major without gaps. States live from one run to the next. */
size_t kgen_num_inputs(const kgen_program *program);
size_t kgen_num_outputs(const kgen_program *program);
size_t kgen_num_states(const kgen_program *program);
const kgen_tensor *kgen_input(const kgen_program *program, size_t index);  /* NULL past the end */
const kgen_tensor *kgen_output(const kgen_program *program, size_t index); /* NULL past the end */
const kgen_tensor *kgen_state(const kgen_program *program, size_t index);  /* NULL past the end */

/* What one run of a program needs for itself: inputs, outputs, intermediate values, states (zero at
 * first). Sessions of one program share its weights and may run at once. */
kgen_status kgen_session_create(kgen_program *program, kgen_session **session);
void kgen_session_destroy(kgen_session *session); /* NULL is allowed */

/* Copy an input in, all of its bytes. It stays until it is set again. */
kgen_status kgen_session_set_input(kgen_session *session, const char *name, const void *data,
                                   size_t nbytes);

/* Run the program once. Done on return. */
kgen_status kgen_session_run(kgen_session *session);

/* Copy an output of the last run out, all of its bytes. */
kgen_status kgen_session_get_output(const kgen_session *session, const char *name, void *data,
                                    size_t nbytes);

/* The session's own memory of an input or output, aligned to 256 bytes, to be written or read in
 * place between runs; the same in every run. NULL if there is none of this name. */
void *kgen_session_input_data(kgen_session *session, const char *name);
const void *kgen_session_output_data(const kgen_session *session, const char *name);

/* Copy a state in or out, or make all of them zero. */
kgen_status kgen_session_set_state(kgen_session *session, const char *name, const void *data,
                                   size_t nbytes);
kgen_status kgen_session_get_state(const kgen_session *session, const char *name, void *data,
                                   size_t nbytes);
void kgen_session_reset(kgen_session *session);

#ifdef __cplusplus
}
#endif

#endif
