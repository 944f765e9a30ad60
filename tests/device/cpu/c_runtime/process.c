/* A program with a limit on the size of files, and with a thread that waits for signals: words[1] is
 * a bundle of one kernel with several tasks, long enough to be shared. */
#define _POSIX_C_SOURCE 200809L
#include <assert.h>
#include <dirent.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>
#include "kgen.h"

static int num_threads(void)
{
    DIR *tasks = opendir("/proc/self/task");
    int count = 0;
    while (readdir(tasks) != NULL)
        count++;
    closedir(tasks);
    return count - 2; /* . and .. */
}

int main(int count, char **words)
{
    /* A larger file would end the process by SIGXFSZ. */
    const struct rlimit none = {0, 0};
    const kgen_options options = {2, 0};
    kgen_bundle *bundle = NULL;
    assert(count == 2 && setrlimit(RLIMIT_FSIZE, &none) == 0);
    assert(kgen_open(words[1], &options, &bundle) == KGEN_OK);
    kgen_kernel *kernel = kgen_kernel_at(bundle, 0);
    size_t nbytes = kgen_argument(kernel, 0)->nbytes;
    float *x = (float *)malloc(nbytes), *out = (float *)calloc(nbytes, 1);
    for (size_t i = 0; i < nbytes / sizeof *x; i++)
        x[i] = (float)i;
    const kgen_buffer arguments[] = {{x, nbytes}, {out, nbytes}};
    for (int i = 0; i < 8; i++)
        assert(kgen_run(kernel, arguments, 2) == KGEN_OK && out[1234] > 1233);
    assert(num_threads() == 2);

    /* The signal is blocked in all threads of the program, and taken from there. */
    sigset_t wanted, before;
    const struct timespec seconds = {20, 0};
    sigemptyset(&wanted);
    sigaddset(&wanted, SIGTERM);
    pthread_sigmask(SIG_BLOCK, &wanted, &before);
    assert(!sigismember(&before, SIGTERM)); /* the caller's mask is as it was */
    kill(getpid(), SIGTERM);
    assert(sigtimedwait(&wanted, NULL, &seconds) == SIGTERM);
    free(x);
    free(out);
    kgen_close(bundle);
    return 0;
}
