/* Opens damaged bundles in memory, each in an allocation of its own size, so that a sanitizer sees
 * every byte that is read behind it.
 *
 *   fuzz flips BUNDLE SEED COUNT RANGE...   flips of bits at random bytes of these ranges (begin end),
 *                                     several at a time; each ends in an error, or the bundle does what
 *                                     it did: the bytes that it computes from a pattern are the same
 *   fuzz cuts BUNDLE                  the first n bytes of it, for every n of a sample
 *   fuzz memory BUNDLE                each allocation fails in turn, until all that is in it has run
 *   fuzz each PACK [run]              a file of bundles, an 8-byte size before each: opens each and
 *                                     prints its status and message; with `run`, runs all that is in it
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kgen.h"

static void fail(const char *what)
{
    fprintf(stderr, "%s: %s\n", what, kgen_last_error());
    exit(1);
}

/* ---- allocations that fail (linked with --wrap) ---------------------------------------------- */

void *__real_malloc(size_t nbytes);
void *__real_calloc(size_t count, size_t size);
void *__wrap_malloc(size_t nbytes);
void *__wrap_calloc(size_t count, size_t size);

/* The number of the allocation that fails; those of this program do not count. */
static long fails_at, allocations;
static int is_counting;

static int fails(void)
{
    return is_counting && allocations++ == fails_at;
}

void *__wrap_malloc(size_t nbytes)
{
    return fails() ? NULL : __real_malloc(nbytes);
}

void *__wrap_calloc(size_t count, size_t size)
{
    return fails() ? NULL : __real_calloc(count, size);
}

static unsigned char *read_file(const char *path, size_t *nbytes)
{
    FILE *file = fopen(path, "rb");
    if (file == NULL)
        fail(path);
    fseek(file, 0, SEEK_END);
    *nbytes = (size_t)ftell(file);
    rewind(file);
    unsigned char *data = malloc(*nbytes);
    if (data == NULL || fread(data, 1, *nbytes, file) != *nbytes)
        fail(path);
    fclose(file);
    return data;
}

/* xorshift64 */
static uint64_t draw(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

/* Memory that looks like small numbers of any type. */
static void fill(void *data, size_t nbytes)
{
    memset(data, 0x3c, nbytes);
}

static uint64_t mixed(uint64_t hash, const void *data, size_t nbytes)
{
    const unsigned char *at = data;
    for (size_t i = 0; i < nbytes; i++)
        hash = (hash ^ at[i]) * 0x100000001b3u;
    return hash;
}

static uint64_t run_kernel(kgen_kernel *of, uint64_t hash)
{
    kgen_buffer with[64];
    size_t count = kgen_num_arguments(of);
    if (count > 64)
        return hash;
    for (size_t i = 0; i < count; i++) {
        size_t nbytes = kgen_argument(of, i)->nbytes;
        with[i] = (kgen_buffer){nbytes < (1u << 30) ? malloc(nbytes) : NULL, nbytes};
        if (with[i].data != NULL)
            fill(with[i].data, nbytes);
    }
    kgen_status status = kgen_run(of, with, count);
    for (size_t i = 0; i < count; i++) {
        if (status == KGEN_OK && kgen_argument(of, i)->role == KGEN_OUTPUT)
            hash = mixed(hash, with[i].data, with[i].nbytes);
        free(with[i].data);
    }
    return hash + (uint64_t)status;
}

static uint64_t run_program(kgen_program *of, uint64_t hash)
{
    kgen_session *session = NULL;
    if (kgen_session_create(of, &session) != KGEN_OK)
        return hash + 1;
    for (size_t i = 0; i < kgen_num_inputs(of); i++)
        fill(kgen_session_input_data(session, kgen_input(of, i)->name), kgen_input(of, i)->nbytes);
    if (kgen_session_run(session) != KGEN_OK && strstr(kgen_last_error(), "--capacity") == NULL)
        fail("a run");
    for (size_t i = 0; i < kgen_num_outputs(of); i++) {
        const kgen_tensor *one = kgen_output(of, i);
        hash = mixed(hash, kgen_session_output_data(session, one->name), one->nbytes);
    }
    kgen_session_destroy(session);
    return hash;
}

/* All that is in a bundle, as a number. */
static uint64_t run_all(const kgen_bundle *of)
{
    uint64_t hash = 0xcbf29ce484222325u;
    for (size_t i = 0; i < kgen_num_kernels(of); i++)
        hash = run_kernel(kgen_kernel_at(of, i), hash);
    for (size_t i = 0; i < kgen_num_programs(of); i++)
        hash = run_program(kgen_program_at(of, i), hash);
    return hash;
}

static const kgen_options OPTIONS = {1, 1};

/* Opens a copy of its own; *hash is 0 where it is refused. */
static kgen_status open_copy(const void *data, size_t nbytes, int runs, uint64_t *hash)
{
    kgen_bundle *bundle = NULL;
    void *copy = malloc(nbytes);
    memcpy(copy, data, nbytes);
    kgen_status status = kgen_open_memory(copy, nbytes, &OPTIONS, &bundle);
    *hash = status == KGEN_OK && runs ? run_all(bundle) : 0;
    if (status != KGEN_OK && (strlen(kgen_last_error()) < 20 || bundle != NULL))
        fail("an error without a message");
    if (strchr(kgen_last_error(), '\n') != NULL)
        fail("an error of several lines");
    kgen_close(bundle);
    free(copy);
    return status;
}

static void flip(const char *path, uint64_t seed, int count, char **ranges, int num_ranges)
{
    size_t nbytes;
    unsigned char *data = read_file(path, &nbytes);
    uint64_t wanted, found;
    int refused = 0, right = 0;
    if (open_copy(data, nbytes, 1, &wanted) != KGEN_OK)
        fail(path);
    for (int i = 0; i < count; i++) {
        size_t places[3];
        unsigned char bits[3];
        int flips = 1 + (int)(draw(&seed) % 3);
        for (int f = 0; f < flips; f++) {
            size_t range = 2 * (draw(&seed) % (uint64_t)(num_ranges / 2));
            size_t begin = (size_t)atoll(ranges[range]), end = (size_t)atoll(ranges[range + 1]);
            places[f] = begin + draw(&seed) % (end - begin);
            bits[f] = (unsigned char)(1 + draw(&seed) % 255);
            data[places[f]] ^= bits[f];
        }
        if (open_copy(data, nbytes, 1, &found) != KGEN_OK)
            refused++;
        else if (found == wanted)
            right++;
        else
            fail("a flip changed what a bundle computes");
        for (int f = flips; f-- > 0;)
            data[places[f]] ^= bits[f];
    }
    printf("%d refused, %d right\n", refused, right);
    free(data);
}

static void cut(const char *path)
{
    size_t nbytes;
    unsigned char *data = read_file(path, &nbytes);
    uint64_t hash;
    int count = 0;
    for (size_t left = 0; left < nbytes; left += left < 200 || nbytes - left < 200 ? 1 : 97) {
        if (open_copy(data, left, 0, &hash) == KGEN_OK)
            fail("a part of a bundle was opened");
        count++;
    }
    printf("%d refused\n", count);
    free(data);
}

/* Opens the bundle and runs all that is in it: OK, or the first thing that failed. */
static kgen_status use(const void *data, size_t nbytes)
{
    kgen_bundle *bundle = NULL;
    kgen_options options = {2, 1};
    kgen_status status = kgen_open_memory(data, nbytes, &options, &bundle);
    for (size_t i = 0; status == KGEN_OK && i < kgen_num_kernels(bundle); i++) {
        kgen_kernel *one = kgen_kernel_at(bundle, i);
        kgen_buffer with[16];
        kgen_call *call = NULL;
        size_t count = kgen_num_arguments(one);
        static float memory[16][4096];
        for (size_t a = 0; a < count && a < 16; a++)
            with[a] = (kgen_buffer){memory[a], sizeof memory[a]};
        status = kgen_run(one, with, count);
        if (status == KGEN_OK)
            status = kgen_call_create(one, with, count, &call);
        kgen_call_destroy(call);
    }
    for (size_t i = 0; status == KGEN_OK && i < kgen_num_programs(bundle); i++) {
        kgen_session *session = NULL;
        kgen_program *one = kgen_program_at(bundle, i);
        status = kgen_session_create(one, &session);
        for (size_t a = 0; status == KGEN_OK && a < kgen_num_inputs(one); a++)
            kgen_session_input_data(session, kgen_input(one, a)->name); /* zeros */
        if (status == KGEN_OK)
            status = kgen_session_run(session);
        kgen_session_destroy(session);
    }
    kgen_close(bundle);
    return status;
}

static void run_out_of_memory(const char *path)
{
    size_t nbytes;
    unsigned char *data = read_file(path, &nbytes);
    kgen_status status;
    do {
        allocations = 0;
        is_counting = 1;
        status = use(data, nbytes);
        is_counting = 0;
        if (status != KGEN_OK && status != KGEN_ERROR_OUT_OF_MEMORY)
            fail("another error");
        if (status == KGEN_OK && allocations > fails_at)
            fail("nobody saw that an allocation failed");
        fails_at++;
    } while (status != KGEN_OK);
    printf("%ld allocations\n", fails_at - 1);
    free(data);
}

static void each(const char *path, int runs)
{
    size_t nbytes;
    unsigned char *data = read_file(path, &nbytes);
    for (size_t at = 0; at < nbytes;) {
        uint64_t size, hash;
        memcpy(&size, data + at, sizeof size);
        kgen_status status = open_copy(data + at + 8, (size_t)size, runs, &hash);
        printf("%d %s\n", status, status == KGEN_OK ? "" : kgen_last_error());
        fflush(stdout); /* the number of lines says which one crashed */
        at += 8 + (size_t)size;
    }
    free(data);
}

int main(int count, char **words)
{
    if (count > 6 && strcmp(words[1], "flips") == 0)
        flip(words[2], (uint64_t)atoll(words[3]), atoi(words[4]), words + 5, count - 5);
    else if (count == 3 && strcmp(words[1], "cuts") == 0)
        cut(words[2]);
    else if (count == 3 && strcmp(words[1], "memory") == 0)
        run_out_of_memory(words[2]);
    else if (count > 2 && strcmp(words[1], "each") == 0)
        each(words[2], count > 3);
    else
        return 2;
    return 0;
}
