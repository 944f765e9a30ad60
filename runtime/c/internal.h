/* Declarations that the files of libkgen share. Programs that use kgen.h do not need them. */
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

/* Kernels use the System V calling convention on every system. */
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

/* Prepend text to the message of a failed call. Return its status. */
kgen_status kgen_within(kgen_status status, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Append the remedy to the message of KGEN_ERROR_BUNDLE. Return the status. */
kgen_status kgen_with_remedy(kgen_status status);

kgen_status kgen_no_memory(uint64_t nbytes);

/* Refuse a handle that is NULL, called `what`. The message repeats the thread's last one, which
 * tells why the handle was not found or created. */
kgen_status kgen_null_handle(const char *what);

/* Return from the function with the status of a failed call. */
#define TRY(call)                                                                                 \
    do {                                                                                          \
        kgen_status tried = (call);                                                               \
        if (tried != KGEN_OK)                                                                     \
            return tried;                                                                         \
    } while (0)

/* Arena: memory that is freed all at once. */
typedef struct chunk chunk;
typedef struct arena {
    chunk *chunks;
    char *at;
    size_t left;
} arena;

/* Allocate `count` elements of `size` bytes, zeroed and aligned for all types of libkgen. Return
 * NULL, with the message set, if memory does not suffice. */
void *kgen_alloc(arena *from, size_t count, size_t size);

/* Allocate `count` elements for a pointer, in a function that returns a status. */
#define ALLOC(pointer, from, count)                                                               \
    do {                                                                                          \
        (pointer) = (__typeof__(pointer))kgen_alloc(from, count, sizeof *(pointer));              \
        if ((pointer) == NULL)                                                                    \
            return KGEN_ERROR_OUT_OF_MEMORY;                                                      \
    } while (0)

/* Allocate memory of a tensor, zeroed and aligned to KGEN_ALIGNMENT. Return NULL as kgen_alloc
 * does. */
void *kgen_alloc_tensor(arena *from, uint64_t nbytes);
enum { KGEN_ALIGNMENT = 256 };

char *kgen_text(arena *from, const char *text, size_t length);
void kgen_free_all(arena *from);

/* ---- numbers and texts (support.c) ----------------------------------------------------------- */

/* Return a / b rounded up, for numbers of 1 or more. */
int64_t kgen_pieces(int64_t a, int64_t b);

/* Multiply *product by factor; return false if the result exceeds 64 bits. */
bool kgen_multiply(int64_t *product, int64_t factor);

/* Read a little-endian number of `nbytes` bytes. */
uint64_t kgen_number(const unsigned char *at, int nbytes);

/* Compare two texts, for qsort. */
int kgen_by_text(const void *a, const void *b);

/* ---- names (names.c) ------------------------------------------------------------------------- */

/* Index of names: entries of one kind, sorted by name, with their numbers. */
typedef struct named {
    const char *name;
    size_t number;
} named;

typedef struct name_index {
    named *all;
    size_t count;
} name_index;

/* Reserve space for `most` names. */
kgen_status kgen_index_create(name_index *into, size_t most, arena *memory);
/* Add the names of `count` structs of `size` bytes; a name is `offset` bytes into its struct.
 * Numbers continue those of the entries in the index. */
void kgen_index_add(name_index *into, const void *things, size_t count, size_t size,
                    size_t offset);
/* Sort the index for look-ups. Return a name that occurs twice, or is empty while `may_be_empty`
 * is false; else NULL. */
const char *kgen_index_sort(name_index *of, bool may_be_empty);
/* Find the number of a name; return false if the index does not have it. */
bool kgen_index_find(const name_index *in, const char *name, size_t *number);

/* ---- SHA-256 (sha256.c) ---------------------------------------------------------------------- */

/* Write the digest as 64 hexadecimal digits and a NUL. */
void kgen_sha256(const void *data, size_t nbytes, char digits[65]);

/* ---- JSON (json.c) --------------------------------------------------------------------------- */

typedef enum json_kind {
    JSON_NULL,
    JSON_BOOL,
    JSON_INT,
    JSON_FLOAT, /* the value is dropped: the runtime needs none */
    JSON_TEXT,
    JSON_LIST,
    JSON_OBJECT
} json_kind;

typedef struct json json;
struct json {
    json_kind kind;
    const char *name; /* if the value is a member of an object */
    json *next;       /* next entry of the same list or object */
    size_t count;     /* entries of a list or object */
    union {
        int64_t integer; /* value of an int; 0 or 1 for a bool */
        const char *text;
        json *first;
    } as;
};

/* Check a text against the limits of manifest_schema.h before it is parsed (json_count.c). */
kgen_status kgen_json_count(const char *text, uint64_t nbytes);

/* Parse a text. Names in an object must be distinct, integers fit 64 bits, other numbers are
 * finite in f64, and texts are UTF-8 without control characters. */
kgen_status kgen_json_parse(const char *text, size_t nbytes, arena *memory, const json **value);

/* Return the member of this name; NULL if there is none. */
const json *kgen_json_member(const json *object, const char *name);

/* ---- the archive (zip.c) --------------------------------------------------------------------- */

typedef struct zip_entry {
    const char *name;
    const unsigned char *data; /* all bytes of the file, in the archive */
    uint64_t nbytes;
    uint32_t crc;
    bool is_named; /* whether the manifest names the file */
} zip_entry;

typedef struct zip {
    const unsigned char *data;
    uint64_t nbytes;
    zip_entry *entries; /* sorted by name */
    size_t count;
} zip;

kgen_status kgen_zip_open(zip *archive, const void *data, uint64_t nbytes, arena *memory);
zip_entry *kgen_zip_find(const zip *archive, const char *name); /* NULL if there is none */
/* Refuse a file that the manifest does not name. */
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
    kgen_tensor unpacked; /* matrix before packing, if the parameter is packed */
    kgen_packing order;
    const stored_file *stored; /* file of a constant; else NULL */
    const void *constant;      /* address of the constant once it is loaded */
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
    bool chosen; /* whether it is the first artifact of its module that runs here */
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
    kgen_tensor tensor; /* shape, strides and bytes of the map */
    size_t num_box;
    const int64_t *box;
    size_t slot; /* slot of the parameter or workspace */
} tensor_map;

/* Most pointers of a launch on the CPU (CPU_POINTERS in kgen_runtime/launch_limits.py), and most
 * tensors and workspaces of a kernel together. */
enum { MAX_POINTERS = 24, MAX_SLOTS = KGEN_MOST_TENSORS + KGEN_MOST_WORKSPACES };

typedef struct launch {
    const char *module, *entry_point;
    int64_t grid[3], block[3], cluster[3], shared_memory;
    size_t num_arguments;
    const char **arguments;
    size_t *slots; /* by argument: its number among parameters, then workspaces, then tensor maps */
    const tiling *tile;
    const artifact *code;
    size_t object; /* number of the object with the code */
    kgen_launch run; /* filled in once the code is loaded */
} launch;

/* Limits of attention's inputs (key_limits.c). `length` is NULL without a number of keys, and
 * `table` without pages. A table has `most` / `page_size` pages of a batch element, from 0 to
 * `pages` - 1. */
typedef struct key_limits {
    const parameter *length, *table;
    int64_t most, page_size, pages;
} key_limits;

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
    parameter **arguments; /* parameters that are not constants */
    const parameter *overwritten_table; /* table of a scatter, overwritten in place; else NULL */
    key_limits keys;
    bool *in_place; /* by parameter: whether the output may reuse its memory; NULL until computed */
    kgen_bundle *bundle;
    bool loaded;
    scratch *idle; /* workspaces of finished calls; guarded by the bundle's lock */
};

typedef enum place_kind { IN_ARENA, IN_WEIGHTS, IN_INPUT, IN_OUTPUT, IN_STATE } place_kind;

typedef struct value {
    kgen_tensor tensor;
    place_kind kind;
    const char *memory; /* name of the weight, input, output or state */
    int64_t offset;
    size_t number; /* number of the memory among those of its kind */
} value;

typedef struct weight {
    const char *name;
    stored_file file;
    const unsigned char *data; /* address once it is loaded */
} weight;

typedef struct state {
    const char *name, *input, *output;
    int64_t nbytes;
    kgen_tensor tensor; /* value that a run reads, with the state's name */
} state;

typedef struct repeat {
    int64_t first, count, turns;
    const json *moves; /* bytes by the names of values; NULL: no value moves */
} repeat;

/* Value that a step of one turn uses. */
typedef struct bound {
    const value *is; /* NULL for constants */
    int64_t offset;  /* offset in the memory, in bytes */
} bound;

typedef struct step {
    const repeat *in; /* repetition that contains the step; else NULL */
    int64_t turn;
    const char *kernel_key;
    const json *bindings, *nodes; /* `nodes` is NULL if there are none */
    size_t num_after;
    const int64_t *after;
    kgen_kernel *kernel;
    bound *values; /* by number of the kernel's parameter */
} step;

/* Axis of an output whose size another output holds. */
typedef struct count {
    const char *output, *size;
    int64_t axis;
    size_t of, in; /* numbers of the output and of the output with its size */
} count;

struct kgen_program {
    const char *name, *target, *qualified_name;
    size_t num_inputs, num_outputs, num_states, num_values, num_weights, num_steps, num_counts;
    value *inputs, *outputs, *values;
    state *states;
    weight *weights;
    int64_t arena_nbytes;
    step *steps; /* steps of all turns, once they are checked */
    size_t num_repeats;
    repeat *repeats;
    count *counts;
    size_t num_sizes; /* outputs that hold sizes of others; they are the last ones */
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
/* Return "target/key"; NULL, with the message set, if memory does not suffice. */
const char *kgen_qualified(const char *target, const char *key, arena *memory);

/* Check that the parts of a kernel, and of a program, agree with each other. */
kgen_status kgen_check_kernel(kgen_kernel *kernel, arena *memory);   /* kernel_check.c */
kgen_status kgen_check_program(kgen_program *program, const manifest *all, arena *memory);
/* Expand the repetitions of a program into one list of steps (program_repeats.c). */
kgen_status kgen_write_out(kgen_program *program, arena *memory);
/* Return whether steps may write the memory of a value (program_check.c). */
bool kgen_may_be_written(const value *one);
/* Check that steps wait for those that they conflict with, and that steps, states and outputs use
 * only values that are written (program_order.c). Names and values must have been checked. */
kgen_status kgen_check_order(const kgen_program *program, arena *memory);
/* Find the inputs whose memory a kernel's output may reuse (in_place.c). */
kgen_status kgen_settle_in_place(kgen_kernel *kernel, arena *memory);
/* Find the table of a scatter; refuse a table that is not an input (in_place.c). */
kgen_status kgen_settle_table(kgen_kernel *kernel);
/* Find the limits of attention's inputs (key_limits.c). */
void kgen_settle_key_limits(kgen_kernel *kernel);
/* Check the numbers of keys, called `name`, against their limit, and unless `pages` is NULL the
 * pages of these keys. `who` begins the message. */
kgen_status kgen_check_keys(const key_limits *of, const char *who, const char *name,
                            const void *lengths, const void *pages);
kgen_status kgen_check_tensor(kgen_tensor *tensor, const char *name); /* computes nbytes */
bool kgen_is_packed(const kgen_tensor *tensor);
/* Return whether two tensors have equal element type, shape and strides (program_check.c). */
bool kgen_is_alike(const kgen_tensor *a, const kgen_tensor *b);

/* ---- the CPU (cpu.c) ------------------------------------------------------------------------- */

typedef struct cpu {
    uint64_t features; /* bits by the table in cpu.c */
} cpu;

kgen_status kgen_cpu_open(cpu *into, arena *memory);
bool kgen_cpu_has(const cpu *here, const char *name);

/* ---- selection (select.c) -------------------------------------------------------------------- */

typedef struct skipped {
    const char *name, *reason;
} skipped;

typedef struct selection {
    kgen_kernel **kernels; /* best kernel of each key, in the order of the manifest */
    kgen_program **programs;
    skipped *left_out;
    size_t num_kernels, num_programs, num_left_out;
} selection;

kgen_status kgen_select(selection *into, manifest *all, const cpu *here, arena *memory);

/* ---- machine code (library.c) ---------------------------------------------------------------- */

/* Alignment of objects in the mapping, in bytes: no code depends on lower address bits. */
enum { KGEN_PAGE = 4096 };

typedef struct object {
    const unsigned char *data;
    uint64_t nbytes;
    uint64_t base, size; /* offset in the mapping, and bytes of address space */
} object;

/* Place a shared object after the others, which occupy *total bytes of address space. */
kgen_status kgen_object_place(object *of, uint64_t *total);
kgen_status kgen_library_map(os_code *into, const object *objects, size_t count, const char *name);
/* Return the address of a function in mapped code. */
kgen_status kgen_library_function(const os_code *in, const object *of, const char *name,
                                  uint64_t *address);

/* ---- threads (pool.c) ------------------------------------------------------------------------ */

/* Run the tasks [begin, end) on the calling thread. */
void kgen_run_tasks(const kgen_launch *of, void *const *pointers, int64_t begin, int64_t end);

/* ---- bundles (bundle.c) ---------------------------------------------------------------------- */

/* File that is mapped into memory. */
typedef struct mapping mapping;
struct mapping {
    void *data;
    size_t nbytes;
    mapping *next;
};

/* Record of a file in the archive, so that it is hashed, copied and mapped once. */
typedef struct used_file {
    char digest[65];              /* empty until it is computed */
    bool is_damaged;              /* whether the checksum is wrong; computed with the digest */
    const unsigned char *settled; /* address for kernels, aligned to a cache line */
    size_t object;                /* number of its object plus 1; 0 if it has none */
} used_file;

struct kgen_bundle {
    arena memory;
    const char *name;   /* name in messages */
    const char *folder; /* folder of weight files; NULL for a bundle in memory */
    bool maps;          /* files are mapped if true, else copied into memory */
    mapping *mappings;
    zip archive;
    used_file *files; /* by number of the archive's entry */
    manifest all;
    selection chosen;
    os_code code;
    kgen_pool *threads;
    int num_threads;
    os_lock lock; /* guards the kernels' idle scratch memory */
};

/* ---- files of bundles (reader.c) ------------------------------------------------------------- */

/* Return the record of a file in the archive; NULL if the archive does not have the file. */
used_file *kgen_find_used(const kgen_bundle *in, const char *name);
kgen_status kgen_check_size(const stored_file *of, uint64_t nbytes);
/* Check a file's digest, and its checksum if it is in the archive. */
kgen_status kgen_check_digest(const kgen_bundle *in, const stored_file *of, const void *data,
                              uint64_t nbytes);
/* Find a file's bytes in the archive and check their number. */
kgen_status kgen_find_file(const kgen_bundle *in, const stored_file *of,
                           const unsigned char **data);
/* Map a weight file beside the bundle and check its size. */
kgen_status kgen_find_beside(kgen_bundle *of, const stored_file *file, const unsigned char **data);

/* ---- arrays with strides (strided.c) --------------------------------------------------------- */

/* Copy an array into the layout of a tensor; bytes in gaps are unchanged. */
void kgen_copy_strided(const kgen_tensor *tensor, const void *data, const int64_t *strides,
                       void *into);

/* ---- calls (kernel.c) ------------------------------------------------------------------------ */

/* Workspaces of one call at a time, by number. */
struct scratch {
    arena memory;
    scratch *next;
    void *workspaces[];
};

/* Fill in the function of a launch once its code is mapped. */
void kgen_settle_launch(launch *of, uint64_t function);

scratch *kgen_scratch_create(const kgen_kernel *kernel);
void kgen_scratch_destroy(scratch *of); /* NULL is allowed */
void kgen_scratch_destroy_all(kgen_kernel *kernel);

#if !defined(__cplusplus)
#pragma GCC visibility pop
#endif

#endif
