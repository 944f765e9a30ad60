/* SHA-256 (FIPS 180-4). */
#include "internal.h"

#include <string.h>

#if defined(__x86_64__)
#include <cpuid.h>
#include <immintrin.h>
#endif

static const uint32_t ROUND[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
};

static uint32_t rotated(uint32_t x, int by)
{
    return x >> by | x << (32 - by);
}

static void add_block(uint32_t state[8], const unsigned char block[64])
{
    uint32_t w[64];
    for (int i = 0; i < 16; i++)
        w[i] = (uint32_t)block[4 * i] << 24 | (uint32_t)block[4 * i + 1] << 16 |
               (uint32_t)block[4 * i + 2] << 8 | block[4 * i + 3];
    for (int i = 16; i < 64; i++) {
        uint32_t s0 = rotated(w[i - 15], 7) ^ rotated(w[i - 15], 18) ^ w[i - 15] >> 3;
        uint32_t s1 = rotated(w[i - 2], 17) ^ rotated(w[i - 2], 19) ^ w[i - 2] >> 10;
        w[i] = w[i - 16] + s0 + w[i - 7] + s1;
    }
    uint32_t a = state[0], b = state[1], c = state[2], d = state[3];
    uint32_t e = state[4], f = state[5], g = state[6], h = state[7];
    for (int i = 0; i < 64; i++) {
        uint32_t s1 = rotated(e, 6) ^ rotated(e, 11) ^ rotated(e, 25);
        uint32_t t1 = h + s1 + ((e & f) ^ (~e & g)) + ROUND[i] + w[i];
        uint32_t s0 = rotated(a, 2) ^ rotated(a, 13) ^ rotated(a, 22);
        uint32_t t2 = s0 + ((a & b) ^ (a & c) ^ (b & c));
        h = g, g = f, f = e, e = d + t1;
        d = c, c = b, b = a, a = t1 + t2;
    }
    state[0] += a, state[1] += b, state[2] += c, state[3] += d;
    state[4] += e, state[5] += f, state[6] += g, state[7] += h;
}

static void add_plainly(uint32_t state[8], const unsigned char *at, size_t blocks)
{
    for (; blocks > 0; at += 64, blocks--)
        add_block(state, at);
}

#if defined(__x86_64__)

/* Return whether the CPU has the SHA extensions (CPUID leaf 7, EBX; Intel SDM, volume 2). The
 * result is cached, because CPUID is slow under hypervisors. */
static bool has_sha(void)
{
    static int known; /* 0: unknown, 1: no, 2: yes */
    unsigned a, b, c, d;
    int found = __atomic_load_n(&known, __ATOMIC_RELAXED);
    if (found == 0) {
        bool has = __get_cpuid_count(7, 0, &a, &b, &c, &d) != 0 && (b >> 29 & 1) != 0;
        found = has ? 2 : 1;
        __atomic_store_n(&known, found, __ATOMIC_RELAXED);
    }
    return found == 2;
}

/* Hash blocks with the SHA extensions (Intel SDM, volume 1, "Intel SHA Extensions"): four rounds
 * at a time, with the state as the halves ABEF and CDGH. */
__attribute__((target("sha,sse4.1"))) static void add_by_extension(uint32_t state[8],
                                                                   const unsigned char *at,
                                                                   size_t blocks)
{
    const __m128i swapped = _mm_set_epi64x(0x0c0d0e0f08090a0bLL, 0x0405060700010203LL);
    __m128i abcd = _mm_shuffle_epi32(_mm_loadu_si128((const __m128i *)state), 0xb1);
    __m128i efgh = _mm_shuffle_epi32(_mm_loadu_si128((const __m128i *)(state + 4)), 0x1b);
    __m128i abef = _mm_alignr_epi8(abcd, efgh, 8), cdgh = _mm_blend_epi16(efgh, abcd, 0xf0);
    for (; blocks > 0; at += 64, blocks--) {
        __m128i w[4], old_abef = abef, old_cdgh = cdgh;
        for (int i = 0; i < 4; i++)
            w[i] = _mm_shuffle_epi8(_mm_loadu_si128((const __m128i *)(at + 16 * i)), swapped);
        for (int i = 0; i < 16; i++) {
            __m128i now = w[i % 4], last = w[(i + 3) % 4];
            __m128i sum = _mm_add_epi32(now, _mm_loadu_si128((const __m128i *)(ROUND + 4 * i)));
            cdgh = _mm_sha256rnds2_epu32(cdgh, abef, sum);
            abef = _mm_sha256rnds2_epu32(abef, cdgh, _mm_shuffle_epi32(sum, 0x0e));
            now = _mm_add_epi32(_mm_sha256msg1_epu32(now, w[(i + 1) % 4]),
                                _mm_alignr_epi8(last, w[(i + 2) % 4], 4));
            w[i % 4] = _mm_sha256msg2_epu32(now, last);
        }
        abef = _mm_add_epi32(abef, old_abef);
        cdgh = _mm_add_epi32(cdgh, old_cdgh);
    }
    abcd = _mm_shuffle_epi32(abef, 0x1b);
    cdgh = _mm_shuffle_epi32(cdgh, 0xb1);
    _mm_storeu_si128((__m128i *)state, _mm_blend_epi16(abcd, cdgh, 0xf0));
    _mm_storeu_si128((__m128i *)(state + 4), _mm_alignr_epi8(cdgh, abcd, 8));
}

#else

static bool has_sha(void)
{
    return false;
}

static void add_by_extension(uint32_t state[8], const unsigned char *at, size_t blocks)
{
    add_plainly(state, at, blocks);
}

#endif

void kgen_sha256(const void *data, size_t nbytes, char digits[65])
{
    uint32_t state[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                         0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
    const unsigned char *at = (const unsigned char *)data;
    size_t left = nbytes;
    (has_sha() ? add_by_extension : add_plainly)(state, at, left / 64);
    at += left / 64 * 64;
    left %= 64;
    /* Append the remaining bytes, a one bit, zeros, and the number of bits in the last 8 bytes. */
    unsigned char last[128] = {0};
    if (left > 0)
        memcpy(last, at, left);
    last[left] = 0x80;
    size_t padded = left < 56 ? 64 : 128;
    uint64_t bits = (uint64_t)nbytes * 8;
    for (size_t i = 0; i < 8; i++)
        last[padded - 1 - i] = (unsigned char)(bits >> 8 * i);
    add_block(state, last);
    if (padded == 128)
        add_block(state, last + 64);
    for (int i = 0; i < 64; i++)
        digits[i] = "0123456789abcdef"[state[i / 8] >> (28 - 4 * (i % 8)) & 15];
    digits[64] = 0;
}
