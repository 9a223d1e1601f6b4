// Layers of the fixed form that CMSIS-NN computes with the same results.
#pragma once

#include "network.h"

namespace octet::io::c {

/// Return whether CMSIS-NN has a function for a step.
bool cmsis_computes(const PortableProgram& program, const PortableLinear& s);
bool cmsis_computes(const PortableProgram& program, const PortableEvaluate& s);
bool cmsis_computes(const PortableProgram& program, const PortablePool& s);
bool cmsis_computes(const PortableProgram& program, const PortableSoftmax& s);

/// Returns whether a step is a dense layer without spatial axes.
bool is_vector_product(const PortableProgram& program, const PortableLinear& s);

/// Splits each linear step that adds a residual into two steps, since CMSIS-NN
/// has separate functions for them.
void split_sums(PortableProgram& program);

/// Returns the bytes of working memory that suffice for the functions on all
/// cores.
int64_t cmsis_scratch(const PortableProgram& program);

}  // namespace octet::io::c
