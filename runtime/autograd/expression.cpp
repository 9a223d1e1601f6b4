#include "expression.h"

#include <algorithm>
#include <utility>

#include <octet/runtime/parallel.h>

#include "inference/trace.h"
#include "node.h"
#include "tensor/arena.h"
#include "tensor/byte_codes.h"

namespace octet::autograd {
namespace {

Expression unquantized(Expression e) {
  e.qparams = {};
  e.already_quantized = false;
  return e;
}

}  // namespace

bool nonnegative(const Expression& e) {
  if (e.low >= 0 || (!e.qparams.empty() && e.qparams.low >= 0)) return true;
  return !e.second && !e.first.scaled() && e.first.nonnegative;
}

const kernels::CodeTable& code_table_of(const Expression& e) {
  const kernels::Table& table = kernels::table();
  const bool small = table.small_codes != nullptr && fits_bytes(e.qparams) &&
                     e.qparams.high <= 127 && nonnegative(e);
  return small ? *table.small_codes : table.codes;
}

OpenInterval Expression::pass() const {
  OpenInterval interval{low, high};
  if (!qparams.empty() && clipped_gradient) {
    const OpenInterval round = straight_through_interval(
        qparams.scale.item(), qparams.low, qparams.high);
    interval.low = std::max(interval.low, round.low);
    interval.high = std::min(interval.high, round.high);
  }
  return interval;
}

Expression expression_of(const Tensor& t, Node* target) {
  Expression e;
  e.shape = t.shape();
  e.first.t = t;
  e.first.target = target;
  if (target != nullptr) e.first.source = target->id;
  return e;
}

ImageShape::ImageShape(const Shape& shape) {
  const int rank = shape.rank();
  if (rank == 0) return;
  c = shape[-1];
  if (rank == 1) return;
  n = shape[0];
  if (rank == 4) {
    h = shape[1];
    w = shape[2];
    return;
  }
  for (int axis = 1; axis < rank - 1; ++axis) w *= shape[axis];
}

ExpressionEvaluator::ExpressionEvaluator(const Expression& expression,
                                         OutputKind form)
    : expression_(expression), images_(expression.shape) {
  const Expression& e = expression_;
  if (inference::Trace* trace = inference::active_trace()) trace->note_use(e);
  call_.h = images_.h;
  call_.w = images_.w;
  call_.c = images_.c;
  call_.low = e.low;
  call_.high = e.high;
  const Shape channels{images_.c};
  const auto scale_of = [&](const Tensor& a) {
    if (!a.empty()) return a.f32().data();
    if (ones_.empty()) ones_ = Tensor::full(channels, 1);
    return std::as_const(ones_).f32().data();
  };
  const auto shift_of = [&](const Tensor& b) {
    if (!b.empty()) return b.f32().data();
    if (zeros_.empty()) zeros_ = Tensor::zeros(channels);
    return std::as_const(zeros_).f32().data();
  };
  if (e.materialized()) {
    call_.t = std::as_const(*e.buffer).f32().data();
  } else {
    call_.t = e.first.t.read().f32().data();
    call_.terms = e.first.scaled() || e.clipped() ? 1 : 0;
    if (e.second) {
      const Term& s = *e.second;
      call_.terms = s.qparams.empty() ? 2 : 3;
      call_.t2 = s.t.read().f32().data();
      call_.a2 = scale_of(s.a);
      call_.b2 = shift_of(s.b);
      call_.low2 = s.low;
      call_.high2 = s.high;
      if (!s.qparams.empty()) {
        call_.scale2 = s.qparams.scale.item();
        call_.code_low2 = static_cast<float>(s.qparams.low);
        call_.code_high2 = static_cast<float>(s.qparams.high);
      }
      if (e.buffer != nullptr) {
        buffer_ = Tensor(e.shape);
        call_.keep = buffer_.f32().data();
      }
    }
    if (call_.terms >= 1) {
      call_.a = scale_of(e.first.a);
      call_.b = shift_of(e.first.b);
    }
  }
  const bool there = e.already_quantized && form == OutputKind::real;
  if (!e.qparams.empty() && !there) {
    call_.quantize = true;
    call_.scale = e.qparams.scale.item();
    call_.code_low = static_cast<float>(e.qparams.low);
    call_.code_high = static_cast<float>(e.qparams.high);
    call_.factor = form == OutputKind::real ? call_.scale : 1.0f;
  }
}

kernels::Evaluation ExpressionEvaluator::from(int64_t offset) const {
  kernels::Evaluation call = call_;
  call.t += offset;
  if (call.t2 != nullptr) call.t2 += offset;
  if (call.keep != nullptr) call.keep += offset;
  return call;
}

kernels::Evaluation ExpressionEvaluator::padded(const ImageRows& rows,
                                                const Pads& padding) const {
  kernels::Evaluation call =
      from(rows.image * images_.size() + rows.first * images_.w * images_.c);
  call.h = rows.last - rows.first;
  call.top = padding.top;
  call.bottom = padding.bottom;
  call.left = padding.left;
  call.right = padding.right;
  return call;
}

kernels::Evaluation ExpressionEvaluator::run(int64_t first,
                                             int64_t last) const {
  kernels::Evaluation call = from(first * images_.c);
  call.h = 1;
  call.w = last - first;
  return call;
}

void ExpressionEvaluator::read(const ImageRows& rows, const Pads& padding,
                               float* out) const {
  kernels::Evaluation call = padded(rows, padding);
  call.out = out;
  kernels::table().evaluate(call);
}

bool ExpressionEvaluator::read_codes(const ImageRows& rows, const Pads& padding,
                                     const kernels::CodeTable& table,
                                     kernels::CodeWord* out) const {
  kernels::Evaluation call = padded(rows, padding);
  call.zero_byte = zero_byte(expression_.qparams, table);
  return table.evaluate(call, out);
}

bool ExpressionEvaluator::pixel_codes(int64_t first, int64_t last,
                                      const kernels::CodeTable& table,
                                      kernels::CodeWord* out) const {
  kernels::Evaluation call = run(first, last);
  call.zero_byte = zero_byte(expression_.qparams, table);
  return table.evaluate(call, out);
}

void ExpressionEvaluator::read_pixels(int64_t first, int64_t last,
                                      float* out) const {
  kernels::Evaluation call = run(first, last);
  call.out = out;
  kernels::table().evaluate(call);
}

const float* ExpressionEvaluator::pixels(int64_t first, int64_t last,
                                         int slot) const {
  if (call_.terms == 0 && !call_.quantize) {
    return call_.t + first * images_.c;
  }
  float* out = arena::scratch(slot, (last - first) * images_.c);
  read_pixels(first, last, out);
  return out;
}

void ExpressionEvaluator::commit() {
  if (buffer_.empty() || expression_.materialized()) return;
  *expression_.buffer = buffer_;
}

Tensor evaluate(const Expression& expression) {
  const inference::Trace* trace = inference::active_trace();
  if (trace != nullptr && trace->is_traced(expression)) {
    return Tensor::zeros(expression.shape);  // values are undefined
  }
  Tensor out(expression.shape);
  float* to = out.f32().data();
  ExpressionEvaluator reader(expression, OutputKind::real);
  const ImageShape& images = reader.images();
  parallel_chunks(images.n * images.h * images.w,
                  [&](int64_t first, int64_t last, int64_t) {
                    reader.read_pixels(first, last, to + first * images.c);
                  });
  reader.commit();
  return out;
}

Tensor value_of(const Expression& expression) {
  return expression.plain() ? expression.first.t.read() : evaluate(expression);
}

void materialize(const Expression& expression) {
  if (!expression.second || expression.buffer == nullptr ||
      expression.materialized()) {
    return;
  }
  *expression.buffer = evaluate(unquantized(expression));
}

}  // namespace octet::autograd
