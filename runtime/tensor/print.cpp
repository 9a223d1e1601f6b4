#include <algorithm>
#include <cstdint>
#include <functional>
#include <ostream>
#include <vector>

#include <fmt/format.h>

#include <octet/runtime/error.h>
#include <octet/runtime/program.h>

#include "autograd/node.h"
#include "number_text.h"

namespace octet {
namespace {

using ElementText = std::function<std::string(int64_t element)>;

// Entries of an axis that are printed: all, or some at each end.
struct ShownEntries {
  int64_t leading = 0, trailing = 0;
  bool abbreviated = false;

  ShownEntries(int64_t size, int64_t edge, bool abbreviates)
      : trailing(size), abbreviated(abbreviates && size > 2 * edge) {
    if (abbreviated) leading = trailing = edge;
  }
};

// Source: _formatArray() of NumPy, numpy/_core/arrayprint.py.
class TensorText {
 public:
  TensorText(const Shape& shape, const PrintOptions& options)
      : shape_(shape),
        options_(options),
        abbreviates_(shape.size() > options.threshold) {}

  bool abbreviates() const { return abbreviates_; }

  /// Calls `visit` with the index of each printed element.
  void for_each_shown(const std::function<void(int64_t)>& visit) const {
    for_each(0, 0, visit);
  }

  std::string text(const ElementText& element) const {
    return nested(0, 0, 1, options_.line_width, element);
  }

 private:
  ShownEntries shown(int axis) const {
    return {shape_[axis], options_.edge_items, abbreviates_};
  }

  void for_each(int axis, int64_t offset,
                const std::function<void(int64_t)>& visit) const {
    if (axis == shape_.rank()) return visit(offset);
    const ShownEntries entries = shown(axis);
    const int64_t size = shape_[axis];
    for (int64_t i = 0; i < entries.leading; ++i) {
      for_each(axis + 1, offset * size + i, visit);
    }
    for (int64_t i = size - entries.trailing; i < size; ++i) {
      for_each(axis + 1, offset * size + i, visit);
    }
  }

  std::string nested(int axis, int64_t offset, int indent, int width,
                     const ElementText& element) const {
    if (axis == shape_.rank()) return element(offset);
    const ShownEntries entries = shown(axis);
    const int64_t size = shape_[axis];
    std::vector<std::string> words;
    const auto add = [&](int64_t i) {
      words.push_back(
          nested(axis + 1, offset * size + i, indent + 1, width - 1, element));
    };
    for (int64_t i = 0; i < entries.leading; ++i) add(i);
    if (entries.abbreviated) words.emplace_back("...");
    for (int64_t i = size - entries.trailing; i < size; ++i) add(i);
    const int below = shape_.rank() - axis - 1;
    return "[" +
           (below == 0 ? row(words, indent, width - 1)
                       : blocks(words, indent, below)) +
           "]";
  }

  // Words in lines of up to `width` characters.
  static std::string row(const std::vector<std::string>& words, int indent,
                         int width) {
    const std::string margin(static_cast<size_t>(indent), ' ');
    std::string text, line = margin;
    for (size_t i = 0; i < words.size(); ++i) {
      const bool begins = line.size() <= margin.size();
      if (!begins && std::ssize(line) + std::ssize(words[i]) > width) {
        line.erase(line.find_last_not_of(' ') + 1);
        text += line + "\n";
        line = margin;
      }
      line += words[i];
      if (i + 1 < words.size()) line += ' ';
    }
    return (text + line).substr(margin.size());
  }

  static std::string blocks(const std::vector<std::string>& words, int indent,
                            int below) {
    const std::string gap = std::string(static_cast<size_t>(below), '\n') +
                            std::string(static_cast<size_t>(indent), ' ');
    return fmt::format("{}", fmt::join(words, gap));
  }

  Shape shape_;
  PrintOptions options_;
  bool abbreviates_;
};

std::string float_text(const Tensor& x, const TensorText& layout,
                       int precision) {
  const auto values = x.f32();
  const auto at = [&](int64_t i) { return values[static_cast<size_t>(i)]; };
  if (x.shape().rank() == 0) return scalar_text(at(0));
  std::vector<float> shown;
  layout.for_each_shown([&](int64_t i) { shown.push_back(at(i)); });
  const FloatColumn column(shown, precision);
  return layout.text([&](int64_t i) { return column.text(at(i)); });
}

template <class T>
std::string integer_text(const Tensor& x, const TensorText& layout) {
  const auto values = x.data<T>();
  const auto element = [&](int64_t i) {
    return fmt::format("{}", int64_t{values[static_cast<size_t>(i)]});
  };
  size_t width = 0;
  layout.for_each_shown(
      [&](int64_t i) { width = std::max(width, element(i).size()); });
  return layout.text(
      [&](int64_t i) { return fmt::format("{:>{}}", element(i), width); });
}

std::string boolean_text(const Tensor& x, const TensorText& layout) {
  const auto values = x.data<bool>();
  const int width = x.shape().rank() == 0 ? 0 : 5;
  return layout.text([&](int64_t i) {
    return fmt::format(
        "{:>{}}", values[static_cast<size_t>(i)] ? "True" : "False", width);
  });
}

std::string elements_text(const Tensor& x, const TensorText& layout,
                          int precision) {
  switch (x.dtype()) {
    case DType::f32:
      return float_text(x, layout, precision);
    case DType::i8:
      return integer_text<int8_t>(x, layout);
    case DType::u8:
      return integer_text<uint8_t>(x, layout);
    case DType::i16:
      return integer_text<int16_t>(x, layout);
    case DType::i32:
      return integer_text<int32_t>(x, layout);
    case DType::i64:
      return integer_text<int64_t>(x, layout);
    case DType::boolean:
      return boolean_text(x, layout);
  }
  return "?";
}

void expect_print_option(bool valid, const char* name, const char* range,
                         int64_t value) {
  if (valid) return;
  throw ValueError("out_of_range", "PrintOptions",
                   fmt::format("{} must be {}, got {}", name, range, value));
}

}  // namespace

std::string to_string(const Tensor& x, const PrintOptions& options) {
  const PrintOptions& o = options;
  expect_print_option(o.precision >= 0 && o.precision <= 16, "precision",
                      "in [0,16]", o.precision);
  expect_print_option(o.threshold >= 0, "threshold", "at least 0", o.threshold);
  expect_print_option(o.edge_items >= 1, "edge_items", "at least 1",
                      o.edge_items);
  expect_print_option(o.line_width >= 1, "line_width", "at least 1",
                      o.line_width);
  if (x.empty()) return "empty tensor";
  const TensorText layout(x.shape(), o);
  std::string text =
      x.size() == 0 ? "[]" : elements_text(x, layout, o.precision);
  if (layout.abbreviates() || x.size() == 0) {
    text += fmt::format(", shape={}", x.shape().to_string());
  }
  if (x.dtype() != DType::f32) {
    text += fmt::format(", dtype={}", to_string(x.dtype()));
  }
  return text;
}

std::string to_string(const Variable& x, const PrintOptions& options) {
  if (!x) return "empty variable";
  std::string text = to_string(x.value(), options);
  if (!x.is_leaf()) return text + fmt::format(", op={}", x.node()->op);
  return x.requires_grad() ? text + ", requires_grad" : text;
}

std::string to_string(const QuantParams& qparams) {
  if (qparams.empty()) return "no quantization parameters";
  std::string text = "scale";
  if (qparams.block > 0) {
    text += fmt::format("s of blocks of {} on axis {}", qparams.block,
                        qparams.axis);
  } else if (qparams.per_channel()) {
    text += fmt::format("s of axis {}", qparams.axis);
  }
  text += fmt::format(" {}, ", to_string(qparams.scale));
  if (qparams.format != NumberFormat::integer) {
    text += fmt::format("{} ", to_string(qparams.format));
  }
  return text + fmt::format("range [{},{}]", qparams.low, qparams.high);
}

std::ostream& operator<<(std::ostream& out, DType type) {
  return out << to_string(type);
}
std::ostream& operator<<(std::ostream& out, const Shape& shape) {
  return out << shape.to_string();
}
std::ostream& operator<<(std::ostream& out, const Tensor& x) {
  return out << to_string(x);
}
std::ostream& operator<<(std::ostream& out, const Variable& x) {
  return out << to_string(x);
}
std::ostream& operator<<(std::ostream& out, const QuantParams& qparams) {
  return out << to_string(qparams);
}
std::ostream& operator<<(std::ostream& out, const Program& program) {
  return out << program.to_string();
}

}  // namespace octet
