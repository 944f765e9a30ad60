/* System interface (os.h) on Linux and macOS. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* sched_getaffinity, syscall */
#endif
#include "internal.h"

#if !defined(_WIN32)

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#if defined(__APPLE__)
#include <libkern/OSCacheControl.h>
#include <sys/sysctl.h>
#else
#include <sched.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#if defined(__aarch64__)
#include <sys/auxv.h>
#endif
#endif

static void tell(char reason[OS_REASON_BYTES], int error)
{
    snprintf(reason, OS_REASON_BYTES, "%s", strerror(error));
}

/* ---- files ----------------------------------------------------------------------------------- */

os_result kgen_os_map_file(const char *path, void **data, size_t *nbytes,
                           char reason[OS_REASON_BYTES])
{
    struct stat found;
    void *mapped = NULL;
    int error = 0;
    *data = NULL;
    *nbytes = 0;
    /* O_NONBLOCK: opening a pipe must not wait for a writer. */
    int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (file < 0 || fstat(file, &found) != 0) {
        error = errno;
        if (file >= 0)
            close(file);
        tell(reason, error);
        return error == ENOENT ? OS_NOT_FOUND : OS_REFUSED;
    }
    if (!S_ISREG(found.st_mode)) {
        close(file);
        if (S_ISDIR(found.st_mode))
            tell(reason, EISDIR);
        else
            snprintf(reason, OS_REASON_BYTES, "it is a pipe or device, not a plain file");
        return OS_REFUSED;
    }
    bool maps = found.st_size > 0; /* no system maps an empty file */
    if (maps) {
        mapped = mmap(NULL, (size_t)found.st_size, PROT_READ, MAP_PRIVATE, file, 0);
        error = errno;
    }
    close(file);
    if (mapped == MAP_FAILED) {
        tell(reason, error);
        return error == ENOMEM ? OS_NO_MEMORY : OS_REFUSED;
    }
    *data = mapped;
    *nbytes = maps ? (size_t)found.st_size : 0;
    return OS_DONE;
}

void kgen_os_unmap_file(void *data, size_t nbytes)
{
    munmap(data, nbytes);
}

const char *kgen_os_file_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash == NULL ? path : slash + 1;
}

/* ---- machine code ---------------------------------------------------------------------------- */

static void close_file(os_code *code)
{
    if (code->file >= 0)
        close((int)code->file);
    code->file = -1;
}

static bool code_fails(os_code *code, char reason[OS_REASON_BYTES])
{
    tell(reason, errno);
    kgen_os_code_free(code);
    return false;
}

#if defined(__APPLE__) && defined(__aarch64__)

/* Memory that this thread may either write or execute (MAP_JIT). */
enum { BEGIN_PROTECTION = PROT_READ | PROT_WRITE | PROT_EXEC, CODE_FLAGS = MAP_JIT };

static void may_write(bool writes)
{
    pthread_jit_write_protect_np(!writes);
}

static bool may_execute(const os_code *code)
{
    sys_icache_invalidate(code->address, (size_t)code->nbytes);
    return true;
}

#else

/* Memory that changes from writable to executable. */
enum { BEGIN_PROTECTION = PROT_READ | PROT_WRITE, CODE_FLAGS = 0 };

static void may_write(bool writes)
{
    (void)writes;
}

static bool may_execute(const os_code *code)
{
#if defined(__aarch64__)
    /* Write the data cache back and drop the instruction cache, line by line (Arm ARM, B2.4.4;
     * CTR_EL0). The compiler's function for this needs its runtime library. */
    uint64_t sizes, start = (uint64_t)code->address, end = start + code->nbytes;
    __asm__("mrs %0, ctr_el0" : "=r"(sizes));
    for (uint64_t at = start; at < end; at += 4U << (sizes >> 16 & 15))
        __asm__ volatile("dc cvau, %0" : : "r"(at) : "memory");
    __asm__ volatile("dsb ish" : : : "memory");
    for (uint64_t at = start; at < end; at += 4U << (sizes & 15))
        __asm__ volatile("ic ivau, %0" : : "r"(at) : "memory");
    __asm__ volatile("dsb ish\n\tisb" : : : "memory");
#endif
    return mprotect(code->address, (size_t)code->nbytes, PROT_READ | PROT_EXEC) == 0;
}

#endif

#if defined(__APPLE__)

static bool begin_file(os_code *code, const char *name)
{
    (void)code;
    (void)name;
    return false;
}

#else

/* Linux: a file in memory, so that profilers see a name and the system keeps the instruction
 * cache coherent. memfd_create(2) limits the length of the name. Return false if the system
 * refuses the file; a file above RLIMIT_FSIZE would end the process (SIGXFSZ). */
enum { MAX_CODE_NAME = 249, CLOSE_ON_EXEC = 1 /* MFD_CLOEXEC */ };

static bool begin_file(os_code *code, const char *name)
{
    char shown[MAX_CODE_NAME + 1] = {0};
    struct rlimit limit;
    strncpy(shown, name, MAX_CODE_NAME);
    if (getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur < code->nbytes)
        return false;
    code->file = syscall(SYS_memfd_create, shown, (unsigned)CLOSE_ON_EXEC);
    if (code->file >= 0 && ftruncate((int)code->file, (off_t)code->nbytes) == 0)
        return true;
    close_file(code);
    return false;
}

#endif

static bool write_file(const os_code *code, uint64_t at, const void *data, uint64_t nbytes)
{
    const char *next = (const char *)data;
    while (nbytes > 0) {
        ssize_t written = pwrite((int)code->file, next, (size_t)nbytes, (off_t)at);
        if (written < 0 && errno == EINTR)
            continue;
        if (written <= 0)
            return false;
        next += written;
        nbytes -= (uint64_t)written;
        at += (uint64_t)written;
    }
    return true;
}

bool kgen_os_code_begin(os_code *code, uint64_t nbytes, const char *name,
                        char reason[OS_REASON_BYTES])
{
    code->address = NULL;
    code->nbytes = nbytes;
    code->file = -1;
    if (begin_file(code, name))
        return true;
    void *address = mmap(NULL, (size_t)nbytes, BEGIN_PROTECTION,
                         MAP_PRIVATE | MAP_ANONYMOUS | CODE_FLAGS, -1, 0);
    if (address == MAP_FAILED)
        return code_fails(code, reason);
    code->address = address;
    return true;
}

bool kgen_os_code_write(os_code *code, uint64_t at, const void *data, uint64_t nbytes,
                        char reason[OS_REASON_BYTES])
{
    if (code->file >= 0)
        return write_file(code, at, data, nbytes) || code_fails(code, reason);
    may_write(true);
    memcpy((char *)code->address + at, data, (size_t)nbytes);
    may_write(false);
    return true;
}

bool kgen_os_code_end(os_code *code, char reason[OS_REASON_BYTES])
{
    if (code->file < 0)
        return may_execute(code) || code_fails(code, reason);
    void *address = mmap(NULL, (size_t)code->nbytes, PROT_READ | PROT_EXEC, MAP_PRIVATE,
                         (int)code->file, 0);
    if (address == MAP_FAILED)
        return code_fails(code, reason);
    close_file(code);
    code->address = address;
    return true;
}

void kgen_os_code_free(os_code *code)
{
    close_file(code);
    if (code->address != NULL)
        munmap(code->address, (size_t)code->nbytes);
    code->address = NULL;
    code->nbytes = 0;
}

/* ---- threads --------------------------------------------------------------------------------- */

void kgen_os_lock_create(os_lock *lock)
{
    pthread_mutex_init(lock, NULL);
}

void kgen_os_lock_destroy(os_lock *lock)
{
    pthread_mutex_destroy(lock);
}

void kgen_os_lock_take(os_lock *lock)
{
    pthread_mutex_lock(lock);
}

void kgen_os_lock_release(os_lock *lock)
{
    pthread_mutex_unlock(lock);
}

void kgen_os_signal_create(os_signal *signal)
{
    pthread_cond_init(signal, NULL);
}

void kgen_os_signal_destroy(os_signal *signal)
{
    pthread_cond_destroy(signal);
}

void kgen_os_signal_await(os_signal *signal, os_lock *lock)
{
    pthread_cond_wait(signal, lock);
}

void kgen_os_signal_all(os_signal *signal)
{
    pthread_cond_broadcast(signal);
}

static void *run_thread(void *argument)
{
    const os_thread *thread = (const os_thread *)argument;
    thread->body(thread->argument);
    return NULL;
}

bool kgen_os_thread_start(os_thread *thread, void (*body)(void *), void *argument)
{
    pthread_attr_t attributes;
    thread->body = body;
    thread->argument = argument;
    if (pthread_attr_init(&attributes) != 0)
        return false;
    /* Signals of the process belong to the application's threads. Signals of faults stay, and that
     * of profilers. */
    static const int own[] = {SIGBUS, SIGFPE, SIGILL, SIGPROF, SIGSEGV, SIGSYS, SIGTRAP};
    sigset_t blocked, before;
    sigfillset(&blocked);
    for (size_t i = 0; i < sizeof own / sizeof *own; i++)
        sigdelset(&blocked, own[i]);
    pthread_sigmask(SIG_BLOCK, &blocked, &before);
    /* The default stack of secondary threads on musl and macOS is too small for kernels. */
    bool made = pthread_attr_setstacksize(&attributes, OS_STACK_BYTES) == 0 &&
                pthread_create(&thread->handle, &attributes, run_thread, thread) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attributes);
    return made;
}

void kgen_os_thread_join(os_thread *thread)
{
    pthread_join(thread->handle, NULL);
}

unsigned kgen_os_forks;
static pthread_once_t watching = PTHREAD_ONCE_INIT;

static void note_fork(void)
{
    kgen_os_forks++;
}

static void add_handler(void)
{
    pthread_atfork(NULL, NULL, note_fork);
}

void kgen_os_watch_forks(void)
{
    pthread_once(&watching, add_handler);
}

/* ---- clock, environment and CPUs ------------------------------------------------------------- */

int64_t kgen_os_now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

size_t kgen_os_variable(const char *name, char *into, size_t room)
{
    const char *found = getenv(name);
    if (found == NULL)
        return 0;
    size_t nbytes = strlen(found) + 1;
    if (nbytes <= room)
        memcpy(into, found, nbytes);
    return nbytes;
}

#if defined(__linux__)

/* Control groups of both versions (Linux, Documentation/admin-guide/cgroup-v2.rst and
 * scheduler/sched-bwc.rst). */
#if !defined(KGEN_CGROUPS)
#define KGEN_CGROUPS "/sys/fs/cgroup"
#define KGEN_OWN_CGROUPS "/proc/self/cgroup"
#endif
enum { GROUP_BYTES = 4096 };

/* Read up to two numbers from a file of a folder; numbers that are missing stay as they are. */
static void read_numbers(const char *folder, const char *name, long long *one, long long *other)
{
    char path[2 * GROUP_BYTES];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "re");
    if (file == NULL)
        return;
    if (fscanf(file, "%lld", one) == 1 && other != NULL && fscanf(file, "%lld", other) != 1)
        *other = 0;
    fclose(file);
}

/* Lower `count` to the CPUs that the quota of a control group pays for, rounded up. */
static void obey_quota(const char *folder, int *count)
{
    long long quota = 0, period = 0;
    read_numbers(folder, "cpu.max", &quota, &period);
    read_numbers(folder, "cpu.cfs_quota_us", &quota, NULL); /* version 1; -1: no limit */
    read_numbers(folder, "cpu.cfs_period_us", &period, NULL);
    if (quota > 0 && period > 0 && (quota - 1) / period + 1 < *count)
        *count = (int)((quota - 1) / period + 1);
}

/* Return the most CPUs that this process's control groups, and the groups around them, pay for. */
static int read_quotas(void)
{
    int count = INT_MAX;
    char line[GROUP_BYTES], folder[GROUP_BYTES + sizeof KGEN_CGROUPS];
    FILE *groups = fopen(KGEN_OWN_CGROUPS, "re");
    while (groups != NULL && fgets(line, sizeof line, groups) != NULL) {
        /* NUMBER:CONTROLLERS:PATH; version 2 names no controllers. */
        char *names = strchr(line, ':'), *path = names == NULL ? NULL : strchr(names + 1, ':');
        if (path == NULL || (path != names + 1 && strncmp(names, ":cpu:", 5) != 0 &&
                             strncmp(names, ":cpu,", 5) != 0))
            continue;
        *path++ = 0;
        path[strcspn(path, "\n")] = 0;
        const char *root = path == names + 2 ? KGEN_CGROUPS : KGEN_CGROUPS "/cpu";
        for (char *end = path; end != NULL;) {
            snprintf(folder, sizeof folder, "%s%s", root, path);
            obey_quota(folder, &count);
            end = strrchr(path, '/');
            if (end != NULL)
                *end = 0;
        }
    }
    if (groups != NULL)
        fclose(groups);
    return count;
}

#endif

int kgen_os_cpu_count(void)
{
    int count = 0;
#if defined(__linux__)
    static int quota; /* read once: files take longer than opening a bundle */
    int most = __atomic_load_n(&quota, __ATOMIC_RELAXED);
    cpu_set_t allowed;
    if (most == 0) {
        most = read_quotas();
        __atomic_store_n(&quota, most, __ATOMIC_RELAXED);
    }
    if (sched_getaffinity(0, sizeof allowed, &allowed) == 0)
        count = CPU_COUNT(&allowed);
#else
    int most = INT_MAX;
#endif
    if (count == 0) /* Linux: more CPUs than cpu_set_t holds */
        count = (int)sysconf(_SC_NPROCESSORS_ONLN);
    return count < 1 ? 1 : count < most ? count : most;
}

#if defined(__APPLE__)

static bool says_yes(const char *name)
{
    int value = 0;
    size_t nbytes = sizeof value;
    return sysctlbyname(name, &value, &nbytes, NULL, 0) == 0 && value != 0;
}

#if defined(__x86_64__)
bool kgen_os_enables_avx512(void)
{
    return says_yes("hw.optional.avx512f");
}

bool kgen_os_may_use_tiles(void)
{
    return false;
}

bool kgen_os_request_tiles(char reason[OS_REASON_BYTES])
{
    tell(reason, ENOTSUP);
    return false;
}
#else
bool kgen_os_has_feature(const char *name)
{
    if (strcmp(name, "asimddp") == 0)
        return says_yes("hw.optional.arm.FEAT_DotProd");
    return strcmp(name, "fp") == 0 || strcmp(name, "asimd") == 0;
}
#endif

#elif defined(__x86_64__)

/* arch_prctl(2): state components that a process may request (Linux,
 * Documentation/arch/x86/xstate.rst). */
enum { ARCH_GET_XCOMP_SUPP = 0x1021, ARCH_REQ_XCOMP_PERM = 0x1023, XFEATURE_XTILEDATA = 18 };

bool kgen_os_enables_avx512(void)
{
    return false;
}

/* False in a container that forbids arch_prctl. */
bool kgen_os_may_use_tiles(void)
{
    uint64_t supported = 0;
    return syscall(SYS_arch_prctl, ARCH_GET_XCOMP_SUPP, &supported) == 0 &&
           (supported >> XFEATURE_XTILEDATA & 1) != 0;
}

bool kgen_os_request_tiles(char reason[OS_REASON_BYTES])
{
    if (syscall(SYS_arch_prctl, ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA) == 0)
        return true;
    tell(reason, errno);
    return false;
}

#else

bool kgen_os_has_feature(const char *name)
{
    /* Bits of AT_HWCAP (Linux, arch/arm64/include/uapi/asm/hwcap.h). */
    static const struct {
        const char *name;
        unsigned long bit;
    } known[] = {{"fp", 1UL << 0}, {"asimd", 1UL << 1}, {"asimddp", 1UL << 20}};
    unsigned long has = getauxval(AT_HWCAP);
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strcmp(known[i].name, name) == 0)
            return (has & known[i].bit) != 0;
    return false;
}

#endif

#endif
