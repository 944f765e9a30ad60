/* System interface (os.h) on Windows 10 and later. */
#include "internal.h"

#if defined(_WIN32)

#ifndef _WIN32_WINNT
#define _WIN32_WINNT 0x0A00
#endif
#define WIN32_LEAN_AND_MEAN
#include <windows.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Describe an error of the system; common errors get the same text as on POSIX systems. */
static void tell(char reason[OS_REASON_BYTES], DWORD error)
{
    switch (error) {
    case ERROR_FILE_NOT_FOUND:
    case ERROR_PATH_NOT_FOUND:
    case ERROR_INVALID_NAME:
    case ERROR_BAD_PATHNAME:
        snprintf(reason, OS_REASON_BYTES, "No such file or directory");
        break;
    case ERROR_ACCESS_DENIED:
    case ERROR_SHARING_VIOLATION:
        snprintf(reason, OS_REASON_BYTES, "Permission denied");
        break;
    case ERROR_NOT_ENOUGH_MEMORY:
    case ERROR_OUTOFMEMORY:
    case ERROR_COMMITMENT_LIMIT:
        snprintf(reason, OS_REASON_BYTES, "Cannot allocate memory");
        break;
    default:
        snprintf(reason, OS_REASON_BYTES, "Windows error %lu", (unsigned long)error);
    }
}

/* ---- files ----------------------------------------------------------------------------------- */

static os_result file_fails(HANDLE file, char reason[OS_REASON_BYTES])
{
    DWORD error = GetLastError();
    if (file != INVALID_HANDLE_VALUE)
        CloseHandle(file);
    tell(reason, error);
    switch (error) {
    case ERROR_FILE_NOT_FOUND:
    case ERROR_PATH_NOT_FOUND:
    case ERROR_INVALID_NAME:
    case ERROR_BAD_PATHNAME:
        return OS_NOT_FOUND;
    case ERROR_NOT_ENOUGH_MEMORY:
    case ERROR_OUTOFMEMORY:
    case ERROR_COMMITMENT_LIMIT:
        return OS_NO_MEMORY;
    default:
        return OS_REFUSED;
    }
}

/* Convert a UTF-8 path to UTF-16; the caller frees it. Return NULL, with the system's error set,
 * on failure. */
static wchar_t *wide_path(const char *path)
{
    int count = MultiByteToWideChar(CP_UTF8, MB_ERR_INVALID_CHARS, path, -1, NULL, 0);
    wchar_t *made = count > 0 ? (wchar_t *)malloc((size_t)count * sizeof *made) : NULL;
    if (made == NULL)
        SetLastError(count > 0 ? ERROR_NOT_ENOUGH_MEMORY : ERROR_FILE_NOT_FOUND);
    else
        MultiByteToWideChar(CP_UTF8, 0, path, -1, made, count);
    return made;
}

os_result kgen_os_map_file(const char *path, void **data, size_t *nbytes,
                           char reason[OS_REASON_BYTES])
{
    *data = NULL;
    *nbytes = 0;
    wchar_t *wide = wide_path(path);
    if (wide == NULL)
        return file_fails(INVALID_HANDLE_VALUE, reason);
    DWORD kind = GetFileAttributesW(wide);
    if (kind != INVALID_FILE_ATTRIBUTES && (kind & FILE_ATTRIBUTE_DIRECTORY) != 0) {
        free(wide);
        return OS_DONE;
    }
    HANDLE file = CreateFileW(wide, GENERIC_READ, FILE_SHARE_READ | FILE_SHARE_DELETE, NULL,
                              OPEN_EXISTING, FILE_ATTRIBUTE_NORMAL, NULL);
    DWORD error = GetLastError();
    free(wide);
    SetLastError(error);
    if (file == INVALID_HANDLE_VALUE)
        return file_fails(file, reason);
    LARGE_INTEGER size;
    if (GetFileType(file) != FILE_TYPE_DISK) {
        CloseHandle(file);
        return OS_DONE;
    }
    if (!GetFileSizeEx(file, &size))
        return file_fails(file, reason);
    if (size.QuadPart > 0) {
        HANDLE section = CreateFileMappingW(file, NULL, PAGE_READONLY, 0, 0, NULL);
        if (section == NULL)
            return file_fails(file, reason);
        *data = MapViewOfFile(section, FILE_MAP_READ, 0, 0, 0);
        error = GetLastError();
        CloseHandle(section);
        SetLastError(error);
        if (*data == NULL)
            return file_fails(file, reason);
        *nbytes = (size_t)size.QuadPart;
    }
    CloseHandle(file);
    return OS_DONE;
}

void kgen_os_unmap_file(void *data, size_t nbytes)
{
    (void)nbytes;
    UnmapViewOfFile(data);
}

const char *kgen_os_file_name(const char *path)
{
    const char *name = path;
    for (const char *at = path; *at != 0; at++)
        if (*at == '/' || *at == '\\' || (*at == ':' && at == path + 1))
            name = at + 1;
    return name;
}

/* ---- machine code ---------------------------------------------------------------------------- */

static bool code_fails(os_code *code, char reason[OS_REASON_BYTES])
{
    tell(reason, GetLastError());
    kgen_os_code_free(code);
    return false;
}

bool kgen_os_code_begin(os_code *code, uint64_t nbytes, const char *name,
                        char reason[OS_REASON_BYTES])
{
    (void)name;
    code->nbytes = nbytes;
    code->file = -1;
    code->address =
        VirtualAlloc(NULL, (SIZE_T)nbytes, MEM_COMMIT | MEM_RESERVE, PAGE_READWRITE);
    return code->address != NULL || code_fails(code, reason);
}

bool kgen_os_code_write(os_code *code, uint64_t at, const void *data, uint64_t nbytes,
                        char reason[OS_REASON_BYTES])
{
    (void)reason;
    memcpy((char *)code->address + at, data, (size_t)nbytes);
    return true;
}

bool kgen_os_code_end(os_code *code, char reason[OS_REASON_BYTES])
{
    DWORD before;
    if (!VirtualProtect(code->address, (SIZE_T)code->nbytes, PAGE_EXECUTE_READ, &before))
        return code_fails(code, reason);
    FlushInstructionCache(GetCurrentProcess(), code->address, (SIZE_T)code->nbytes);
    return true;
}

void kgen_os_code_free(os_code *code)
{
    if (code->address != NULL)
        VirtualFree(code->address, 0, MEM_RELEASE);
    code->address = NULL;
    code->nbytes = 0;
}

/* ---- threads --------------------------------------------------------------------------------- */

void kgen_os_lock_create(os_lock *lock)
{
    InitializeSRWLock((SRWLOCK *)lock);
}

void kgen_os_lock_destroy(os_lock *lock)
{
    (void)lock;
}

void kgen_os_lock_take(os_lock *lock)
{
    AcquireSRWLockExclusive((SRWLOCK *)lock);
}

void kgen_os_lock_release(os_lock *lock)
{
    ReleaseSRWLockExclusive((SRWLOCK *)lock);
}

void kgen_os_signal_create(os_signal *signal)
{
    InitializeConditionVariable((CONDITION_VARIABLE *)signal);
}

void kgen_os_signal_destroy(os_signal *signal)
{
    (void)signal;
}

void kgen_os_signal_await(os_signal *signal, os_lock *lock)
{
    SleepConditionVariableSRW((CONDITION_VARIABLE *)signal, (SRWLOCK *)lock, INFINITE, 0);
}

void kgen_os_signal_all(os_signal *signal)
{
    WakeAllConditionVariable((CONDITION_VARIABLE *)signal);
}

static DWORD WINAPI run_thread(void *argument)
{
    const os_thread *thread = (const os_thread *)argument;
    thread->body(thread->argument);
    return 0;
}

bool kgen_os_thread_start(os_thread *thread, void (*body)(void *), void *argument)
{
    thread->body = body;
    thread->argument = argument;
    thread->handle = CreateThread(NULL, OS_STACK_BYTES, run_thread, thread,
                                  STACK_SIZE_PARAM_IS_A_RESERVATION, NULL);
    return thread->handle != NULL;
}

void kgen_os_thread_join(os_thread *thread)
{
    WaitForSingleObject(thread->handle, INFINITE);
    CloseHandle(thread->handle);
}

unsigned kgen_os_forks;

void kgen_os_watch_forks(void)
{
}

/* ---- clock, environment and CPUs ------------------------------------------------------------- */

int64_t kgen_os_now(void)
{
    LARGE_INTEGER ticks, each_second;
    QueryPerformanceCounter(&ticks);
    QueryPerformanceFrequency(&each_second);
    int64_t seconds = ticks.QuadPart / each_second.QuadPart;
    int64_t left = ticks.QuadPart % each_second.QuadPart;
    return seconds * 1000000000 + left * 1000000000 / each_second.QuadPart;
}

size_t kgen_os_variable(const char *name, char *into, size_t room)
{
    SetLastError(ERROR_SUCCESS);
    DWORD nbytes = GetEnvironmentVariableA(name, into, (DWORD)room);
    if (nbytes == 0)
        return 0; /* an empty variable counts as missing */
    return nbytes < room ? (size_t)nbytes + 1 : nbytes;
}

int kgen_os_cpu_count(void)
{
    DWORD_PTR allowed = 0, all = 0;
    int count = 0;
    if (GetProcessAffinityMask(GetCurrentProcess(), &allowed, &all))
        for (; allowed != 0; allowed &= allowed - 1)
            count++;
    /* No mask: the process uses CPUs of several processor groups. */
    return count > 0 ? count : (int)GetActiveProcessorCount(ALL_PROCESSOR_GROUPS);
}

#if defined(__x86_64__)

enum { XFEATURE_XTILEDATA = 18 };

/* EnableProcessOptionalXStateFeatures exists since Windows 11 and Server 2022. */
typedef BOOL(WINAPI *enable_features)(DWORD64);

static enable_features find_enable(void)
{
    HMODULE library = GetModuleHandleW(L"kernel32.dll");
    FARPROC found =
        library == NULL ? NULL : GetProcAddress(library, "EnableProcessOptionalXStateFeatures");
    enable_features enable = NULL;
    memcpy(&enable, &found, sizeof found);
    return enable;
}

bool kgen_os_enables_avx512(void)
{
    return false;
}

bool kgen_os_may_use_tiles(void)
{
    return find_enable() != NULL;
}

bool kgen_os_request_tiles(char reason[OS_REASON_BYTES])
{
    enable_features enable = find_enable();
    if (enable != NULL && enable((DWORD64)1 << XFEATURE_XTILEDATA))
        return true;
    tell(reason, GetLastError());
    return false;
}

#else

#ifndef PF_ARM_V82_DP_INSTRUCTIONS_AVAILABLE
#define PF_ARM_V82_DP_INSTRUCTIONS_AVAILABLE 43
#endif

bool kgen_os_has_feature(const char *name)
{
    if (strcmp(name, "asimddp") == 0)
        return IsProcessorFeaturePresent(PF_ARM_V82_DP_INSTRUCTIONS_AVAILABLE) != 0;
    return strcmp(name, "fp") == 0 || strcmp(name, "asimd") == 0;
}

#endif

#endif
