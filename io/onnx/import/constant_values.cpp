#include "constant_values.h"

#include <algorithm>

#include <fmt/format.h>

#include <octet/layers/constant.h>
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
    case DType::i32:
      return whole_numbers<int32_t>(value);
    case DType::i64:
      return whole_numbers<int64_t>(value);
    case DType::boolean:
      return whole_numbers<bool>(value);
  }
  throw InternalError("internal", "constant output", "unknown element type");
}

/// `order` begins with the batch axis, which has size 1.
octet::Constant layer_of(const Tensor& numbers, std::span<const int> order) {
  const Tensor turned = numbers.transposed(order);
  const Shape sample = turned.shape().slice(1, turned.shape().rank());
  return octet::Constant({.value = turned.reshaped(sample)});
}

/// Batch first, then the file's order; images channels last.
std::vector<int> order_of(const Constant& repeated) {
  const int rank = repeated.value.shape().rank();
  if (rank == 4 && *repeated.samples_axis == 0) return channels_last(4);
  return axis_first(rank, *repeated.samples_axis);
}

View constant_value(Conversion& c, const Tensor& numbers,
                    std::span<const int> order, const char* suffix) {
  return view_of(
      c.add(layer_of(numbers, order), {{c.model_input()}}, {}, suffix), order);
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

}  // namespace

Tensor for_one_sample(const Conversion& c, const Tensor& numbers,
                      const View& beside) {
  const Shape& shape = numbers.shape();
  const int axis =
      static_cast<int>(beside.batch()) - beside.rank() + shape.rank();
  if (axis < 0 || axis >= shape.rank() || shape[axis] == 1 ||
      shape[axis] != fixed_batch(c.graph())) {
    return numbers;
  }
  const Tensor one = one_entry(numbers, axis);
  return one.empty() ? numbers : one;
}

View constant_beside(Conversion& c, const Tensor& numbers, const View& beside,
                     const char* suffix) {
  const Shape& shape = numbers.shape();
  const auto batch = static_cast<int>(beside.batch());
  const auto refuse = [&] {
    c.refuse(
        fmt::format("constant {} does not broadcast over the samples of "
                    "{}",
                    shape.to_string(), importing::text_of(beside)));
  };
  const int more = beside.rank() - shape.rank();
  if (more < 0 || beside.axes[beside.batch()].size() != 1) refuse();
  Sizes dims(static_cast<size_t>(more), 1);
  dims.insert(dims.end(), shape.dims().begin(), shape.dims().end());
  Tensor value =
      as_floats(c, numbers).reshaped(Shape(std::span<const int64_t>(dims)));
  value = for_one_sample(c, value, beside);
  if (value.shape()[batch] != 1) refuse();
  return constant_value(c, value, natural_order(beside), suffix);
}

View repeated(Conversion& c, const Tensor& numbers, const char* suffix) {
  Sizes dims{1};
  const Shape& shape = numbers.shape();
  dims.insert(dims.end(), shape.dims().begin(), shape.dims().end());
  return constant_value(
      c, as_floats(c, numbers).reshaped(Shape(std::span<const int64_t>(dims))),
      file_order(shape.rank() + 1), suffix);
}

void make_values(Conversion& c, const std::vector<int>& inputs) {
  const View* largest = nullptr;
  for (const int i : inputs) {
    if (c.is_constant(i)) continue;
    const View& view = c.view(i);
    if (largest == nullptr || sample_size(view) > sample_size(*largest)) {
      largest = &view;
    }
  }
  if (largest == nullptr) return;
  const View beside = *largest;
  for (const int i : inputs) {
    if (!c.is_constant(i)) continue;
    c.set_value(i, {constant_beside(c, c.constant(i), beside, "/constant")});
  }
}

void make_repeated_values(Conversion& c) {
  for (int i = 0; i < c.inputs(); ++i) {
    if (c.has(i) && !c.is_constant(i)) return;
  }
  for (int i = 0; i < c.inputs(); ++i) {
    if (!c.has(i)) continue;
    const Constant& constant = *c.graph().constant(c.proto().input(i));
    if (!constant.samples_axis) continue;
    c.set_value(i, {constant_value(c, as_floats(c, constant.value),
                                   order_of(constant), "/constant")});
  }
}

ConstantOutput constant_output(const Constant& constant, int64_t batch,
                               const SymbolicTensor& input,
                               const std::string& name) {
  Constant repeated{.value = exact_floats(constant.value),
                    .samples_axis = constant.samples_axis};
  bool batched = constant.samples_axis.has_value();
  if (!batched) {
    const Shape shape = repeated.value.shape();
    if (shape.rank() == 0) refuse_output("must have axes, got a scalar");
    Tensor row;
    if (shape.rank() > 1 && shape[0] == batch)
      row = one_entry(repeated.value, 0);
    batched = !row.empty();
    Sizes dims{1};
    dims.insert(dims.end(), shape.dims().begin(), shape.dims().end());
    repeated.value =
        batched
            ? row
            : repeated.value.reshaped(Shape(std::span<const int64_t>(dims)));
    repeated.samples_axis = 0;
  }
  const std::vector<int> order = order_of(repeated);
  const LayerHandle layer = layer_of(repeated.value, order);
  layer->set_name(name);
  return {view_of(layer(input), order), batched};
}

}  // namespace octet::io::importing
