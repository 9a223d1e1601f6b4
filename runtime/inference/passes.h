// Passes from a trace to a plan. With the environment variable
// OCTET_TRACE=program, each prints its result to standard error.
#pragma once

#include "plan.h"
#include "trace.h"

namespace octet::inference {

/// Runs all passes.
Program::Plan compile(Trace trace);

/// Removes nodes that no output depends on, except inputs.
void remove_dead(Trace& trace);
/// Fuses products of queries and keys, softmax and products with values
/// (ops/attention.h), with the transposes around them. Leaves unused nodes.
void fuse_attention(Trace& trace);
/// Applies the op table (fusion.h).
LoweredGraph fuse(const Trace& trace);
/// Moves the expressions of concatenations to their parts.
void distribute(LoweredGraph& graph);
/// Pools and enlarges quantized values if the result is only consumed
/// quantized: rounding is monotonic.
void pool_codes(LoweredGraph& graph);
/// Selects the stored values with their formats and emits the steps.
Program::Plan lay_out(LoweredGraph graph);
/// Measures the temporary memory of ops, by running them once.
void plan_scratch(Program::Plan& plan);
/// Computes the lifetime and the offset of each storage.
void place_storages(Program::Plan& plan);

/// Returns a line per step, with its inputs and outputs.
std::string to_string(const Program::Plan& plan);

}  // namespace octet::inference
