// Differentiable operations on Variables, and the same functions on Tensors
// without gradients (tensor_ops.h). Images are NHWC, convolution
// kernels [kh, kw, c, k], dense kernels [c, units].
#pragma once

#include <octet/runtime/ops/arithmetic.h>
#include <octet/runtime/ops/composite.h>
#include <octet/runtime/ops/layout.h>
#include <octet/runtime/ops/loss.h>
#include <octet/runtime/ops/nn.h>
#include <octet/runtime/ops/quantization.h>
#include <octet/runtime/ops/window.h>
#include <octet/runtime/tensor_ops.h>
