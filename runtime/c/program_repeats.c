/* Expansion of a program's repeated steps into one list with the steps of every turn. The number
 * of steps is checked before memory is allocated for them. */
#include "internal.h"

/* Count the bindings and the numbers in `after` of the steps of one turn. */
static uint64_t count_entries(const step *first, int64_t count)
{
    uint64_t entries = 0;
    for (int64_t i = 0; i < count; i++)
        entries += first[i].bindings->count + first[i].num_after;
    return entries;
}

/* Count the steps of all turns. */
static kgen_status count_steps(const kgen_program *of, size_t *steps)
{
    int64_t behind = 0;
    uint64_t total = of->num_steps, entries = 0;
    for (size_t i = 0; i < of->num_repeats; i++) {
        const repeat *one = &of->repeats[i];
        if (one->first < 0 || (uint64_t)one->first >= of->num_steps || one->count < 1 ||
            (uint64_t)one->count > of->num_steps - (uint64_t)one->first)
            return kgen_bundle_error("repetition %zu has first=%lld, count=%lld; the program has "
                                     "%zu steps", i, (long long)one->first, (long long)one->count,
                                     of->num_steps);
        if (one->first < behind)
            return kgen_bundle_error("repetition %zu has first=%lld; it must be at least %lld, "
                                     "the end of the repetition before it", i,
                                     (long long)one->first, (long long)behind);
        if (one->turns < 2 || one->turns > KGEN_MOST_STEPS)
            return kgen_bundle_error("repetition %zu has %lld turns; the limits are 2 and %d", i,
                                     (long long)one->turns, KGEN_MOST_STEPS);
        behind = one->first + one->count;
        total += (uint64_t)one->count * (uint64_t)(one->turns - 1);
        entries += count_entries(&of->steps[one->first], one->count) * (uint64_t)one->turns;
        if (total > KGEN_MOST_STEPS)
            return kgen_bundle_error("has %llu steps in all turns; the limit is %d (steps)",
                                     (unsigned long long)total, KGEN_MOST_STEPS);
        if (entries > KGEN_MOST_TURN_ENTRIES)
            return kgen_bundle_error("has %llu bindings and waits in all turns; the limit is %d "
                                     "(turn_entries)", (unsigned long long)entries,
                                     KGEN_MOST_TURN_ENTRIES);
    }
    *steps = (size_t)total;
    return KGEN_OK;
}

/* Write a step of one turn. */
static kgen_status write_turn(step *into, const step *of, const repeat *in, int64_t turn,
                              arena *memory)
{
    *into = *of;
    into->in = in;
    into->turn = turn;
    int64_t *after;
    ALLOC(after, memory, of->num_after);
    for (size_t i = 0; i < of->num_after; i++) {
        /* A number out of range becomes -1, which the check of `after` refuses. */
        bool is_number = of->after[i] >= 0 && of->after[i] < KGEN_MOST_STEPS;
        after[i] = is_number ? of->after[i] + turn * in->count : -1;
    }
    into->after = after;
    return KGEN_OK;
}

kgen_status kgen_write_out(kgen_program *program, arena *memory)
{
    size_t count = 0, made = 0, listed = 0;
    if (program->num_repeats == 0)
        return KGEN_OK;
    TRY(count_steps(program, &count));
    step *steps;
    ALLOC(steps, memory, count);
    for (size_t i = 0; i < program->num_repeats; i++) {
        const repeat *one = &program->repeats[i];
        while (listed < (size_t)one->first)
            steps[made++] = program->steps[listed++];
        for (int64_t turn = 0; turn < one->turns; turn++)
            for (int64_t k = 0; k < one->count; k++)
                TRY(write_turn(&steps[made++], &program->steps[one->first + k], one, turn, memory));
        listed += (size_t)one->count;
    }
    while (listed < program->num_steps)
        steps[made++] = program->steps[listed++];
    program->steps = steps;
    program->num_steps = count;
    return KGEN_OK;
}
