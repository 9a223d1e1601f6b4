#include "write_results.h"

#include <cmath>
#include <cstdint>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <octet/io/data.h>
#include <octet/io/json.h>
#include <octet/runtime/detail/file_name.h>
#include <octet/runtime/error.h>
#include <octet/runtime/file.h>

namespace octet::program {
namespace {

/// Returns an element as CSV text, or as JSON, which has no NaN.
std::string text_of(const Tensor& values, int64_t index, bool json) {
  const auto at = static_cast<size_t>(index);
  switch (values.dtype()) {
    case DType::f32: {
      const float value = values.data<float>()[at];
      return json && !std::isfinite(value) ? "null" : fmt::format("{}", value);
    }
    case DType::i8:
      return fmt::format("{}", int{values.data<int8_t>()[at]});
    case DType::u8:
      return fmt::format("{}", int{values.data<uint8_t>()[at]});
    case DType::i16:
      return fmt::format("{}", values.data<int16_t>()[at]);
    case DType::i32:
      return fmt::format("{}", values.data<int32_t>()[at]);
    case DType::i64:
      return fmt::format("{}", values.data<int64_t>()[at]);
    case DType::boolean: {
      const bool value = values.data<bool>()[at];
      return json ? (value ? "true" : "false") : (value ? "1" : "0");
    }
  }
  throw InternalError("internal", "text_of", "unknown element type");
}

int64_t rows_of(const Shape& shape) { return shape.rank() == 0 ? 1 : shape[0]; }

/// Returns "0,1,2", or "0_0,0_1,1_0,1_1" for two axes.
std::string header_of(const Shape& sample) {
  std::string header;
  for (int64_t i = 0; i < sample.size(); ++i) {
    std::vector<int64_t> place(static_cast<size_t>(sample.rank()));
    int64_t rest = i;
    for (int axis = sample.rank() - 1; axis >= 0; --axis) {
      place[static_cast<size_t>(axis)] = rest % sample[axis];
      rest /= sample[axis];
    }
    header += fmt::format(
        "{}{}", i == 0 ? "" : ",",
        place.empty() ? "0" : fmt::format("{}", fmt::join(place, "_")));
  }
  return header + "\n";
}

void put_csv(const Tensor& values, const PutBytes& put) {
  const Shape& shape = values.shape();
  const int64_t rows = rows_of(shape);
  const Shape sample =
      shape.rank() == 0 ? Shape{} : shape.slice(1, shape.rank());
  put(header_of(sample));
  for (int64_t row = 0; row < rows; ++row) {
    std::string line;
    for (int64_t i = 0; i < sample.size(); ++i) {
      if (i > 0) line += ',';
      line += text_of(values, row * sample.size() + i, false);
    }
    put(line + "\n");
  }
}

/// Appends nested lists from `axis` on; `index` is the next element.
void add_list(const Tensor& values, int axis, int64_t& index,
              std::string& text) {
  if (axis == values.shape().rank()) {
    text += text_of(values, index++, true);
    return;
  }
  text += '[';
  for (int64_t i = 0; i < values.shape()[axis]; ++i) {
    if (i > 0) text += ", ";
    add_list(values, axis + 1, index, text);
  }
  text += ']';
}

void put_json(const std::string& name, const Tensor& values,
              const PutBytes& put) {
  const Shape& shape = values.shape();
  std::string escaped = io::to_json(Config(name));
  put(fmt::format(
      "{{\"output\": {}, \"dtype\": \"{}\", \"shape\": [{}], "
      "\"values\": ",
      escaped, type_name(values.dtype()), fmt::join(shape.dims(), ", ")));
  int64_t index = 0;
  if (shape.rank() == 0) {
    put(text_of(values, 0, true));
  } else {
    put("[");
    for (int64_t row = 0; row < shape[0]; ++row) {
      std::string text = row == 0 ? "\n  " : ",\n  ";
      add_list(values, 1, index, text);
      put(text);
    }
    put("\n]");
  }
  put("}\n");
}

}  // namespace

std::string_view type_name(DType type) {
  switch (type) {
    case DType::f32:
      return "float32";
    case DType::i8:
      return "int8";
    case DType::u8:
      return "uint8";
    case DType::i16:
      return "int16";
    case DType::i32:
      return "int32";
    case DType::i64:
      return "int64";
    case DType::boolean:
      return "bool";
  }
  throw InternalError("internal", "type_name", "unknown element type");
}

void write_results(const std::string& path, const std::string& name,
                   const Tensor& values) {
  const KnownExtension* known = find_extension(path);
  const std::string_view extension = known == nullptr ? "" : known->extension;
  if (extension == ".csv") {
    return write_file(path, [&](const PutBytes& put) { put_csv(values, put); });
  }
  if (extension == ".json") {
    return write_file(
        path, [&](const PutBytes& put) { put_json(name, values, put); });
  }
  io::write_npy(path, values);
}

}  // namespace octet::program
