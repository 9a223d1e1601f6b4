// What a core of this machine can do at most: multiply-adds of registers alone,
// with the instructions that the active instruction set multiplies with.
#pragma once

namespace octet::bench {

/// Additions and multiplications a second of one core, the fastest of some
/// milliseconds of repetitions; 0 where this program does not know the
/// instructions.
double peak_flops();     // of floats
double peak_code_ops();  // of 8-bit integers

}  // namespace octet::bench
