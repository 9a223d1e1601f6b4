// Offers elementwise ops with broadcasting to the active trace.
#pragma once

#include <span>

#include "inference/trace.h"
#include "tensor/broadcast.h"

namespace octet {

/// y = f(a, b) with broadcasting. Returns an empty Variable if the op must be
/// computed. Samples stay apart only if traced operands have equal ranks:
/// append() checks that.
template <class F>
Variable offer_elementwise(const char* op, const Variable& a, const Variable& b,
                           const Shape& shape, F f) {
  return inference::offer([&] {
    return inference::TracedOp{
        .op = op,
        .inputs = {a, b},
        .shape = shape,
        .forward =
            [op, f](std::span<const Tensor> in, Tensor& y) {
              const Broadcast plan(op, in[0].shape(), in[1].shape());
              combine_into(y, plan, {}, in[0], in[1], f);
            },
        .broadcasts = true};
  });
}

/// y = f(x, 0).
template <class F>
Variable offer_unary(const char* op, const Variable& x, F f,
                     const inference::Attributes& attributes = {}) {
  return inference::offer([&] {
    return inference::TracedOp{
        .op = op,
        .inputs = {x},
        .shape = x.shape(),
        .attributes = attributes,
        .forward = [op, f, none = Tensor::scalar(0)](std::span<const Tensor> in,
                                                     Tensor& y) {
          combine_into(y, Broadcast(op, in[0].shape(), {}), {}, in[0], none, f);
        }};
  });
}

}  // namespace octet
