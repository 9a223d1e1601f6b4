// Pad: padding and cropping.
#include <numeric>

#include <fmt/format.h>

#include "onnx/graph/tensors.h"
#include "operators.h"
#include "strided_iterator.h"

namespace octet::io::run {
namespace {

constexpr int64_t kPadInputs = 11;
constexpr int64_t kOutside = -1;

enum class Mode { constant, edge, reflect, wrap };

Mode mode_of(const NodeContext& context) {
  const std::string mode = context.text("mode", "constant");
  if (mode == "constant") return Mode::constant;
  if (mode == "edge") return Mode::edge;
  if (mode == "reflect") return Mode::reflect;
  if (mode == "wrap") return Mode::wrap;
  context.refuse("mode must be constant, edge, reflect or wrap, got '" +
                 printable(mode) + "'");
}

// Padding before and after an axis of `size`; negative values crop.
struct Padding {
  int64_t size = 0;
  int64_t before = 0;
  int64_t after = 0;

  // Returns the input index of output i.
  int64_t source(int64_t i, Mode mode) const {
    i -= before;
    if (i >= 0 && i < size) return i;
    if (mode == Mode::constant) return kOutside;
    if (mode == Mode::edge) return i < 0 ? 0 : size - 1;
    if (mode == Mode::wrap) return (i % size + size) % size;
    return i < 0 ? -i : 2 * (size - 1) - i;
  }
};

void check(const NodeContext& context, const Padding& p, Mode mode) {
  const int64_t most = mode == Mode::reflect ? p.size - 1 : kMostBytes;
  if (p.before > most || p.after > most || p.before < -p.size ||
      p.after < -p.size || (p.size == 0 && mode != Mode::constant)) {
    context.refuse(fmt::format("pads must be from {} to {}, got {} and {}",
                               -p.size, most, p.before, p.after));
  }
}

std::vector<Padding> paddings_of(const NodeContext& context, const Tensor& x,
                                 Mode mode) {
  // Opset 1 calls the attribute "paddings".
  const Sizes pads = context.opset() < 2
                         ? context.integers("paddings")
                         : context.integers_since(kPadInputs, 1, "pads");
  const Sizes dims = sizes_of(x);
  Sizes axes(dims.size());
  std::iota(axes.begin(), axes.end(), 0);
  if (context.has_input(3)) axes = context.integers_of(3);
  if (pads.size() != 2 * axes.size()) {
    context.refuse(fmt::format("must have {} pads for {}, got {}",
                               2 * axes.size(), x.shape().to_string(),
                               dims_text(pads)));
  }
  std::vector<Padding> result;
  for (const int64_t dim : dims) result.push_back({dim, 0, 0});
  std::vector<bool> seen(dims.size());
  for (size_t i = 0; i < axes.size(); ++i) {
    const auto axis =
        static_cast<size_t>(context.axis(axes[i], x.shape().rank()));
    if (seen[axis]) {
      context.refuse("axes must be unique, got " + dims_text(axes));
    }
    seen[axis] = true;
    result[axis].before = pads[i];
    result[axis].after = pads[i + axes.size()];
    check(context, result[axis], mode);
  }
  return result;
}

template <class T>
T fill_value(const NodeContext& context) {
  if (context.opset() < kPadInputs) {
    return static_cast<T>(context.number("value", 0));
  }
  return context.has_input(2) ? scalar<T>(context, 2) : T{};
}

// Returns the input offset of output element i, or kOutside.
int64_t source_of(int64_t i, const std::vector<Padding>& paddings,
                  const Sizes& dims, const Sizes& strides, Mode mode) {
  int64_t offset = 0;
  for (size_t d = dims.size(); d-- > 0;) {
    const int64_t at = paddings[d].source(i % dims[d], mode);
    if (at == kOutside) return kOutside;
    offset += at * strides[d];
    i /= dims[d];
  }
  return offset;
}

}  // namespace

Values pad(const NodeContext& context) {
  const Tensor& x = context.input(0);
  const Mode mode = mode_of(context);
  const auto paddings = paddings_of(context, x, mode);
  Sizes dims;
  for (const Padding& p : paddings) dims.push_back(p.size + p.before + p.after);
  const Sizes strides = strides_of(sizes_of(x));
  Tensor y = context.make(dims, x.dtype());
  visit_any(context, x.dtype(), [&]<class T>(T) {
    const T fill = fill_value<T>(context);
    const T* from = x.data<T>().data();
    T* to = y.data<T>().data();
    for (int64_t i = 0; i < y.size(); ++i) {
      const int64_t at = source_of(i, paddings, dims, strides, mode);
      to[i] = at == kOutside ? fill : from[at];
    }
  });
  return {y};
}

}  // namespace octet::io::run
