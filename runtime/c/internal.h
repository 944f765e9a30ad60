/* What the files of the C runtime share. Nothing here is for users of kgen.h. */
#ifndef KGEN_INTERNAL_H
#define KGEN_INTERNAL_H

#if defined(_WIN32) && !defined(__USE_MINGW_ANSI_STDIO)
#define __USE_MINGW_ANSI_STDIO 1 /* %zu and %lld of C99 */
#endif

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kgen_backend.h"
#include "kgen_reader.h"
#include "manifest_schema.h"
#include "os.h"

#if !defined(__cplusplus)
#pragma GCC visibility push(hidden)
#endif

#if defined(__x86_64__)
#define KGEN_ARCH "x86_64"
#define KGEN_ELF_MACHINE 62
#elif defined(__aarch64__)
#define KGEN_ARCH "aarch64"
#define KGEN_ELF_MACHINE 183
#else
#error "libkgen is for x86-64 and AArch64"
#endif

/* Kernels follow the System V convention on every system. */
#if defined(__x86_64__) && defined(_WIN32)
#define KGEN_KERNEL_CALL __attribute__((sysv_abi))
#else
#define KGEN_KERNEL_CALL
#endif

/* ---- errors and memory (support.c) ----------------------------------------------------------- */

/* Set this thread's message and return `status`, KGEN_ERROR_BUNDLE or KGEN_ERROR_ARGUMENT. */
kgen_status kgen_fail(kgen_status status, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
kgen_status kgen_bundle_error(const char *format, ...) __attribute__((format(printf, 1, 2)));
kgen_status kgen_argument_error(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Put a place in front of the message of a call that failed. Return its status. */
kgen_status kgen_within(kgen_status status, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Put the remedy behind the message of KGEN_ERROR_BUNDLE. Return the status. */
kgen_status kgen_with_remedy(kgen_status status);

kgen_status kgen_no_memory(uint64_t nbytes);

/* Return the status of a call that fails. */
#define TRY(call)                                                                                 \
    do {                                                                                          \
        kgen_status tried = (call);                                                               \
        if (tried != KGEN_OK)                                                                     \
            return tried;                                                                         \
    } while (0)

/* Memory that is given back together. */
typedef struct chunk chunk;
typedef struct arena {
    chunk *chunks;
    char *at;
    size_t left;
} arena;

/* `count` things of `size` bytes, zero, aligned for any of our types; NULL, with the message
 * set, if there is no memory. */
void *kgen_alloc(arena *from, size_t count, size_t size);

/* Set a pointer to `count` things of its type; in a function that returns a status. */
#define ALLOC(pointer, from, count)                                                               \
    do {                                                                                          \
        (pointer) = (__typeof__(pointer))kgen_alloc(from, count, sizeof *(pointer));              \
        if ((pointer) == NULL)                                                                    \
            return KGEN_ERROR_OUT_OF_MEMORY;                                                      \
    } while (0)

/* Memory of a tensor: zero, aligned to KGEN_ALIGNMENT. NULL as above. */
void *kgen_alloc_tensor(arena *from, uint64_t nbytes);
enum { KGEN_ALIGNMENT = 256 };

char *kgen_text(arena *from, const char *text, size_t length);
void kgen_free_all(arena *from);

/* ---- numbers and texts (support.c) ----------------------------------------------------------- */

/* a / b, rounded up, of numbers from 1 on. */
int64_t kgen_pieces(int64_t a, int64_t b);

/* *product *= factor; false where that is beyond 64 bits. */
bool kgen_multiply(int64_t *product, int64_t factor);

/* A number of so many bytes, the lowest first. */
uint64_t kgen_number(const unsigned char *at, int nbytes);

/* The order of two texts, for qsort. */
int kgen_by_text(const void *a, const void *b);

/* ---- names (names.c) ------------------------------------------------------------------------- */

/* Names of things of one kind, sorted, with the number of each. */
typedef struct named {
    const char *name;
    size_t number;
} named;

typedef struct name_index {
    named *all;
    size_t count;
} name_index;

/* Room for `most` names. */
kgen_status kgen_index_create(name_index *into, size_t most, arena *memory);
/* Add the names of `count` things of `size` bytes, `offset` bytes from their starts; numbers go on
 * from those that are there. */
void kgen_index_add(name_index *into, const void *things, size_t count, size_t size,
                    size_t offset);
/* Sort, for look-ups. Gives the name that occurs twice, or is empty and may not be; else NULL. */
const char *kgen_index_sort(name_index *of, bool may_be_empty);
/* The number of what has this name; false if nothing has. */
bool kgen_index_find(const name_index *in, const char *name, size_t *number);

/* ---- SHA-256 (sha256.c) ---------------------------------------------------------------------- */

/* The digest as 64 hexadecimal digits and a NUL. */
void kgen_sha256(const void *data, size_t nbytes, char digits[65]);

/* ---- JSON (json.c) --------------------------------------------------------------------------- */

typedef enum json_kind {
    JSON_NULL,
    JSON_BOOL,
    JSON_INT,
    JSON_FLOAT, /* its value is not kept: the runtime needs none */
    JSON_TEXT,
    JSON_LIST,
    JSON_OBJECT
} json_kind;

typedef struct json json;
struct json {
    json_kind kind;
    const char *name; /* of a member of an object */
    json *next;       /* in the same list or object */
    size_t count;     /* of a list or object */
    union {
        int64_t integer; /* of an int, and 0 or 1 of a bool */
        const char *text;
        json *first;
    } as;
};

/* Hold a text against the limits (manifest_schema.h) before it is parsed (json_count.c). */
kgen_status kgen_json_count(const char *text, uint64_t nbytes);

/* Names in an object are distinct, whole numbers have 64 bits, others are finite in f64, texts are
 * UTF-8 without control characters. */
kgen_status kgen_json_parse(const char *text, size_t nbytes, arena *memory, const json **value);

/* The member of this name; NULL if there is none. */
const json *kgen_json_member(const json *object, const char *name);

/* ---- the archive (zip.c) --------------------------------------------------------------------- */

typedef struct zip_entry {
    const char *name;
    const unsigned char *data; /* all of its bytes are in the archive */
    uint64_t nbytes;
    uint32_t crc;
    bool is_named; /* in the manifest */
} zip_entry;

typedef struct zip {
    const unsigned char *data;
    uint64_t nbytes;
    zip_entry *entries; /* by name */
    size_t count;
} zip;

kgen_status kgen_zip_open(zip *archive, const void *data, uint64_t nbytes, arena *memory);
zip_entry *kgen_zip_find(const zip *archive, const char *name); /* NULL: there is none */
/* Refuses a file that the manifest does not name. */
kgen_status kgen_zip_check_names(const zip *archive);
bool kgen_zip_crc_is_right(const zip_entry *entry);

/* ---- the manifest (manifest.c) --------------------------------------------------------------- */

typedef struct stored_file {
    const char *file;
    const char *sha256;
    int64_t nbytes;
} stored_file;

typedef struct parameter {
    kgen_tensor tensor;
    kgen_tensor unpacked; /* the matrix, if it is packed */
    kgen_packing order;
    const stored_file *stored; /* of a constant */
    const void *constant;      /* its bytes, once loaded */
} parameter;

typedef struct workspace {
    const char *name;
    int64_t nbytes;
} workspace;

typedef struct constant {
    const char *parameter;
    stored_file file;
} constant;

typedef struct artifact {
    const char *module, *format, *role;
    stored_file file;
    const json *requires_;
    bool chosen; /* it runs here, and is the first of its module that does */
} artifact;

typedef struct tiling {
    size_t rank, num_extent, num_axes;
    const int64_t *shape, *extent, *axes;
    int64_t parts;
    bool has_walk;
    int64_t group, shared, steps;
} tiling;

/* Tensor map of NVIDIA's TMA, which views a parameter or workspace. */
typedef struct tensor_map {
    const char *name, *viewed;
    kgen_tensor tensor; /* its shape, strides and bytes */
    size_t num_box;
    const int64_t *box;
    size_t slot; /* of what it views */
} tensor_map;

/* Pointers that a CPU's launch passes (kgen_runtime/launch_limits.py: CPU_POINTERS); tensors and
 * workspaces of a kernel. */
enum { MAX_POINTERS = 24, MAX_SLOTS = KGEN_MOST_TENSORS + KGEN_MOST_WORKSPACES };

typedef struct launch {
    const char *module, *entry_point;
    int64_t grid[3], block[3], cluster[3], shared_memory;
    size_t num_arguments;
    const char **arguments;
    size_t *slots; /* of each argument: its number among parameters, workspaces, tensor maps */
    const tiling *tile;
    const artifact *code;
    size_t object; /* the number of its code among the library's objects */
    kgen_launch run; /* once the code is loaded */
} launch;

typedef struct scratch scratch;
struct kgen_kernel {
    const char *key, *op, *target, *family, *name;
    const json *spec, *schedule;
    size_t num_parameters, num_workspaces, num_maps, num_launches, num_artifacts, num_constants;
    parameter *parameters;
    workspace *workspaces;
    tensor_map *maps;
    launch *launches;
    artifact *artifacts;
    constant *constants;
    size_t num_arguments;
    parameter **arguments; /* parameters without constants */
    const parameter *lies_upon; /* the table of a scatter, which is the output too; else NULL */
    bool *in_place; /* by parameter: whether the output may reuse its memory; NULL: not known yet */
    kgen_bundle *bundle;
    bool loaded;
    scratch *idle; /* workspaces of earlier calls, under the bundle's lock */
};

typedef enum place_kind { IN_ARENA, IN_WEIGHTS, IN_INPUT, IN_OUTPUT, IN_STATE } place_kind;

typedef struct value {
    kgen_tensor tensor;
    place_kind kind;
    const char *memory; /* the name of the weight, input, output or state */
    int64_t offset;
    size_t number; /* of the memory among those of its kind */
} value;

typedef struct weight {
    const char *name;
    stored_file file;
    const unsigned char *data; /* once loaded */
} weight;

typedef struct state {
    const char *name, *input, *output;
    int64_t nbytes;
    kgen_tensor tensor; /* what a run reads of it, by the state's name */
} state;

typedef struct repeat {
    int64_t first, count, turns;
    const json *moves; /* bytes by the names of values; NULL: nothing moves */
} repeat;

/* A value as a step of a turn sees it. */
typedef struct bound {
    const value *is; /* NULL for constants */
    int64_t offset;  /* in its memory */
} bound;

typedef struct step {
    const repeat *in; /* the repetition that it is part of; else NULL */
    int64_t turn;
    const char *kernel_key;
    const json *bindings, *nodes; /* no nodes: NULL */
    size_t num_after;
    const int64_t *after;
    kgen_kernel *kernel;
    bound *values; /* by the kernel's parameters */
} step;

/* Axis of an output whose size is in another output. */
typedef struct count {
    const char *output, *size;
    int64_t axis;
    size_t of, in; /* numbers of both outputs */
} count;

struct kgen_program {
    const char *name, *target, *qualified_name;
    size_t num_inputs, num_outputs, num_states, num_values, num_weights, num_steps, num_counts;
    value *inputs, *outputs, *values;
    state *states;
    weight *weights;
    int64_t arena_nbytes;
    step *steps; /* of all turns, once checked */
    size_t num_repeats;
    repeat *repeats;
    count *counts;
    size_t num_sizes; /* of outputs, the last ones, which say the sizes of others */
    kgen_bundle *bundle;
};

typedef struct manifest {
    int64_t schema_version;
    size_t num_kernels, num_programs;
    kgen_kernel *kernels;
    kgen_kernel **by_name; /* sorted by "target/key" */
    kgen_program *programs;
} manifest;

kgen_status kgen_manifest_read(manifest *into, const json *data, arena *memory);
kgen_kernel *kgen_manifest_find(const manifest *all, const char *name);
/* "target/key"; NULL, with the message set, if there is no memory. */
const char *kgen_qualified(const char *target, const char *key, arena *memory);

/* Hold what a manifest says in one place against what it says in others. */
kgen_status kgen_check_kernel(kgen_kernel *kernel, arena *memory);   /* kernel_check.c */
kgen_status kgen_check_program(kgen_program *program, const manifest *all, arena *memory);
/* Write out the steps of every turn of a program's repetitions (program_repeats.c). */
kgen_status kgen_write_out(kgen_program *program, arena *memory);
/* Whether steps may write the memory that a value lies in (program_check.c). */
bool kgen_may_be_written(const value *one);
/* That steps wait for those that they conflict with, and read and give out only what is written
 * (program_order.c). The names and values of the program are checked. */
kgen_status kgen_check_order(const kgen_program *program, arena *memory);
/* Find the inputs whose memory a kernel's output may reuse (in_place.c). */
kgen_status kgen_settle_in_place(kgen_kernel *kernel, arena *memory);
/* Find the table of a scatter; refuses a table that is no input (in_place.c). */
kgen_status kgen_settle_table(kgen_kernel *kernel);
kgen_status kgen_check_tensor(kgen_tensor *tensor, const char *name); /* sets nbytes */
bool kgen_is_packed(const kgen_tensor *tensor);
/* Whether two tensors have one element type, shape and strides (program_check.c). */
bool kgen_is_alike(const kgen_tensor *a, const kgen_tensor *b);

/* ---- the CPU (cpu.c) ------------------------------------------------------------------------- */

typedef struct cpu {
    uint64_t features; /* bits of cpu.c's table */
} cpu;

kgen_status kgen_cpu_open(cpu *into, arena *memory);
bool kgen_cpu_has(const cpu *here, const char *name);

/* ---- choosing (select.c) --------------------------------------------------------------------- */

typedef struct skipped {
    const char *name, *reason;
} skipped;

typedef struct selection {
    kgen_kernel **kernels; /* the best of each key, in the order of the manifest */
    kgen_program **programs;
    skipped *left_out;
    size_t num_kernels, num_programs, num_left_out;
} selection;

kgen_status kgen_select(selection *into, manifest *all, const cpu *here, arena *memory);

/* ---- machine code (library.c) ---------------------------------------------------------------- */

/* Objects start at multiples of so many bytes: no code refers to a finer part of its address. */
enum { KGEN_PAGE = 4096 };

typedef struct object {
    const unsigned char *data;
    uint64_t nbytes;
    uint64_t base, size; /* its place in the library, and bytes of address space */
} object;

/* Place a shared object behind the others, which take *total bytes of address space. */
kgen_status kgen_object_place(object *of, uint64_t *total);
kgen_status kgen_library_map(os_code *into, const object *objects, size_t count, const char *name);
/* The address of a function, once the library is mapped. */
kgen_status kgen_library_function(const os_code *in, const object *of, const char *name,
                                  uint64_t *address);

/* ---- threads (pool.c) ------------------------------------------------------------------------ */

/* The tasks [begin, end) on the calling thread. */
void kgen_run_tasks(const kgen_launch *of, void *const *pointers, int64_t begin, int64_t end);

/* ---- bundles (bundle.c) ---------------------------------------------------------------------- */

/* A file that is mapped as it is on disk. */
typedef struct mapping mapping;
struct mapping {
    void *data;
    size_t nbytes;
    mapping *next;
};

/* A file of the archive, however many kernels name it: hashed, copied and mapped once. */
typedef struct used_file {
    char digest[65];              /* empty until it is asked for */
    bool is_damaged;              /* whether its checksum is wrong, asked with the digest */
    const unsigned char *settled; /* its bytes at a cache line's start, once a kernel reads them */
    size_t object;                /* the number of its code among the library's objects, and 1 */
} used_file;

struct kgen_bundle {
    arena memory;
    const char *name;   /* for messages */
    const char *folder; /* NULL: in memory */
    bool maps;          /* or files are copied into memory */
    mapping *mappings;
    zip archive;
    used_file *files; /* by the numbers of the archive's entries */
    manifest all;
    selection chosen;
    os_code code;
    kgen_pool *threads;
    int num_threads;
    os_lock lock; /* of the kernels' idle scratch memory */
};

/* ---- files of bundles (reader.c) ------------------------------------------------------------- */

/* What is known of a file of the archive; NULL for one that is not in it. */
used_file *kgen_find_used(const kgen_bundle *in, const char *name);
kgen_status kgen_check_size(const stored_file *of, uint64_t nbytes);
/* A file's digest, and its checksum where it is in the archive. */
kgen_status kgen_check_digest(const kgen_bundle *in, const stored_file *of, const void *data,
                              uint64_t nbytes);
/* A file's bytes in the archive, of the size that the manifest says. */
kgen_status kgen_find_file(const kgen_bundle *in, const stored_file *of,
                           const unsigned char **data);
/* A file of weights beside the bundle. */
kgen_status kgen_find_beside(kgen_bundle *of, const stored_file *file, const unsigned char **data);

/* ---- arrays with strides (strided.c) --------------------------------------------------------- */

/* Copy an array into the layout of a tensor, whose gaps stay as they are. */
void kgen_copy_strided(const kgen_tensor *tensor, const void *data, const int64_t *strides,
                       void *into);

/* ---- calls (kernel.c) ------------------------------------------------------------------------ */

/* Workspaces of one call at a time, by their number. */
struct scratch {
    arena memory;
    scratch *next;
    void *workspaces[];
};

/* Set a launch's function, once its code is mapped. */
void kgen_settle_launch(launch *of, uint64_t function);

scratch *kgen_scratch_create(const kgen_kernel *kernel);
void kgen_scratch_destroy(scratch *of); /* NULL is allowed */
void kgen_scratch_destroy_all(kgen_kernel *kernel);

#if !defined(__cplusplus)
#pragma GCC visibility pop
#endif

#endif
