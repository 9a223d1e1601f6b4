/* Vector table of a Cortex-M under qemu: stack and entry point. */
#include <stdint.h>

extern uint32_t stack_top;
extern void _start(void); /* of the C library */

static void reset(void) {
  /* CPACR: full access to the floating point and vector extensions. */
  *(volatile uint32_t*)0xE000ED88u |= 0xFu << 20;
  __asm__ volatile("dsb\n isb");
  _start();
}

__attribute__((section(".vectors"), used)) static const void* const vectors[] =
    {&stack_top, (const void*)reset};
