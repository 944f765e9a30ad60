/* Selection of the kernels and programs that this CPU runs. If a key has several kernels, the one
 * that requires the most features of the CPU is selected, as in kgen_runtime/select.py. */
#include "internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Name of this device in messages, as in the Python runtime. */
#define DEVICE "cpu:0"

/* Formats that CPUs run, best first. */
static const char *const FORMATS[] = {"elf-x86_64", "elf-aarch64"};
enum { NUM_FORMATS = 2, REASON_BYTES = 512 };

/* ---- one kernel ------------------------------------------------------------------------------ */

/* List the features that the CPU lacks, each once, in order; "" if there are none. */
static kgen_status missing_features(const artifact *code, const cpu *here, arena *memory,
                                    char *into, size_t room, bool *lacks_tiles)
{
    const json *features = code->requires_ == NULL
                               ? NULL
                               : kgen_json_member(code->requires_, "features");
    size_t count = 0, used = 0;
    *into = 0;
    *lacks_tiles = false;
    const char **missing;
    ALLOC(missing, memory, features == NULL ? 0 : features->count);
    for (const json *one = features == NULL ? NULL : features->as.first; one != NULL;
         one = one->next)
        if (!kgen_cpu_has(here, one->as.text))
            missing[count++] = one->as.text;
    qsort(missing, count, sizeof *missing, kgen_by_text);
    for (size_t i = 0; i < count; i++) {
        *lacks_tiles = *lacks_tiles || strcmp(missing[i], "amx_tile") == 0;
        if (used + 1 < room && (i == 0 || strcmp(missing[i - 1], missing[i]) != 0)) {
            int more = snprintf(into + used, room - used, "%s%s", used > 0 ? ", " : "",
                                missing[i]);
            used += more > 0 ? (size_t)more : 0;
        }
    }
    return KGEN_OK;
}

/* Write why this CPU cannot run an artifact; "" if it can. */
static kgen_status refusal(const artifact *code, const cpu *here, arena *memory, char *why)
{
    const char *file = code->file.file, *arch = "None";
    char missing[REASON_BYTES / 2];
    bool lacks_tiles;
    const json *first = code->requires_ == NULL ? NULL : code->requires_->as.first;
    *why = 0;
    for (const json *one = first; one != NULL; one = one->next) {
        if (strcmp(one->name, "arch") == 0) {
            arch = one->as.text;
        } else if (strcmp(one->name, "features") != 0) {
            snprintf(why, REASON_BYTES,
                     "%s requires %s, which this runtime does not know; upgrade the runtime", file,
                     one->name);
            return KGEN_OK;
        }
    }
    if (strcmp(arch, KGEN_ARCH) != 0) {
        snprintf(why, REASON_BYTES,
                 "%s is for %s, not for " KGEN_ARCH "; build it for a target of this machine", file,
                 arch);
        return KGEN_OK;
    }
    TRY(missing_features(code, here, memory, missing, sizeof missing, &lacks_tiles));
    if (*missing != 0)
        snprintf(why, REASON_BYTES,
                 "%s needs %s, which the CPU lacks%s; build for native or for a lower level, such "
                 "as x86-64",
                 file, missing, lacks_tiles ? " or the system denies to this process" : "");
    return KGEN_OK;
}

/* Choose the best artifact of each module that runs here; set `why` if a launch has none. */
static kgen_status choose_code(kgen_kernel *of, const cpu *here, arena *memory, char *why)
{
    snprintf(why, REASON_BYTES, "the bundle has no code for the cpu backend");
    for (size_t form = 0; form < NUM_FORMATS; form++)
        for (size_t i = 0; i < of->num_artifacts; i++) {
            artifact *one = &of->artifacts[i];
            char reason[REASON_BYTES];
            if (strcmp(one->format, FORMATS[form]) != 0 || strcmp(one->role, "source") == 0)
                continue;
            TRY(refusal(one, here, memory, reason));
            if (*reason != 0) {
                memcpy(why, reason, REASON_BYTES);
                continue;
            }
            for (size_t l = 0; l < of->num_launches; l++)
                if (of->launches[l].code == NULL &&
                    strcmp(of->launches[l].module, one->module) == 0)
                    of->launches[l].code = one;
        }
    for (size_t i = 0; i < of->num_launches; i++)
        if (of->launches[i].code == NULL)
            return KGEN_OK;
    *why = 0;
    return KGEN_OK;
}

/* Rank a kernel that runs: by the number of features that its code requires. */
static int64_t rank_of(const kgen_kernel *of)
{
    const artifact *code = of->launches[0].code;
    const json *features = code->requires_ == NULL
                               ? NULL
                               : kgen_json_member(code->requires_, "features");
    int64_t count = features == NULL ? 0 : (int64_t)features->count;
    return strcmp(code->format, FORMATS[0]) == 0 ? count : count - INT32_MAX;
}

/* ---- best entry of each name ----------------------------------------------------------------- */

typedef struct candidate {
    const char *name, *shown, *target;
    const char *reason; /* why it does not run; NULL if it does */
    int64_t rank;
    size_t number; /* number among all entries */
    struct candidate *winner; /* best entry of its name; NULL if none runs */
    bool is_first; /* whether it is the first entry of its name that runs */
} candidate;

static int by_name_and_number(const void *a, const void *b)
{
    const candidate *one = *(candidate *const *)a, *other = *(candidate *const *)b;
    int order = strcmp(one->name, other->name);
    return order != 0 ? order : (one->number > other->number) - (one->number < other->number);
}

/* The highest rank of each name wins; of equal ranks the first. */
static kgen_status settle(candidate *all, size_t count, arena *memory)
{
    candidate **sorted;
    ALLOC(sorted, memory, count);
    for (size_t i = 0; i < count; i++) {
        all[i].number = i;
        sorted[i] = &all[i];
    }
    qsort(sorted, count, sizeof *sorted, by_name_and_number);
    for (size_t start = 0, end = 0; start < count; start = end) {
        candidate *winner = NULL;
        for (; end < count && strcmp(sorted[end]->name, sorted[start]->name) == 0; end++) {
            candidate *one = sorted[end];
            if (one->reason != NULL)
                continue;
            one->is_first = winner == NULL;
            if (winner == NULL || one->rank > winner->rank)
                winner = one;
        }
        for (size_t i = start; i < end; i++)
            sorted[i]->winner = winner;
    }
    return KGEN_OK;
}

/* Record why the entries that do not run, or do not win, are skipped. */
static kgen_status skip_losers(selection *into, const candidate *all, size_t count,
                               bool of_programs, arena *memory)
{
    for (size_t i = 0; i < count; i++) {
        const candidate *one = &all[i];
        char reason[REASON_BYTES];
        if (one->winner == one)
            continue;
        if (one->reason != NULL)
            snprintf(reason, sizeof reason, "%s", one->reason);
        else if (of_programs)
            snprintf(reason, sizeof reason, "%.256s is better for " DEVICE ", or precedes it",
                     one->winner->target);
        else
            snprintf(reason, sizeof reason,
                     one->winner->rank == one->rank ? "%.256s is as good for " DEVICE
                                                      " and precedes it"
                                                    : "%.256s is better for " DEVICE,
                     one->winner->target);
        skipped *made = &into->left_out[into->num_left_out++];
        made->name = one->shown;
        made->reason = kgen_text(memory, reason, strlen(reason));
        if (made->reason == NULL)
            return KGEN_ERROR_OUT_OF_MEMORY;
    }
    return KGEN_OK;
}

static kgen_status look_at_kernels(candidate *of, manifest *all, const cpu *here, arena *memory)
{
    for (size_t i = 0; i < all->num_kernels; i++) {
        kgen_kernel *kernel = &all->kernels[i];
        char why[REASON_BYTES];
        of[i].name = kernel->key;
        of[i].shown = kernel->name;
        of[i].target = kernel->target;
        bool is_cpu = strcmp(kernel->family, "cpu") == 0;
        if (is_cpu)
            TRY(choose_code(kernel, here, memory, why));
        else
            snprintf(why, sizeof why, "the bundle has no code for the cpu backend");
        if (*why == 0)
            of[i].rank = rank_of(kernel);
        else if ((of[i].reason = kgen_text(memory, why, strlen(why))) == NULL)
            return KGEN_ERROR_OUT_OF_MEMORY;
    }
    return KGEN_OK;
}

/* A program runs if all its kernels run; its rank is the lowest rank of its kernels. */
static kgen_status look_at_programs(candidate *of, const candidate *kernels, const manifest *all,
                                    arena *memory)
{
    for (size_t i = 0; i < all->num_programs; i++) {
        const kgen_program *program = &all->programs[i];
        of[i].name = program->name;
        of[i].shown = program->qualified_name;
        of[i].target = program->target;
        of[i].rank = INT64_MAX;
        for (size_t s = 0; s < program->num_steps && of[i].reason == NULL; s++) {
            const candidate *its = &kernels[program->steps[s].kernel - all->kernels];
            if (its->reason == NULL) {
                of[i].rank = its->rank < of[i].rank ? its->rank : of[i].rank;
                continue;
            }
            char why[REASON_BYTES];
            snprintf(why, sizeof why, "%.200s: %.300s", its->shown, its->reason);
            of[i].reason = kgen_text(memory, why, strlen(why));
            if (of[i].reason == NULL)
                return KGEN_ERROR_OUT_OF_MEMORY;
        }
    }
    return KGEN_OK;
}

kgen_status kgen_select(selection *into, manifest *all, const cpu *here, arena *memory)
{
    candidate *kernels, *programs;
    ALLOC(kernels, memory, all->num_kernels);
    ALLOC(programs, memory, all->num_programs);
    ALLOC(into->kernels, memory, all->num_kernels);
    ALLOC(into->programs, memory, all->num_programs);
    ALLOC(into->left_out, memory, all->num_kernels + all->num_programs);
    TRY(look_at_kernels(kernels, all, here, memory));
    TRY(look_at_programs(programs, kernels, all, memory));
    TRY(settle(kernels, all->num_kernels, memory));
    TRY(settle(programs, all->num_programs, memory));
    TRY(skip_losers(into, kernels, all->num_kernels, false, memory));
    TRY(skip_losers(into, programs, all->num_programs, true, memory));
    for (size_t i = 0; i < all->num_kernels; i++)
        if (kernels[i].is_first)
            into->kernels[into->num_kernels++] = &all->kernels[kernels[i].winner->number];
    for (size_t i = 0; i < all->num_programs; i++)
        if (programs[i].is_first)
            into->programs[into->num_programs++] = &all->programs[programs[i].winner->number];
    if (into->num_kernels > 0 || into->num_programs > 0)
        return KGEN_OK;
    size_t told = 0; /* prefer the reason of a CPU kernel to that of a GPU kernel */
    while (told + 1 < all->num_kernels && strcmp(all->kernels[told].family, "cpu") != 0)
        told++;
    return kgen_fail(KGEN_ERROR_DEVICE, "this CPU runs no kernel of this bundle: %s",
                     kernels[told].reason);
}
