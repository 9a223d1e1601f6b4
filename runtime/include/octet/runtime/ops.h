// Differentiable operations on Variables. Images are NHWC, convolution
// kernels [kh, kw, c, k], dense kernels [c, units].
#pragma once

#include <octet/runtime/ops/activation.h>
#include <octet/runtime/ops/arithmetic.h>
#include <octet/runtime/ops/convolution.h>
#include <octet/runtime/ops/dense.h>
#include <octet/runtime/ops/layout.h>
#include <octet/runtime/ops/loss.h>
#include <octet/runtime/ops/normalization.h>
#include <octet/runtime/ops/operators.h>
#include <octet/runtime/ops/pooling.h>
#include <octet/runtime/ops/quantization.h>
#include <octet/runtime/ops/random.h>
#include <octet/runtime/ops/reduction.h>
#include <octet/runtime/ops/select.h>
#include <octet/runtime/ops/softmax.h>
#include <octet/runtime/ops/window.h>
