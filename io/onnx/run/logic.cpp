// Comparisons and booleans.
#include <cmath>

#include "map.h"
#include "operators.h"
#include "walk.h"

namespace octet::io::run {
namespace {

template <class F>
Values compare(const NodeContext& context, F f) {
  const Tensor& a = context.input(0);
  const Tensor b = second_operand(context);
  return {visit_any(context, a.dtype(), [&]<class T>(T) {
    return combine<bool, T, T>(context, a, b, f);
  })};
}

template <class F>
Values logical(const NodeContext& context, F f) {
  return {combine<bool, bool, bool>(context, context.input(0),
                                    second_operand(context), f)};
}

}  // namespace

Values equal(const NodeContext& context) {
  return compare(context, [](auto a, auto b) { return a == b; });
}

Values greater(const NodeContext& context) {
  return compare(context, [](auto a, auto b) { return a > b; });
}

Values greater_or_equal(const NodeContext& context) {
  return compare(context, [](auto a, auto b) { return a >= b; });
}

Values less(const NodeContext& context) {
  return compare(context, [](auto a, auto b) { return a < b; });
}

Values less_or_equal(const NodeContext& context) {
  return compare(context, [](auto a, auto b) { return a <= b; });
}

Values logical_and(const NodeContext& context) {
  return logical(context, [](bool a, bool b) { return a && b; });
}

Values logical_or(const NodeContext& context) {
  return logical(context, [](bool a, bool b) { return a || b; });
}

Values logical_xor(const NodeContext& context) {
  return logical(context, [](bool a, bool b) { return a != b; });
}

Values logical_not(const NodeContext& context) {
  const Tensor& x = context.input(0);
  Tensor y = context.make(dims_of(x), DType::boolean);
  const auto from = x.data<bool>();
  const auto to = y.data<bool>();
  for (size_t i = 0; i < from.size(); ++i) to[i] = !from[i];
  return {y};
}

Values is_inf(const NodeContext& context) {
  const bool negative = context.integer("detect_negative", 1) != 0;
  const bool positive = context.integer("detect_positive", 1) != 0;
  return {map<bool, float>(context, context.input(0), [=](float x) {
    return std::isinf(x) && (x < 0 ? negative : positive);
  })};
}

Values is_nan(const NodeContext& context) {
  return {map<bool, float>(context, context.input(0),
                           [](float x) { return std::isnan(x); })};
}

Values where(const NodeContext& context) {
  const Tensor& condition = context.input(0);
  const Tensor& a = context.input(1);
  const Tensor& b = context.input(2);
  const Dims dims =
      broadcast_dims(context, {dims_of(condition), dims_of(a), dims_of(b)});
  return {visit_any(context, a.dtype(), [&]<class T>(T) {
    Tensor y = context.make(dims, a.dtype());
    const Walk walk(dims, {broadcast_strides(dims_of(condition), dims),
                           broadcast_strides(dims_of(a), dims),
                           broadcast_strides(dims_of(b), dims)});
    T* out = y.data<T>().data();
    for (int64_t row = 0; row < walk.rows(); ++row) {
      const bool* c = condition.data<bool>().data() + walk.offset(0, row);
      const T* yes = a.data<T>().data() + walk.offset(1, row);
      const T* no = b.data<T>().data() + walk.offset(2, row);
      for (int64_t i = 0; i < walk.width(); ++i) {
        *out++ =
            c[i * walk.step(0)] ? yes[i * walk.step(1)] : no[i * walk.step(2)];
      }
    }
    return y;
  })};
}

}  // namespace octet::io::run
