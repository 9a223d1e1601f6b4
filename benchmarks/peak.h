// Peak throughput of a core of this machine: multiply-adds on registers, with
// the multiplication instructions of the active instruction set.
#pragma once

namespace octet::bench {

/// Return additions and multiplications per second of one core, from the
/// fastest of some milliseconds of repetitions; 0 if the instructions are
/// unknown.
double peak_flops();     // floats
double peak_code_ops();  // 8-bit integers

}  // namespace octet::bench
