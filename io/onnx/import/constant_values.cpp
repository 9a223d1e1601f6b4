#include "constant_values.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include <octet/layers/reshaping.h>
#include <octet/runtime/error.h>

#include "inputs.h"

namespace octet::io::importing {
namespace {

/// Booleans become 1 and 0.
Tensor as_floats(const Conversion& c, const Tensor& value) {
  if (value.dtype() == DType::f32) return value;
  if (value.dtype() != DType::boolean) {
    c.refuse(fmt::format("constant must be float32 or bool, got {}",
                         to_string(value.dtype())));
  }
  Tensor result(value.shape());
  const auto from = value.data<bool>();
  for (size_t i = 0; i < from.size(); ++i) {
    result.f32()[i] = from[i] ? 1.0f : 0.0f;
  }
  return result;
}

[[noreturn]] void refuse_output(const std::string& reason) {
  throw UnsupportedError("unsupported_model", "constant output", reason);
}

template <class T>
Tensor whole_numbers(const Tensor& value) {
  constexpr int64_t kMost = int64_t{1} << 24;
  Tensor result(value.shape());
  const auto from = value.data<T>();
  for (size_t i = 0; i < from.size(); ++i) {
    const auto number = static_cast<int64_t>(from[i]);
    if (number < -kMost || number > kMost) {
      refuse_output(
          fmt::format("float32 cannot represent all integers like {}", number));
    }
    result.f32()[i] = static_cast<float>(number);
  }
  return result;
}

Tensor exact_floats(const Tensor& value) {
  switch (value.dtype()) {
    case DType::f32:
      return value;
    case DType::i8:
      return whole_numbers<int8_t>(value);
    case DType::u8:
      return whole_numbers<uint8_t>(value);
    case DType::i16:
      return whole_numbers<int16_t>(value);
    case DType::i32:
      return whole_numbers<int32_t>(value);
    case DType::i64:
      return whole_numbers<int64_t>(value);
    case DType::boolean:
      return whole_numbers<bool>(value);
  }
  throw InternalError("internal", "constant output", "unknown element type");
}

/// A layer with a constant that has size 1 on the axis of samples, order[0].
octet::Constant layer_of(const Tensor& numbers, std::span<const int> order) {
  const Tensor moved = numbers.transposed(order);
  const Shape sample = moved.shape().slice(1, moved.shape().rank());
  return octet::Constant({.value = moved.reshaped(sample)});
}

/// Batch first, then the file's order; images channels last.
std::vector<int> order_of(const Constant& repeated) {
  const int rank = repeated.value.shape().rank();
  if (rank == 4 && *repeated.samples_axis == 0) return channels_last(4);
  return axis_first(rank, *repeated.samples_axis);
}

/// Reduces the axis to a single entry if all entries are equal; otherwise
/// returns an empty tensor.
Tensor one_entry(const Tensor& value, int axis) {
  const int64_t size = value.shape()[axis];
  if (size == 1) return value;
  const Tensor rows = value.transposed(axis_first(value.shape().rank(), axis));
  const Tensor first = rows.slice(0, 1);
  for (int64_t i = 1; i < size; ++i) {
    const Tensor row = rows.slice(i, 1);
    if (!std::ranges::equal(first.f32(), row.f32())) return {};
  }
  return first.reshaped(value.shape().with(axis, 1));
}

/// Reduces a constant of a file with a fixed batch to a single sample if it is
/// equal for all samples; returns other constants unchanged.
Tensor for_one_sample(const Conversion& c, const Tensor& numbers, int axis) {
  const Shape& shape = numbers.shape();
  if (shape[axis] == 1 || shape[axis] != fixed_batch(c.graph())) return numbers;
  const Tensor one = one_entry(numbers, axis);
  return one.empty() ? numbers : one;
}

/// Returns a constant with leading axes of size 1 up to `rank` axes.
Tensor with_rank(const Tensor& numbers, int rank) {
  const auto dims = numbers.shape().dims();
  Sizes sizes(static_cast<size_t>(rank) - dims.size(), 1);
  sizes.insert(sizes.end(), dims.begin(), dims.end());
  return numbers.reshaped(Shape(std::span<const int64_t>(sizes)));
}

}  // namespace

Tensor aligned(const Conversion& c, const Tensor& numbers,
               const ImportedValue& beside, const LayerAxes& axes) {
  const auto batch = beside.layout.batch_axis();
  bool fits = numbers.shape().rank() <= beside.rank();
  Tensor value = fits ? with_rank(numbers, beside.rank()) : numbers;
  if (fits && batch) {
    value = for_one_sample(c, value, static_cast<int>(*batch));
    fits = value.shape()[static_cast<int>(*batch)] == 1;
  }
  if (fits) return axes.in_order(value);
  c.refuse(fmt::format("constant {} does not broadcast over the samples of {}",
                       numbers.shape().to_string(), beside.text()));
}

Operand constant_operand(Conversion& c, const Tensor& sample,
                         const char* suffix) {
  return {c.add(octet::Constant({.value = as_floats(c, sample)}),
                {{c.model_input()}}, {}, suffix)};
}

ImportedValue repeated(Conversion& c, const Tensor& numbers,
                       const char* suffix) {
  return value_of(constant_operand(c, numbers, suffix).tensor,
                  file_order(numbers.shape().rank() + 1));
}

void add_leading_axes(Conversion& c, const std::vector<int>& inputs) {
  if (!c.has_one_sample()) return;
  const auto dims = [&](int i) {
    return c.is_constant(i) ? fixed_dims(c.constant(i).shape().dims())
                            : c.value(i).dims();
  };
  size_t rank = 0;
  for (const int i : inputs) rank = std::max(rank, dims(i).size());
  const bool leads = std::ranges::all_of(inputs, [&](int i) {
    const Dims own = dims(i);
    return own.size() < rank || own.empty() || own[0].factor == 1;
  });
  for (const int i : inputs) {
    if (c.is_constant(i) || c.value(i).layout.batch_axis()) continue;
    Sizes axes;
    for (size_t axis = c.value(i).layout.rank(); axis < rank; ++axis) {
      axes.push_back(0);
    }
    const AxisLayout layout = with_axes(c.value(i).layout, axes);
    c.set_value(i,
                c.value(i).with(leads ? with_leading_batch(layout) : layout));
  }
}

void make_values(Conversion& c, const std::vector<int>& inputs) {
  add_leading_axes(c, inputs);
  const auto is_constant = [&](int i) { return c.is_constant(i); };
  if (std::ranges::none_of(inputs, is_constant)) return;
  const ImportedValue* largest = nullptr;
  for (const int i : inputs) {
    if (c.is_constant(i)) continue;
    const ImportedValue& x = c.value(i);
    if (largest == nullptr || x.sample_size() > largest->sample_size()) {
      largest = &x;
    }
  }
  if (largest == nullptr) return;
  const ImportedValue beside = *largest;
  const LayerAxes axes(beside);
  for (const int i : inputs) {
    if (!c.is_constant(i)) continue;
    const Tensor sample = aligned(c, as_floats(c, c.constant(i)), beside, axes);
    c.set_value(i, axes.back(constant_operand(c, sample, "/constant").tensor));
  }
}

void make_repeated_values(Conversion& c) {
  for (int i = 0; i < c.inputs(); ++i) {
    if (c.has(i) && !c.is_constant(i)) return;
  }
  for (int i = 0; i < c.inputs(); ++i) {
    if (!c.has(i)) continue;
    Constant constant = *c.graph().constant(c.proto().input(i));
    if (!constant.samples_axis) continue;
    constant.value = as_floats(c, constant.value);
    const std::vector<int> order = order_of(constant);
    c.set_value(i, value_of(c.add(layer_of(constant.value, order),
                                  {{c.model_input()}}, {}, "/constant"),
                            order));
  }
}

ImportedValue constant_output(const Constant& constant, int64_t batch,
                              const SymbolicTensor& input,
                              const std::string& name) {
  if (!constant.times_batch.empty() || constant.samples_step != 0) {
    refuse_output("must not depend on the batch size");
  }
  Constant repeated{.value = exact_floats(constant.value),
                    .samples_axis = constant.samples_axis.value_or(0)};
  bool batched = constant.samples_axis.has_value();
  if (!batched) {
    const Shape shape = repeated.value.shape();
    if (shape.rank() == 0) refuse_output("must have axes, got a scalar");
    Tensor row;
    if (shape.rank() > 1 && shape[0] == batch)
      row = one_entry(repeated.value, 0);
    batched = !row.empty();
    repeated.value =
        batched ? row : with_rank(repeated.value, shape.rank() + 1);
  }
  const std::vector<int> order = order_of(repeated);
  const LayerHandle layer = layer_of(repeated.value, order);
  layer->set_name(name);
  ImportedValue y = value_of(layer(input), order);
  if (!batched) {
    y.layout = sample_of(y.layout);
  }
  return y;
}

}  // namespace octet::io::importing
