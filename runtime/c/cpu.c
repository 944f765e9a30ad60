/* What this CPU can do, in the words of /proc/cpuinfo. */
#include "internal.h"

#include <errno.h>
#include <fnmatch.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

/* A test, or a system that has it elsewhere, may name another file. */
#ifndef KGEN_CPUINFO
#define KGEN_CPUINFO "/proc/cpuinfo"
#endif

/* Features that the CPU is to be taken not to have, with blanks or commas between them and * for
 * any letters. */
static const char DISABLED[] = "KGEN_DISABLE_CPU_FEATURES";

/* arch_prctl(2): the state components that a process may ask for (Linux,
 * Documentation/arch/x86/xstate.rst). */
enum { ARCH_GET_XCOMP_SUPP = 0x1021, ARCH_REQ_XCOMP_PERM = 0x1023, XFEATURE_XTILEDATA = 18 };

/* The flags (x86) or features (Arm) of the first CPU. Linux leaves out what it does not enable. */
static kgen_status read_features(cpu *into, arena *memory)
{
    char *line = NULL;
    size_t room = 0;
    ssize_t length;
    kgen_status status = KGEN_OK;
    FILE *file = fopen(KGEN_CPUINFO, "re");
    into->features = kgen_text(memory, "", 0);
    if (into->features == NULL)
        status = KGEN_ERROR_OUT_OF_MEMORY;
    /* Of each CPU there is a paragraph, and the system takes its time for each. */
    while (file != NULL && status == KGEN_OK && (length = getline(&line, &room, file)) > 1) {
        char *colon = strchr(line, ':');
        bool wanted = strncmp(line, "flags\t", 6) == 0 || strncmp(line, "Features\t", 9) == 0;
        if (!wanted || colon == NULL)
            continue;
        line[length - 1] = ' '; /* the end of the line */
        into->features = kgen_text(memory, colon + 1, strlen(colon + 1));
        if (into->features == NULL)
            status = KGEN_ERROR_OUT_OF_MEMORY;
        break;
    }
    free(line);
    if (file != NULL)
        fclose(file);
    return status;
}

static bool lists(const char *features, const char *name)
{
    size_t length = strlen(name);
    for (const char *at = features; (at = strstr(at, name)) != NULL; at += length)
        if (at > features && at[-1] == ' ' && at[length] == ' ')
            return true;
    return false;
}

/* Whether Linux gives AMX tile state to a process that asks for it: not in a container that allows
 * no arch_prctl. */
static bool may_use_tiles(void)
{
#if defined(__x86_64__)
    uint64_t supported = 0;
    return syscall(SYS_arch_prctl, ARCH_GET_XCOMP_SUPP, &supported) == 0 &&
           (supported >> XFEATURE_XTILEDATA & 1) != 0;
#else
    return false;
#endif
}

/* AMX of f16, which Linux never lists: CPUID leaf 7, subleaf 1, EAX (Intel SDM, volume 2). */
static bool has_tiles_of_f16(void)
{
#if defined(__x86_64__)
    unsigned a = 0, b = 0, c = 0, d = 0;
    return __get_cpuid_count(7, 1, &a, &b, &c, &d) && (a >> 21 & 1) != 0;
#else
    return false;
#endif
}

kgen_status kgen_cpu_open(cpu *into, arena *memory)
{
    kgen_status status = read_features(into, memory);
    if (status != KGEN_OK)
        return status;
    into->disabled = getenv(DISABLED);
    into->tiles = lists(into->features, "amx_tile") && may_use_tiles();
    into->tiles_of_f16 = into->tiles && has_tiles_of_f16();
    return KGEN_OK;
}

static bool is_disabled(const char *patterns, const char *feature)
{
    static const char between[] = ", \t\r\n";
    char pattern[64];
    while (patterns != NULL && *(patterns += strspn(patterns, between)) != 0) {
        size_t length = strcspn(patterns, between);
        if (length < sizeof pattern) {
            memcpy(pattern, patterns, length);
            pattern[length] = 0;
            if (fnmatch(pattern, feature, 0) == 0)
                return true;
        }
        patterns += length;
    }
    return false;
}

bool kgen_cpu_has(const cpu *here, const char *feature)
{
    if (is_disabled(here->disabled, feature))
        return false;
    if (strcmp(feature, "amx_fp16") == 0 && here->tiles_of_f16)
        return true;
    if (strncmp(feature, "amx_", 4) == 0 && !here->tiles)
        return false;
    return lists(here->features, feature);
}

int kgen_cpu_count(void)
{
    cpu_set_t allowed;
    if (sched_getaffinity(0, sizeof allowed, &allowed) == 0)
        return CPU_COUNT(&allowed);
    long online = sysconf(_SC_NPROCESSORS_ONLN); /* more CPUs than cpu_set_t has */
    return online > 0 ? (int)online : 1;
}

kgen_status kgen_cpu_request_tiles(void)
{
#if defined(__x86_64__)
    if (syscall(SYS_arch_prctl, ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA) == 0)
        return KGEN_OK;
#endif
    return kgen_fail(KGEN_ERROR_DEVICE,
                     "Linux refuses this process AMX tile state (%s); build for x86-64-v4 instead",
                     strerror(errno));
}
