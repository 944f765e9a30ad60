/* Signal handler that executes the CPUID instructions which as_avx2.py replaced by UD2, and hides
 * what an x86-64 CPU with AVX2 alone lacks: AVX-512, AVX-VNNI and AMX. */
#define _GNU_SOURCE
#include <cpuid.h>
#include <signal.h>
#include <ucontext.h>

/* CPUID instructions that were executed here. */
int as_avx2_count;

#define BIT(n) (1u << (n))

static void hide(unsigned leaf, unsigned subleaf, unsigned r[4]) {
    if (leaf == 7 && subleaf == 0) {
        r[1] &= ~(BIT(16) | BIT(17) | BIT(21) | BIT(26) | BIT(27) | BIT(28) | BIT(30) | BIT(31));
        r[2] &= ~(BIT(1) | BIT(6) | BIT(11) | BIT(12) | BIT(14));
        r[3] &= ~(BIT(2) | BIT(3) | BIT(8) | BIT(22) | BIT(23) | BIT(24) | BIT(25));
    } else if (leaf == 7 && subleaf == 1) {
        r[0] &= ~(BIT(4) | BIT(5) | BIT(21) | BIT(23));
        r[3] &= ~(BIT(4) | BIT(5) | BIT(8) | BIT(10) | BIT(19));
    }
}

static void execute(int number, siginfo_t *info, void *context) {
    greg_t *of = ((ucontext_t *)context)->uc_mcontext.gregs;
    const unsigned char *at = (const unsigned char *)of[REG_RIP];
    unsigned leaf = (unsigned)of[REG_RAX], subleaf = (unsigned)of[REG_RCX], r[4];
    (void)info;
    if (at[0] != 0x0f || at[1] != 0x0b) {
        signal(number, SIG_DFL); /* another illegal instruction, which ends the process */
        return;
    }
    __cpuid_count(leaf, subleaf, r[0], r[1], r[2], r[3]);
    hide(leaf, subleaf, r);
    of[REG_RAX] = r[0], of[REG_RBX] = r[1], of[REG_RCX] = r[2], of[REG_RDX] = r[3];
    of[REG_RIP] += 2;
    as_avx2_count++;
}

int as_avx2_begin(void) {
    struct sigaction action = {.sa_sigaction = execute, .sa_flags = SA_SIGINFO | SA_NODEFER};
    return sigaction(SIGILL, &action, 0);
}
