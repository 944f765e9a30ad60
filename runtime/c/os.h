/* System interface of libkgen: files, machine code, threads, clocks and CPU features. os_posix.c
 * (Linux, macOS) and os_windows.c implement it. No other file calls the system. */
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

/* Bytes of a reason from the system, including the NUL. */
enum { OS_REASON_BYTES = 128 };

/* Map a file for reading; the path is UTF-8. `*data` is NULL for an empty file. Linux and macOS
 * refuse a folder or a pipe; on Windows, `*data` is NULL for them. */
os_result kgen_os_map_file(const char *path, void **data, size_t *nbytes,
                           char reason[OS_REASON_BYTES]);
void kgen_os_unmap_file(void *data, size_t nbytes);

/* Return the part of a path after its last separator; the path if it has none. */
const char *kgen_os_file_name(const char *path);

/* ---- machine code ---------------------------------------------------------------------------- */

/* Memory for machine code: first writable, then executable, never both. */
typedef struct os_code {
    void *address; /* NULL: not mapped */
    uint64_t nbytes;
    intptr_t file; /* file descriptor on Linux, from begin to end */
} os_code;

/* Begin with zeroed memory, which profilers show as `name`; write the code; end with executable
 * memory. On failure, *reason is set and the memory is released. */
bool kgen_os_code_begin(os_code *code, uint64_t nbytes, const char *name,
                        char reason[OS_REASON_BYTES]);
bool kgen_os_code_write(os_code *code, uint64_t at, const void *data, uint64_t nbytes,
                        char reason[OS_REASON_BYTES]);
bool kgen_os_code_end(os_code *code, char reason[OS_REASON_BYTES]);
void kgen_os_code_free(os_code *code);

/* ---- threads --------------------------------------------------------------------------------- */

/* Bytes of a thread's stack. A kernel uses at most 256 KiB (docs/reference/bundle-format.md). */
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

/* Await releases the lock and takes it again. It may return without a signal. */
void kgen_os_signal_create(os_signal *signal);
void kgen_os_signal_destroy(os_signal *signal);
void kgen_os_signal_await(os_signal *signal, os_lock *lock);
void kgen_os_signal_all(os_signal *signal);

/* Start a thread; return false if the system refuses. The struct must stay at its address until
 * the thread is joined. */
bool kgen_os_thread_start(os_thread *thread, void (*body)(void *), void *argument);
void kgen_os_thread_join(os_thread *thread);

/* Count forks since kgen_os_watch_forks was first called. A child has none of its parent's
 * threads. */
void kgen_os_watch_forks(void);
extern unsigned kgen_os_forks;

/* ---- clock, environment and CPUs ------------------------------------------------------------- */

/* Return the time of a monotonic clock, in nanoseconds. */
int64_t kgen_os_now(void);

/* Copy an environment variable. Return its bytes including the NUL, or 0 if it is not set. A
 * variable of more than `room` bytes is not copied. */
size_t kgen_os_variable(const char *name, char *into, size_t room);

/* Return the number of CPUs that this process may use: by its affinity and, on Linux, by the quotas
 * of its control groups, which limit containers. */
int kgen_os_cpu_count(void);

#if defined(__x86_64__)
/* Return whether the system enables AVX-512 on first use, although XGETBV does not report it yet
 * (macOS). */
bool kgen_os_enables_avx512(void);
/* Return whether the system grants AMX tile state on request. */
bool kgen_os_may_use_tiles(void);
/* Request AMX tile state for this process. If it is refused, write the reason and return false. */
bool kgen_os_request_tiles(char reason[OS_REASON_BYTES]);
#else
/* Return whether the CPU has an AArch64 feature, by Linux's name: fp, asimd, asimddp. */
bool kgen_os_has_feature(const char *name);
#endif

#if !defined(__cplusplus)
#pragma GCC visibility pop
#endif

#endif
