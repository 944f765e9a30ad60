/* Error messages, arena allocator, and helpers for numbers and texts. */
#include "internal.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- versions -------------------------------------------------------------------------------- */

const char *kgen_version(void)
{
    return KGEN_VERSION;
}

int kgen_backend_version(void)
{
    return KGEN_BACKEND_VERSION;
}

int kgen_abi_version(void)
{
    return KGEN_ABI_VERSION;
}

/* ---- errors ---------------------------------------------------------------------------------- */

/* A message is shortened to MOST bytes. Before that, it may hold a path and two messages. */
enum { MESSAGE_BYTES = 8192, MOST = 500, TAIL = 160 };
static __thread char message[MESSAGE_BYTES];

const char *kgen_last_error(void)
{
    return message;
}

/* Return whether a byte continues a UTF-8 character. */
static bool continues(char c)
{
    return ((unsigned char)c & 0xc0) == 0x80;
}

/* Reduce the message to one line without control characters. A long message loses its middle: its
 * start names the place, and its end the remedy. */
static void clean(void)
{
    static const char left_out[] = " ... ";
    size_t length = strlen(message);
    if (length > MOST) {
        size_t head = MOST - TAIL - (sizeof left_out - 1);
        const char *tail = message + length - TAIL;
        while (head > 0 && continues(message[head]))
            head--;
        while (continues(*tail))
            tail++;
        memcpy(message + head, left_out, sizeof left_out - 1);
        memmove(message + head + sizeof left_out - 1, tail, strlen(tail) + 1);
    }
    for (char *c = message; *c; c++)
        if ((unsigned char)*c < ' ' || *c == 0x7f)
            *c = '?';
}

/* Set the message to a text followed by `behind`. */
static void set_message(const char *behind, const char *format, va_list arguments)
{
    int written = vsnprintf(message, MESSAGE_BYTES, format, arguments);
    size_t length = written < 0 ? 0 : (size_t)written;
    if (length < MESSAGE_BYTES)
        snprintf(message + length, MESSAGE_BYTES - length, "%s", behind);
    clean();
}

/* Body of a variadic function that sets the message and returns a status. */
#define SET_MESSAGE(status, behind)                                                               \
    va_list arguments;                                                                            \
    va_start(arguments, format);                                                                  \
    set_message(behind, format, arguments);                                                       \
    va_end(arguments);                                                                            \
    return status

kgen_status kgen_fail(kgen_status status, const char *format, ...)
{
    SET_MESSAGE(status, "");
}

kgen_status kgen_bundle_error(const char *format, ...)
{
    SET_MESSAGE(KGEN_ERROR_BUNDLE, "");
}

kgen_status kgen_argument_error(const char *format, ...)
{
    SET_MESSAGE(KGEN_ERROR_ARGUMENT, "");
}

kgen_status kgen_within(kgen_status status, const char *format, ...)
{
    char inner[MOST + 1];
    if (status == KGEN_OK)
        return status;
    memcpy(inner, message, sizeof inner);
    SET_MESSAGE(status, inner);
}

kgen_status kgen_with_remedy(kgen_status status)
{
    char inner[MOST + 1];
    if (status != KGEN_ERROR_BUNDLE)
        return status;
    memcpy(inner, message, sizeof inner);
    return kgen_bundle_error("%s; build the bundle again", inner);
}

kgen_status kgen_no_memory(uint64_t nbytes)
{
    return kgen_fail(KGEN_ERROR_OUT_OF_MEMORY,
                     "no memory for %llu bytes; give this process more, or close bundles",
                     (unsigned long long)nbytes);
}

kgen_status kgen_null_handle(const char *what)
{
    static const char before[] = "the last error was: ";
    char last[MOST + 1];
    const char *found = strstr(message, before);
    strcpy(last, found == NULL ? message : found + sizeof before - 1);
    const char *then = *last == 0 ? "find or create it first" : before;
    return kgen_argument_error("the %s is NULL; %s%s", what, then, last);
}

/* ---- memory ---------------------------------------------------------------------------------- */

struct chunk {
    chunk *next;
};

enum { CHUNK_BYTES = 64 << 10, STEP = 16 };

/* Allocate a zeroed chunk with at least `nbytes` bytes after its header. */
static char *new_chunk(arena *from, size_t nbytes)
{
    if (nbytes > SIZE_MAX - STEP) {
        kgen_no_memory(nbytes);
        return NULL;
    }
    chunk *made = (chunk *)calloc(1, nbytes + STEP);
    if (made == NULL) {
        kgen_no_memory(nbytes);
        return NULL;
    }
    made->next = from->chunks;
    from->chunks = made;
    return (char *)made + STEP;
}

void *kgen_alloc(arena *from, size_t count, size_t size)
{
    size_t nbytes;
    if (__builtin_mul_overflow(count, size, &nbytes) || nbytes > SIZE_MAX - STEP) {
        kgen_no_memory(SIZE_MAX);
        return NULL;
    }
    nbytes = ((nbytes == 0 ? 1 : nbytes) + STEP - 1) / STEP * STEP;
    if (nbytes > CHUNK_BYTES / 4)
        return new_chunk(from, nbytes);
    if (nbytes > from->left) {
        char *start = new_chunk(from, CHUNK_BYTES);
        if (start == NULL)
            return NULL;
        from->at = start;
        from->left = CHUNK_BYTES;
    }
    void *found = from->at;
    from->at += nbytes;
    from->left -= nbytes;
    return found;
}

void *kgen_alloc_tensor(arena *from, uint64_t nbytes)
{
    if (nbytes > SIZE_MAX / 2) {
        kgen_no_memory(nbytes);
        return NULL;
    }
    char *start = new_chunk(from, (size_t)nbytes + KGEN_ALIGNMENT);
    if (start == NULL)
        return NULL;
    return start + (KGEN_ALIGNMENT - (uintptr_t)start % KGEN_ALIGNMENT) % KGEN_ALIGNMENT;
}

char *kgen_text(arena *from, const char *text, size_t length)
{
    char *copy = (char *)kgen_alloc(from, length + 1, 1);
    if (copy != NULL)
        memcpy(copy, text, length);
    return copy;
}

void kgen_free_all(arena *from)
{
    while (from->chunks != NULL) {
        chunk *next = from->chunks->next;
        free(from->chunks);
        from->chunks = next;
    }
    from->at = NULL;
    from->left = 0;
}

/* ---- numbers --------------------------------------------------------------------------------- */

int64_t kgen_pieces(int64_t a, int64_t b)
{
    return (a - 1) / b + 1;
}

bool kgen_multiply(int64_t *product, int64_t factor)
{
    return !__builtin_mul_overflow(*product, factor, product);
}

uint64_t kgen_number(const unsigned char *at, int nbytes)
{
    uint64_t found = 0;
    for (int i = nbytes - 1; i >= 0; i--)
        found = found << 8 | at[i];
    return found;
}

int kgen_by_text(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}
