/* Limits of a manifest, generated from kgen_runtime/schema/limits.py. Change that table,
 * then run make reference. */
#ifndef KGEN_LIMITS_H
#define KGEN_LIMITS_H

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
/* steps of a program */
#define KGEN_MOST_STEPS 32768

/* Fields whose entries are counted: their limit, and its name. */
#define KGEN_COUNTED { \
    {"kernels", KGEN_MOST_KERNELS, "kernels"}, \
    {"programs", KGEN_MOST_PROGRAMS, "programs"}, \
    {"shape", KGEN_MOST_RANK, "rank"}, \
    {"strides", KGEN_MOST_RANK, "rank"}, \
    {"runs", KGEN_MOST_RUNS, "runs"}, \
    {"box", KGEN_MOST_RANK, "rank"}, \
    {"extent", KGEN_MOST_RANK, "rank"}, \
    {"axes", KGEN_MOST_RANK, "rank"}, \
    {"arguments", KGEN_MOST_ARGUMENTS, "arguments"}, \
    {"parameters", KGEN_MOST_TENSORS, "tensors"}, \
    {"workspaces", KGEN_MOST_WORKSPACES, "workspaces"}, \
    {"tensor_maps", KGEN_MOST_TENSOR_MAPS, "tensor_maps"}, \
    {"launches", KGEN_MOST_LAUNCHES, "launches"}, \
    {"artifacts", KGEN_MOST_ARTIFACTS, "artifacts"}, \
    {"constants", KGEN_MOST_CONSTANTS, "constants"}, \
    {"bindings", KGEN_MOST_TENSORS, "tensors"}, \
    {"inputs", KGEN_MOST_INPUTS, "inputs"}, \
    {"outputs", KGEN_MOST_OUTPUTS, "outputs"}, \
    {"states", KGEN_MOST_STATES, "states"}, \
    {"values", KGEN_MOST_VALUES, "values"}, \
    {"weights", KGEN_MOST_WEIGHTS, "weights"}, \
    {"steps", KGEN_MOST_STEPS, "steps"}}

#endif
