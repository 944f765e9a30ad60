/* Opens bundles and counts the basic blocks of the runtime that it takes, which the compiler has
 * marked (-fsanitize-coverage=trace-pc): COUNT PATH... prints blocks, status and message of each. */
#include <stdio.h>

#include "kgen.h"

static unsigned long long blocks;

void __sanitizer_cov_trace_pc(void);
void __sanitizer_cov_trace_pc(void)
{
    blocks++;
}

int main(int count, char **paths)
{
    for (int i = 1; i < count; i++) {
        static const kgen_options options = {1, 0};
        kgen_bundle *bundle = NULL;
        blocks = 0;
        kgen_status status = kgen_open(paths[i], &options, &bundle);
        printf("%llu %d %s\n", blocks, status, status == KGEN_OK ? "" : kgen_last_error());
        kgen_close(bundle);
    }
    return 0;
}
