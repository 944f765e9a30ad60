/* ___chkstk_ms for kgen.dll of the wheels, which takes nothing else from zig's compiler runtime.
 * The caller passes the bytes of its frame in rax; the function touches each page of the frame, so
 * that Windows extends the stack, and changes no register. */
__asm__(".globl ___chkstk_ms\n"
        "___chkstk_ms:\n"
        "    pushq %rcx\n"
        "    pushq %rax\n"
        "    leaq 24(%rsp), %rcx\n" /* the caller's stack pointer */
        "    jmp 2f\n"
        "1:  subq $4096, %rcx\n"
        "    testq %rcx, (%rcx)\n"
        "    subq $4096, %rax\n"
        "2:  cmpq $4096, %rax\n"
        "    ja 1b\n"
        "    subq %rax, %rcx\n"
        "    testq %rcx, (%rcx)\n"
        "    popq %rax\n"
        "    popq %rcx\n"
        "    retq\n");
