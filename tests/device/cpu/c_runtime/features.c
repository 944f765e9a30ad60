/* Prints the names among words that this CPU supports. */
#include <stdio.h>

#include "kgen.h"

int main(int count, char **words)
{
    for (int i = 1; i < count; i++)
        if (kgen_cpu_supports(words[i]))
            printf("%s ", words[i]);
    printf("\n");
    return kgen_cpu_supports(NULL) || kgen_cpu_supports("");
}
