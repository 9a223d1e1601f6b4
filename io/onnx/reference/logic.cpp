// Comparisons and booleans.
#include <cmath>
#include <functional>

#include "map.h"
#include "operators.h"
#include "strided_iterator.h"

namespace octet::io::run {
namespace {

template <auto f>
Values compare(const NodeContext& context) {
  const Tensor& a = context.input(0);
  return {visit_any(context, a.dtype(), [&]<class T>(T) {
    return combine<bool, T, T>(context, a, context.input(1), f);
  })};
}

template <auto f>
Values logical(const NodeContext& context) {
  return {combine<bool, bool, bool>(context, context.input(0), context.input(1),
                                    f)};
}

template <auto f>
Values bitwise(const NodeContext& context) {
  const Tensor& a = context.input(0);
  return {visit<int8_t, uint8_t, int32_t, int64_t>(
      context, a.dtype(), [&]<class T>(T) {
        return combine<T, T, T>(context, a, context.input(1), [](T x, T y) {
          return static_cast<T>(f(x, y));
        });
      })};
}

Values bitwise_not(const NodeContext& context) {
  const Tensor& x = context.input(0);
  return {visit<int8_t, uint8_t, int32_t, int64_t>(
      context, x.dtype(), [&]<class T>(T) {
        return map<T, T>(context, x, [](T v) { return static_cast<T>(~v); });
      })};
}

template <class T, auto f>
Values tells(const NodeContext& context) {
  return {map<bool, T>(context, context.input(0), f)};
}

Values is_inf(const NodeContext& context) {
  const bool negative = context.integer("detect_negative", 1) != 0;
  const bool positive = context.integer("detect_positive", 1) != 0;
  return {map<bool, float>(context, context.input(0), [=](float x) {
    return std::isinf(x) && (x < 0 ? negative : positive);
  })};
}

Values where(const NodeContext& context) {
  const Tensor& condition = context.input(0);
  const Tensor& a = context.input(1);
  const Tensor& b = context.input(2);
  const Sizes dims =
      broadcast_dims(context, {sizes_of(condition), sizes_of(a), sizes_of(b)});
  return {visit_any(context, a.dtype(), [&]<class T>(T) {
    Tensor y = context.make(dims, a.dtype());
    const StridedIterator walk(dims,
                               {broadcast_strides(sizes_of(condition), dims),
                                broadcast_strides(sizes_of(a), dims),
                                broadcast_strides(sizes_of(b), dims)});
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

}  // namespace

Operators logic_operators() {
  static constexpr NamedOperator kOperators[] = {
      {"Equal", compare<std::equal_to<>{}>},
      {"Greater", compare<std::greater<>{}>},
      {"GreaterOrEqual", compare<std::greater_equal<>{}>},
      {"Less", compare<std::less<>{}>},
      {"LessOrEqual", compare<std::less_equal<>{}>},
      {"BitwiseAnd", bitwise<std::bit_and<>{}>},
      {"BitwiseNot", bitwise_not},
      {"BitwiseOr", bitwise<std::bit_or<>{}>},
      {"BitwiseXor", bitwise<std::bit_xor<>{}>},
      {"And", logical<std::logical_and<>{}>},
      {"Or", logical<std::logical_or<>{}>},
      {"Xor", logical<std::not_equal_to<>{}>},
      {"Not", tells<bool, std::logical_not<>{}>},
      {"IsNaN", tells<float, [](float x) { return std::isnan(x); }>},
      {"IsInf", is_inf},
      {"Where", where},
  };
  return kOperators;
}

}  // namespace octet::io::run
