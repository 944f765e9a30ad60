/* Schema of a manifest, generated from kgen_runtime/manifest.py, schema/program.py,
 * schema/limits.py and schema/formats.py. Change those, then run make reference. */
#ifndef KGEN_SCHEMA_H
#define KGEN_SCHEMA_H

/* Versions that are read. */
#define KGEN_OLDEST_SCHEMA 1
#define KGEN_NEWEST_SCHEMA 4

/* bytes of manifest.json */
#define KGEN_MOST_MANIFEST_BYTES 16777216
/* lists and objects inside one another */
#define KGEN_MOST_NESTING 32
/* JSON values: 1 + the count of [, { and , outside texts */
#define KGEN_MOST_JSON_VALUES 1048576
/* kernels of a bundle */
#define KGEN_MOST_KERNELS 16384
/* programs of a bundle */
#define KGEN_MOST_PROGRAMS 1024
/* tensors of a kernel: its parameters, and the bindings of a step */
#define KGEN_MOST_TENSORS 256
/* constants of a kernel */
#define KGEN_MOST_CONSTANTS 256
/* workspaces of a kernel */
#define KGEN_MOST_WORKSPACES 64
/* tensor maps of a kernel */
#define KGEN_MOST_TENSOR_MAPS 64
/* launches of a kernel */
#define KGEN_MOST_LAUNCHES 64
/* arguments of a launch */
#define KGEN_MOST_ARGUMENTS 256
/* artifacts of a kernel */
#define KGEN_MOST_ARTIFACTS 64
/* dimensions of a tensor, of a tile, or of a shape in a spec */
#define KGEN_MOST_RANK 8
/* runs of a packed panel */
#define KGEN_MOST_RUNS 64
/* bytes that a tensor, a workspace or a memory spans */
#define KGEN_MOST_TENSOR_BYTES 9223372036854775807LL
/* inputs of a program */
#define KGEN_MOST_INPUTS 4096
/* outputs of a program */
#define KGEN_MOST_OUTPUTS 4096
/* states of a program */
#define KGEN_MOST_STATES 4096
/* weights of a program */
#define KGEN_MOST_WEIGHTS 65536
/* values of a program */
#define KGEN_MOST_VALUES 131072
/* steps of a program, in all turns of its repetitions */
#define KGEN_MOST_STEPS 32768
/* repetitions of steps of a program */
#define KGEN_MOST_REPEATS 4096
/* bindings and after of a program's steps, in all turns */
#define KGEN_MOST_TURN_ENTRIES 262144

/* Fields of objects: name, JSON, whether they may be left out, most entries. */
#define KGEN_FIELDS_MANIFEST { \
    {"schema_version", JSON_INT, true, 0, ""}, \
    {"kernels", JSON_LIST, false, KGEN_MOST_KERNELS, "kernels"}, \
    {"programs", JSON_LIST, true, KGEN_MOST_PROGRAMS, "programs"}, \
    {"provenance", JSON_OBJECT, true, 0, ""}}
#define KGEN_FIELDS_KERNEL_ENTRY { \
    {"key", JSON_TEXT, false, 0, ""}, \
    {"op", JSON_TEXT, false, 0, ""}, \
    {"spec", JSON_OBJECT, false, 0, ""}, \
    {"target", JSON_OBJECT, false, 0, ""}, \
    {"schedule", JSON_OBJECT, false, 0, ""}, \
    {"parameters", JSON_LIST, false, KGEN_MOST_TENSORS, "tensors"}, \
    {"workspaces", JSON_LIST, true, KGEN_MOST_WORKSPACES, "workspaces"}, \
    {"tensor_maps", JSON_LIST, true, KGEN_MOST_TENSOR_MAPS, "tensor_maps"}, \
    {"launches", JSON_LIST, false, KGEN_MOST_LAUNCHES, "launches"}, \
    {"artifacts", JSON_LIST, false, KGEN_MOST_ARTIFACTS, "artifacts"}, \
    {"constants", JSON_LIST, true, KGEN_MOST_CONSTANTS, "constants"}, \
    {"resources", JSON_OBJECT, false, 0, ""}, \
    {"tolerance", JSON_OBJECT, false, 0, ""}}
#define KGEN_FIELDS_TARGET_ENTRY { \
    {"name", JSON_TEXT, false, 0, ""}, \
    {"family", JSON_TEXT, false, 0, ""}, \
    {"arch", JSON_TEXT, false, 0, ""}}
#define KGEN_FIELDS_TENSOR_PARAM { \
    {"name", JSON_TEXT, false, 0, ""}, \
    {"role", JSON_TEXT, false, 0, ""}, \
    {"dtype", JSON_TEXT, false, 0, ""}, \
    {"shape", JSON_LIST, false, KGEN_MOST_RANK, "rank"}, \
    {"strides", JSON_LIST, false, KGEN_MOST_RANK, "rank"}, \
    {"packing", JSON_OBJECT, true, 0, ""}}
#define KGEN_FIELDS_PACKING { \
    {"shape", JSON_LIST, false, KGEN_MOST_RANK, "rank"}, \
    {"strides", JSON_LIST, false, KGEN_MOST_RANK, "rank"}, \
    {"transposed", JSON_BOOL, false, 0, ""}, \
    {"width", JSON_INT, false, 0, ""}, \
    {"depth", JSON_INT, false, 0, ""}, \
    {"runs", JSON_LIST, true, KGEN_MOST_RUNS, "runs"}}
#define KGEN_FIELDS_WORKSPACE { \
    {"name", JSON_TEXT, false, 0, ""}, \
    {"nbytes", JSON_INT, false, 0, ""}, \
    {"initial", JSON_TEXT, true, 0, ""}}
#define KGEN_FIELDS_TENSOR_MAP { \
    {"name", JSON_TEXT, false, 0, ""}, \
    {"tensor", JSON_TEXT, false, 0, ""}, \
    {"dtype", JSON_TEXT, false, 0, ""}, \
    {"shape", JSON_LIST, false, KGEN_MOST_RANK, "rank"}, \
    {"strides", JSON_LIST, false, KGEN_MOST_RANK, "rank"}, \
    {"box", JSON_LIST, false, KGEN_MOST_RANK, "rank"}, \
    {"swizzle", JSON_INT, true, 0, ""}, \
    {"tf32", JSON_BOOL, true, 0, ""}}
#define KGEN_FIELDS_LAUNCH { \
    {"module", JSON_TEXT, true, 0, ""}, \
    {"entry_point", JSON_TEXT, false, 0, ""}, \
    {"grid", JSON_LIST, false, 0, ""}, \
    {"block", JSON_LIST, true, 0, ""}, \
    {"cluster", JSON_LIST, true, 0, ""}, \
    {"dynamic_shared_memory", JSON_INT, true, 0, ""}, \
    {"arguments", JSON_LIST, false, KGEN_MOST_ARGUMENTS, "arguments"}, \
    {"tile", JSON_OBJECT, true, 0, ""}}
#define KGEN_FIELDS_TILE { \
    {"shape", JSON_LIST, false, KGEN_MOST_RANK, "rank"}, \
    {"extent", JSON_LIST, false, KGEN_MOST_RANK, "rank"}, \
    {"axes", JSON_LIST, false, KGEN_MOST_RANK, "rank"}, \
    {"walk", JSON_OBJECT, true, 0, ""}, \
    {"parts", JSON_INT, true, 0, ""}}
#define KGEN_FIELDS_WALK { \
    {"group", JSON_INT, true, 0, ""}, \
    {"shared", JSON_INT, true, 0, ""}, \
    {"steps", JSON_INT, true, 0, ""}, \
    {"drawn", JSON_BOOL, true, 0, ""}, \
    {"dies", JSON_INT, true, 0, ""}}
#define KGEN_FIELDS_ARTIFACT_ENTRY { \
    {"module", JSON_TEXT, true, 0, ""}, \
    {"file", JSON_TEXT, false, 0, ""}, \
    {"format", JSON_TEXT, false, 0, ""}, \
    {"role", JSON_TEXT, false, 0, ""}, \
    {"sha256", JSON_TEXT, false, 0, ""}, \
    {"nbytes", JSON_INT, false, 0, ""}, \
    {"requires", JSON_OBJECT, true, 0, ""}}
#define KGEN_FIELDS_STORED_TENSOR { \
    {"parameter", JSON_TEXT, false, 0, ""}, \
    {"file", JSON_TEXT, false, 0, ""}, \
    {"sha256", JSON_TEXT, false, 0, ""}, \
    {"nbytes", JSON_INT, false, 0, ""}}
#define KGEN_FIELDS_RESOURCES { \
    {"registers", JSON_INT, true, 0, ""}, \
    {"accumulator_registers", JSON_INT, true, 0, ""}, \
    {"scalar_registers", JSON_INT, true, 0, ""}, \
    {"spills", JSON_INT, true, 0, ""}, \
    {"stack", JSON_INT, true, 0, ""}, \
    {"shared_memory", JSON_INT, true, 0, ""}, \
    {"code_bytes", JSON_INT, true, 0, ""}, \
    {"findings", JSON_LIST, true, 0, ""}}
#define KGEN_FIELDS_TOLERANCE { \
    {"accumulate", JSON_TEXT, false, 0, ""}, \
    {"factor", JSON_FLOAT, false, 0, ""}, \
    {"function_error", JSON_FLOAT, true, 0, ""}, \
    {"operand_error", JSON_FLOAT, true, 0, ""}, \
    {"subnormals", JSON_TEXT, true, 0, ""}, \
    {"flushed_outputs", JSON_LIST, true, 0, ""}, \
    {"reason", JSON_TEXT, false, 0, ""}}
#define KGEN_FIELDS_PROGRAM { \
    {"name", JSON_TEXT, false, 0, ""}, \
    {"target", JSON_TEXT, false, 0, ""}, \
    {"inputs", JSON_LIST, false, KGEN_MOST_INPUTS, "inputs"}, \
    {"outputs", JSON_LIST, false, KGEN_MOST_OUTPUTS, "outputs"}, \
    {"states", JSON_LIST, true, KGEN_MOST_STATES, "states"}, \
    {"values", JSON_LIST, false, KGEN_MOST_VALUES, "values"}, \
    {"weights", JSON_LIST, true, KGEN_MOST_WEIGHTS, "weights"}, \
    {"arena_bytes", JSON_INT, false, 0, ""}, \
    {"steps", JSON_LIST, false, KGEN_MOST_STEPS, "steps"}, \
    {"repeats", JSON_LIST, true, KGEN_MOST_REPEATS, "repeats"}, \
    {"counts", JSON_LIST, true, KGEN_MOST_OUTPUTS, "outputs"}}
#define KGEN_FIELDS_VALUE { \
    {"name", JSON_TEXT, false, 0, ""}, \
    {"dtype", JSON_TEXT, false, 0, ""}, \
    {"shape", JSON_LIST, false, KGEN_MOST_RANK, "rank"}, \
    {"strides", JSON_LIST, false, KGEN_MOST_RANK, "rank"}, \
    {"place", JSON_OBJECT, false, 0, ""}}
#define KGEN_FIELDS_PLACE { \
    {"kind", JSON_TEXT, false, 0, ""}, \
    {"name", JSON_TEXT, true, 0, ""}, \
    {"offset", JSON_INT, true, 0, ""}}
#define KGEN_FIELDS_STATE { \
    {"name", JSON_TEXT, false, 0, ""}, \
    {"nbytes", JSON_INT, false, 0, ""}, \
    {"input", JSON_TEXT, false, 0, ""}, \
    {"output", JSON_TEXT, false, 0, ""}}
#define KGEN_FIELDS_WEIGHT { \
    {"name", JSON_TEXT, false, 0, ""}, \
    {"file", JSON_TEXT, false, 0, ""}, \
    {"sha256", JSON_TEXT, false, 0, ""}, \
    {"nbytes", JSON_INT, false, 0, ""}}
#define KGEN_FIELDS_STEP { \
    {"kernel", JSON_TEXT, false, 0, ""}, \
    {"bindings", JSON_OBJECT, false, KGEN_MOST_TENSORS, "tensors"}, \
    {"nodes", JSON_LIST, true, 0, ""}, \
    {"after", JSON_LIST, true, 0, ""}}
#define KGEN_FIELDS_REPEAT { \
    {"first", JSON_INT, false, 0, ""}, \
    {"count", JSON_INT, false, 0, ""}, \
    {"turns", JSON_INT, false, 0, ""}, \
    {"moves", JSON_OBJECT, true, KGEN_MOST_VALUES, "values"}}
#define KGEN_FIELDS_COUNT { \
    {"output", JSON_TEXT, false, 0, ""}, \
    {"axis", JSON_INT, false, 0, ""}, \
    {"size", JSON_TEXT, false, 0, ""}}

/* Words of fields. */
#define KGEN_WORDS_TENSOR_PARAM_ROLE { \
    "input", \
    "output"}
#define KGEN_WORDS_WORKSPACE_INITIAL { \
    "any", \
    "zero"}
#define KGEN_WORDS_ARTIFACT_ENTRY_ROLE { \
    "machine-code", \
    "portable", \
    "source"}
#define KGEN_WORDS_TOLERANCE_SUBNORMALS { \
    "flushed"}
#define KGEN_WORDS_PLACE_KIND { \
    "arena", \
    "weights", \
    "input", \
    "output", \
    "state"}

/* Element types and their bytes, in the order of kgen_dtype. */
#define KGEN_DTYPES { \
    {"f64", 8}, \
    {"f32", 4}, \
    {"f16", 2}, \
    {"bf16", 2}, \
    {"e4m3", 1}, \
    {"e5m2", 1}, \
    {"e4m3fnuz", 1}, \
    {"e5m2fnuz", 1}, \
    {"s64", 8}, \
    {"s32", 4}, \
    {"s8", 1}, \
    {"u8", 1}, \
    {"bool", 1}, \
    {"s16", 2}, \
    {"u16", 2}}

/* Formats of artifacts, and families that use them. */
#define KGEN_FORMATS { \
    {"cubin", {"cuda", ""}}, \
    {"ptx", {"cuda", ""}}, \
    {"hsaco", {"amdgpu", ""}}, \
    {"spirv", {"vulkan", ""}}, \
    {"spirv-asm", {"vulkan", ""}}, \
    {"msl", {"vulkan", ""}}, \
    {"elf-x86_64", {"cpu", ""}}, \
    {"elf-aarch64", {"cpu", ""}}, \
    {"llvm-ir", {"amdgpu", "cpu"}}}

#endif
