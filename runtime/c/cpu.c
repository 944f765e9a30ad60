/* Features of this CPU by Linux's names: from CPUID and XGETBV on x86-64, from the system on
 * AArch64. */
#include "internal.h"

#include <string.h>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

/* Variable that names features to treat as missing, separated by blanks or commas. * matches any
 * letters, ? matches one. */
static const char DISABLED[] = "KGEN_DISABLE_CPU_FEATURES";

#if defined(__x86_64__)

/* State that the system saves (XCR0): SSE and AVX; opmask and ZMM as well; tiles (Intel SDM,
 * volume 1, 13.3). */
enum { YMM_STATE = 0x6, ZMM_STATE = 0xe6, TILE_STATE = 0x60000 };
enum { OSXSAVE_BIT = 27 };

enum { EAX, EBX, ECX, EDX };

/* Bit of a register that CPUID returns for a leaf and subleaf (Intel SDM, volume 2, CPUID; leaf
 * 0x80000001: AMD64 manual, volume 3, appendix E), and the state that the feature needs. */
typedef struct feature {
    const char *name;
    unsigned leaf, subleaf;
    int which, bit;
    uint64_t state;
} feature;

static const feature FEATURES[] = {
    {"sse2", 1, 0, EDX, 26, 0},
    {"ssse3", 1, 0, ECX, 9, 0},
    {"fma", 1, 0, ECX, 12, YMM_STATE},
    {"sse4_1", 1, 0, ECX, 19, 0},
    {"sse4_2", 1, 0, ECX, 20, 0},
    {"movbe", 1, 0, ECX, 22, 0},
    {"popcnt", 1, 0, ECX, 23, 0},
    {"avx", 1, 0, ECX, 28, YMM_STATE},
    {"f16c", 1, 0, ECX, 29, YMM_STATE},
    {"bmi1", 7, 0, EBX, 3, 0},
    {"avx2", 7, 0, EBX, 5, YMM_STATE},
    {"bmi2", 7, 0, EBX, 8, 0},
    {"avx512f", 7, 0, EBX, 16, ZMM_STATE},
    {"avx512dq", 7, 0, EBX, 17, ZMM_STATE},
    {"avx512cd", 7, 0, EBX, 28, ZMM_STATE},
    {"avx512bw", 7, 0, EBX, 30, ZMM_STATE},
    {"avx512vl", 7, 0, EBX, 31, ZMM_STATE},
    {"avx512_vnni", 7, 0, ECX, 11, ZMM_STATE},
    {"serialize", 7, 0, EDX, 14, 0},
    {"amx_bf16", 7, 0, EDX, 22, TILE_STATE},
    {"amx_tile", 7, 0, EDX, 24, TILE_STATE},
    {"amx_int8", 7, 0, EDX, 25, TILE_STATE},
    {"avx_vnni", 7, 1, EAX, 4, YMM_STATE},
    {"avx512_bf16", 7, 1, EAX, 5, ZMM_STATE},
    {"amx_fp16", 7, 1, EAX, 21, TILE_STATE},
    {"abm", 0x80000001u, 0, ECX, 5, 0},
};
enum { NUM_FEATURES = sizeof FEATURES / sizeof *FEATURES };

/* State that the system saves, of the bits above. */
static uint64_t saved_state(void)
{
    unsigned a = 0, b = 0, c = 0, d = 0, low = 0, high = 0;
    if (!__get_cpuid(1, &a, &b, &c, &d) || (c >> OSXSAVE_BIT & 1) == 0)
        return 0;
    __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    uint64_t state = (uint64_t)high << 32 | low;
    if (kgen_os_enables_avx512())
        state |= ZMM_STATE;
    if (!kgen_os_may_use_tiles())
        state &= ~(uint64_t)TILE_STATE;
    return state;
}

/* Return the bits of the FEATURES that this process can use. Each leaf is read once, because CPUID
 * is slow in virtual machines. */
static uint64_t usable_features(void)
{
    uint64_t found = 0, state = saved_state();
    unsigned registers[4] = {0, 0, 0, 0};
    for (size_t i = 0; i < NUM_FEATURES; i++) {
        const feature *one = &FEATURES[i];
        bool is_new = i == 0 || one->leaf != one[-1].leaf || one->subleaf != one[-1].subleaf;
        if (is_new && !__get_cpuid_count(one->leaf, one->subleaf, &registers[EAX], &registers[EBX],
                                         &registers[ECX], &registers[EDX]))
            memset(registers, 0, sizeof registers);
        if ((registers[one->which] >> one->bit & 1) != 0 && (state & one->state) == one->state)
            found |= (uint64_t)1 << i;
    }
    return found;
}

/* Write registers of CPUID as a text. */
static void put_text(char *into, const unsigned *registers, size_t count)
{
    memcpy(into, registers, count * sizeof *registers);
    into[count * sizeof *registers] = 0;
}

/* Vendor, family, model and name (AMD64 manual, volume 3, appendix E.3 and E.4; Intel SDM, volume 2,
 * CPUID), the name as Linux shows it: without blanks around it. */
static void identify(kgen_cpu_facts *into)
{
    unsigned a = 0, b = 0, c = 0, d = 0, vendor[3], brand[12];
    char text[sizeof brand + 1], *start = text;
    if (__get_cpuid(0, &a, &vendor[0], &vendor[2], &vendor[1]))
        put_text(into->vendor, vendor, 3);
    if (__get_cpuid(1, &a, &b, &c, &d)) {
        into->family = (a >> 8 & 0xf) + ((a >> 8 & 0xf) == 0xf ? a >> 20 & 0xff : 0);
        into->model = (a >> 4 & 0xf) | (into->family >= 6 ? a >> 12 & 0xf0 : 0);
    }
    for (unsigned i = 0; i < 3; i++)
        if (!__get_cpuid(0x80000002u + i, &brand[4 * i], &brand[4 * i + 1], &brand[4 * i + 2],
                         &brand[4 * i + 3]))
            return;
    put_text(text, brand, 12);
    while (*start == ' ')
        start++;
    size_t length = strlen(start);
    while (length > 0 && start[length - 1] == ' ')
        length--;
    memcpy(into->name, start, length);
}

#else

static void identify(kgen_cpu_facts *into)
{
    (void)into; /* no source is available on all systems */
}

typedef struct feature {
    const char *name;
} feature;

static const feature FEATURES[] = {{"fp"}, {"asimd"}, {"asimddp"}};
enum { NUM_FEATURES = sizeof FEATURES / sizeof *FEATURES };

static uint64_t usable_features(void)
{
    uint64_t found = 0;
    for (size_t i = 0; i < NUM_FEATURES; i++)
        if (kgen_os_has_feature(FEATURES[i].name))
            found |= (uint64_t)1 << i;
    return found;
}

#endif

/* Return whether a pattern of `length` letters matches all of a text. */
static bool matches(const char *pattern, size_t length, const char *text)
{
    const char *star = NULL, *resume = NULL, *end = pattern + length;
    while (*text != 0) {
        if (pattern < end && *pattern == '*') {
            star = ++pattern;
            resume = text;
        } else if (pattern < end && (*pattern == '?' || *pattern == *text)) {
            pattern++;
            text++;
        } else if (star != NULL) {
            pattern = star;
            text = ++resume;
        } else {
            return false;
        }
    }
    while (pattern < end && *pattern == '*')
        pattern++;
    return pattern == end;
}

static bool is_disabled(const char *patterns, const char *name)
{
    static const char between[] = ", \t\r\n";
    while (*(patterns += strspn(patterns, between)) != 0) {
        size_t length = strcspn(patterns, between);
        if (matches(patterns, length, name))
            return true;
        patterns += length;
    }
    return false;
}

kgen_status kgen_cpu_open(cpu *into, arena *memory)
{
    size_t nbytes = kgen_os_variable(DISABLED, NULL, 0);
    char *patterns = (char *)kgen_alloc(memory, nbytes + 1, 1);
    if (patterns == NULL)
        return KGEN_ERROR_OUT_OF_MEMORY;
    if (nbytes > 0)
        kgen_os_variable(DISABLED, patterns, nbytes);
    into->features = usable_features();
    for (size_t i = 0; i < NUM_FEATURES; i++)
        if (is_disabled(patterns, FEATURES[i].name))
            into->features &= ~((uint64_t)1 << i);
    return KGEN_OK;
}

bool kgen_cpu_has(const cpu *here, const char *name)
{
    for (size_t i = 0; i < NUM_FEATURES; i++)
        if (strcmp(FEATURES[i].name, name) == 0)
            return (here->features >> i & 1) != 0;
    return false;
}

int kgen_cpu_supports(const char *feature)
{
    arena memory = {NULL, NULL, 0};
    cpu here;
    int found = feature != NULL && kgen_cpu_open(&here, &memory) == KGEN_OK &&
                kgen_cpu_has(&here, feature);
    kgen_free_all(&memory);
    return found;
}

kgen_status kgen_cpu_describe(kgen_cpu_facts *into)
{
    arena memory = {NULL, NULL, 0};
    cpu here;
    kgen_status status = kgen_cpu_open(&here, &memory);
    kgen_free_all(&memory);
    if (status != KGEN_OK)
        return status;
    memset(into, 0, sizeof *into);
    strcpy(into->arch, KGEN_ARCH);
    identify(into);
    for (size_t i = 0; i < NUM_FEATURES; i++)
        if ((here.features >> i & 1) != 0)
            strcat(strcat(into->features, *into->features != 0 ? " " : ""), FEATURES[i].name);
    return KGEN_OK;
}

int kgen_cpu_count(void)
{
    return kgen_os_cpu_count();
}

kgen_status kgen_cpu_request_tiles(void)
{
#if defined(__x86_64__)
    char reason[OS_REASON_BYTES] = "";
    if (kgen_os_request_tiles(reason))
        return KGEN_OK;
    return kgen_fail(KGEN_ERROR_DEVICE,
                     KGEN_SYSTEM " refuses this process AMX tile state (%s); build for x86-64-v4 "
                                 "instead",
                     reason);
#else
    return kgen_fail(KGEN_ERROR_DEVICE, "AMX needs an x86-64 CPU; build for aarch64-neon instead");
#endif
}
