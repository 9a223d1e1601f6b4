// Differentiable operations on Variables. Images are NHWC, convolution
// kernels [kh, kw, c, k], dense kernels [c, units].
#pragma once

#include <octet/runtime/ops/arithmetic.h>
#include <octet/runtime/ops/layout.h>
#include <octet/runtime/ops/loss.h>
#include <octet/runtime/ops/nn.h>
#include <octet/runtime/ops/quantization.h>
#include <octet/runtime/ops/window.h>
