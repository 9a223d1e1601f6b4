/* Entry point of a RISC-V program under qemu's user mode. */
__asm__(
    ".section .text.startup\n"
    ".global _start\n"
    "_start:\n"
    "  .option push\n"
    "  .option norelax\n"
    "  la gp, __global_pointer$\n"
    "  .option pop\n"
    "  la tp, __tls_base\n"
    "  call main\n"
    "  li a7, 93\n"
    "  ecall\n");
