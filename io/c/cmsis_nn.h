// Layers of the fixed form that CMSIS-NN computes with the same results.
#pragma once

#include "network.h"

namespace octet::io::c {

/// Return whether CMSIS-NN has a function for a step.
bool cmsis_computes(const PortableProgram& program, const PortableLinear& s);
bool cmsis_computes(const PortableProgram& program, const PortableEvaluate& s);
bool cmsis_computes(const PortableProgram& program, const PortablePool& s);
bool cmsis_computes(const PortableProgram& program, const PortableSoftmax& s);

/// A dense layer without spatial axes.
bool is_vector_product(const PortableProgram& program, const PortableLinear& s);

/// Separates residual sums from linear steps: CMSIS-NN has a function for each.
void split_sums(PortableProgram& program);

/// Returns the bytes of working memory that the functions need on any core.
int64_t cmsis_scratch(const PortableProgram& program);

}  // namespace octet::io::c
