/* System calls of libkgen: files, machine code, threads, clocks and the CPU's features, as
 * os_posix.c (Linux, macOS) and os_windows.c implement them. No other file calls the system. */
#ifndef KGEN_OS_H
#define KGEN_OS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#if defined(_WIN32)
#define KGEN_SYSTEM "Windows"
#elif defined(__APPLE__)
#define KGEN_SYSTEM "macOS"
#elif defined(__linux__)
#define KGEN_SYSTEM "Linux"
#else
#error "libkgen is for Linux, macOS and Windows"
#endif

#if !defined(_WIN32)
#include <pthread.h>
#endif

#if !defined(__cplusplus)
#pragma GCC visibility push(hidden)
#endif

/* ---- files ----------------------------------------------------------------------------------- */

typedef enum os_result { OS_DONE, OS_NOT_FOUND, OS_NO_MEMORY, OS_REFUSED } os_result;

/* Bytes of a reason that the system gives, with its NUL. */
enum { OS_REASON_BYTES = 128 };

/* Map a file, whose path is UTF-8, for reading. `*data` is NULL for an empty file, and for a path
 * that is not a file, such as a folder or a pipe. */
os_result kgen_os_map_file(const char *path, void **data, size_t *nbytes,
                           char reason[OS_REASON_BYTES]);
void kgen_os_unmap_file(void *data, size_t nbytes);

/* The part of a path behind its last separator; the path if it has none. */
const char *kgen_os_file_name(const char *path);

/* ---- machine code ---------------------------------------------------------------------------- */

/* Memory for machine code: first written, then executable, never both. */
typedef struct os_code {
    void *address; /* NULL: none */
    uint64_t nbytes;
    intptr_t file; /* of Linux, from begin to end */
} os_code;

/* Begin with zeros; `name` is for profilers. Write; end. Where one of them fails, *reason says why,
 * and the memory is given back. */
bool kgen_os_code_begin(os_code *code, uint64_t nbytes, const char *name,
                        char reason[OS_REASON_BYTES]);
bool kgen_os_code_write(os_code *code, uint64_t at, const void *data, uint64_t nbytes,
                        char reason[OS_REASON_BYTES]);
bool kgen_os_code_end(os_code *code, char reason[OS_REASON_BYTES]);
void kgen_os_code_free(os_code *code);

/* ---- threads --------------------------------------------------------------------------------- */

/* Bytes of a thread's stack: a kernel takes 256 KiB at most (docs/reference/bundle-format.md). */
enum { OS_STACK_BYTES = 1 << 20 };

#if defined(_WIN32)
typedef void *os_lock;          /* SRWLOCK */
typedef void *os_signal;        /* CONDITION_VARIABLE */
typedef void *os_thread_handle; /* HANDLE */
#else
typedef pthread_mutex_t os_lock;
typedef pthread_cond_t os_signal;
typedef pthread_t os_thread_handle;
#endif

typedef struct os_thread {
    os_thread_handle handle;
    void (*body)(void *);
    void *argument;
} os_thread;

void kgen_os_lock_create(os_lock *lock);
void kgen_os_lock_destroy(os_lock *lock);
void kgen_os_lock_take(os_lock *lock);
void kgen_os_lock_release(os_lock *lock);

/* Waiting releases the lock, and takes it again. It may return without a signal. */
void kgen_os_signal_create(os_signal *signal);
void kgen_os_signal_destroy(os_signal *signal);
void kgen_os_signal_await(os_signal *signal, os_lock *lock);
void kgen_os_signal_all(os_signal *signal);

/* False where the system gives no more threads. The thread stays where it is until it is joined. */
bool kgen_os_thread_start(os_thread *thread, void (*body)(void *), void *argument);
void kgen_os_thread_join(os_thread *thread);

/* Number of forks between the first process that watched them and this one: a child has none of
 * its parent's threads. */
void kgen_os_watch_forks(void);
extern unsigned kgen_os_forks;

/* ---- clock, environment and CPUs ------------------------------------------------------------- */

/* Nanoseconds of a clock that never goes back. */
int64_t kgen_os_now(void);

/* Copy an environment variable, and return its bytes with the NUL; 0 if it is not set. A variable
 * of more than `room` bytes is not copied. */
size_t kgen_os_variable(const char *name, char *into, size_t room);

/* CPUs that this process may use. */
int kgen_os_cpu_count(void);

#if defined(__x86_64__)
/* Whether the system enables AVX-512 for a process that has not used it yet, beyond what XGETBV
 * says (macOS). */
bool kgen_os_enables_avx512(void);
/* Whether the system gives AMX tile state to a process that asks for it; ask for it. */
bool kgen_os_may_use_tiles(void);
bool kgen_os_request_tiles(char reason[OS_REASON_BYTES]);
#else
/* Whether the CPU has an AArch64 feature, in Linux's words: fp, asimd, asimddp. */
bool kgen_os_has_feature(const char *name);
#endif

#if !defined(__cplusplus)
#pragma GCC visibility pop
#endif

#endif
