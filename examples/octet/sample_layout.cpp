#include "sample_layout.h"

#include <algorithm>
#include <span>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <octet/runtime/error.h>

#include "choice.h"

namespace octet::program {
namespace {

/// An axis order and its name.
struct Candidate {
  const std::vector<int>* axes;
  std::string name;
};

/// Returns whether x has the wanted shape in that order, ignoring the batch
/// size.
bool fits(const Shape& x, const Shape& shape, const std::vector<int>& axes) {
  if (x.rank() != shape.rank() || std::ssize(axes) != shape.rank()) {
    return false;
  }
  for (int i = 1; i < shape.rank(); ++i) {
    const int64_t size = x[axes[static_cast<size_t>(i)]];
    if (shape[i] != Shape::kAnySize && shape[i] != size) return false;
  }
  return true;
}

/// Returns the order without axes of size 1, whose position is irrelevant.
std::vector<int> order_of_values(const Shape& x, const std::vector<int>& axes) {
  std::vector<int> order;
  for (const int axis : axes) {
    if (axis > 0 && x[axis] != 1) order.push_back(axis);
  }
  return order;
}

bool is_in_order(const std::vector<int>& axes) {
  return std::ranges::is_sorted(axes);
}

/// Returns the orders to try, in sequence.
std::vector<Candidate> candidates(const AxisOrders& orders,
                                  io::OnnxLayout layout) {
  const int rank = orders.shape.rank();
  const Candidate first{&orders.channels_first, rank == 4 ? "NCHW" : "NCL"};
  const Candidate last{&orders.channels_last, rank == 4 ? "NHWC" : "NLC"};
  Candidate own{&orders.own, "the order of the model file"};
  for (const Candidate& known : {first, last}) {
    if (*own.axes == *known.axes) own.name = known.name;
  }
  if (layout == io::OnnxLayout::channels_first) return {first, own, last};
  if (layout == io::OnnxLayout::channels_last) return {last, own, first};
  return {own, last, first};
}

/// Returns the order `of` relative to a tensor in the order `from`.
std::vector<int> seen_from(const std::vector<int>& of,
                           const std::vector<int>& from) {
  std::vector<int> axes(of.size());
  for (size_t i = 0; i < of.size(); ++i) {
    axes[static_cast<size_t>(from[i])] = of[i];
  }
  return axes;
}

const AxisOrders* find(const std::vector<AxisOrders>& orders,
                       const std::string& name, size_t place) {
  if (orders.size() == 1) return orders.data();
  if (name.empty()) return place < orders.size() ? &orders[place] : nullptr;
  const auto found = std::ranges::find_if(
      orders, [&](const AxisOrders& each) { return each.port == name; });
  return found == orders.end() ? nullptr : &*found;
}

/// Rejects labels with the size of an output but other axes if the model file
/// has another axis order than the model: later messages would name the wrong
/// order.
/// Throws: ValueError.
void check_arrangement(const Tensor& labels, const AxisOrders& output) {
  const Shape& shape = output.shape;
  const std::vector<int>& own = output.own;
  if (labels.dtype() != DType::f32 || labels.shape().rank() < 1 ||
      labels.shape().rank() == shape.rank() || is_in_order(own) ||
      std::ranges::count(shape.dims().subspan(1), Shape::kAnySize) > 0) {
    return;
  }
  std::vector<int64_t> sizes(own.size() - 1);
  for (size_t i = 1; i < own.size(); ++i) {
    sizes[static_cast<size_t>(own[i]) - 1] = shape[static_cast<int>(i)];
  }
  const int64_t n = labels.shape()[0];
  if (labels.size() != n * Shape(sizes).size()) return;
  throw ValueError(
      "shape_mismatch", "--labels",
      fmt::format("output '{}' of the file is [N,{}], got labels {}. Hint: if "
                  "the values have that order, labels.reshape({}, {})",
                  output.port, fmt::join(sizes, ","),
                  labels.shape().to_string(), n, fmt::join(sizes, ", ")));
}

std::vector<NamedTensor> in_order(std::vector<Tensor> tensors,
                                  const std::vector<TensorSpec>& specs,
                                  const std::vector<AxisOrders>& orders,
                                  io::OnnxLayout layout) {
  std::vector<NamedTensor> result;
  for (size_t i = 0; i < tensors.size(); ++i) {
    const AxisOrders* wanted = find(orders, specs[i].name, i);
    if (wanted != nullptr) {
      if (wanted->kind == "output") check_arrangement(tensors[i], *wanted);
      tensors[i] = in_wanted_order(tensors[i], *wanted, layout);
    }
    result.emplace_back(specs[i].name, std::move(tensors[i]));
  }
  return result;
}

}  // namespace

void add_layout_option(Command& command, std::optional<std::string>& layout,
                       const char* help) {
  command.add("--layout", layout, help).type("nchw|nhwc");
}

io::OnnxLayout layout_of(const std::optional<std::string>& layout) {
  if (!layout) return io::OnnxLayout::as_given;
  return choice<io::OnnxLayout, 2>("--layout", *layout,
                                   {{{"nchw", io::OnnxLayout::channels_first},
                                     {"nhwc", io::OnnxLayout::channels_last}}});
}

AxisOrders orders_for_model(std::string kind, std::string port,
                            const Shape& shape, const std::vector<int>& file) {
  const int rank = shape.rank();
  AxisOrders orders{std::move(kind),
                    std::move(port),
                    shape,
                    file,
                    io::channels_first_axes(rank),
                    io::channels_last_axes(rank)};
  if (std::ssize(file) != rank) orders.own = orders.channels_last;
  return orders;
}

AxisOrders orders_for_file(std::string port, const Shape& shape,
                           const std::vector<int>& file) {
  const int rank = shape.rank();
  return {"input",
          std::move(port),
          shape,
          io::channels_last_axes(rank),
          seen_from(io::channels_first_axes(rank), file),
          seen_from(io::channels_last_axes(rank), file)};
}

std::vector<int> likely_axes(const Shape& shape) {
  constexpr int64_t kMostChannels = 4;  // of an image
  const int rank = shape.rank();
  const auto few = [&](int axis) {
    return shape[axis] >= 1 && shape[axis] <= kMostChannels;
  };
  return rank == 4 && few(3) && !few(1) ? io::channels_last_axes(rank)
                                        : io::channels_first_axes(rank);
}

bool fits_several(const Shape& shape) {
  if (shape.rank() != 3 && shape.rank() != 4) return false;
  for (int axis = 2; axis < shape.rank(); ++axis) {
    if (shape[axis] != shape[1] || shape[axis] == 1) return false;
  }
  return true;
}

std::vector<AxisOrders> orders_of(const char* kind,
                                  std::span<const SymbolicTensor> tensors,
                                  const std::vector<std::string>& names,
                                  const std::vector<io::OnnxPort>& ports) {
  std::vector<AxisOrders> orders;
  for (size_t i = 0; i < tensors.size(); ++i) {
    orders.push_back(orders_for_model(
        kind, names.at(i), tensors[i].shape(),
        i < ports.size() ? ports[i].axes : std::vector<int>()));
  }
  return orders;
}

Tensor in_wanted_order(const Tensor& x, const AxisOrders& orders,
                       io::OnnxLayout layout) {
  std::vector<Candidate> fitting;
  for (const Candidate& candidate : candidates(orders, layout)) {
    if (fits(x.shape(), orders.shape, *candidate.axes)) {
      fitting.push_back(candidate);
    }
  }
  if (fitting.empty()) return x;
  const std::vector<int>& axes = *fitting[0].axes;
  const std::vector<int> order = order_of_values(x.shape(), axes);
  const auto other =
      std::ranges::find_if(fitting, [&](const Candidate& candidate) {
        return order_of_values(x.shape(), *candidate.axes) != order;
      });
  if (other != fitting.end() && layout == io::OnnxLayout::as_given) {
    warn("ambiguous_layout", fmt::format("{} '{}'", orders.kind, orders.port),
         fmt::format("shape {} fits {} and {}, using {}. Hint: set --layout "
                     "nchw or --layout nhwc",
                     x.shape().to_string(), fitting[0].name, other->name,
                     fitting[0].name));
  }
  return is_in_order(axes) ? x : x.transposed(axes);
}

Dataset in_wanted_order(const Dataset& data,
                        const std::vector<AxisOrders>& inputs,
                        const std::vector<AxisOrders>& outputs,
                        io::OnnxLayout layout) {
  Batch all = data.batch(0, data.size());
  std::vector<NamedTensor> x =
      in_order(std::move(all.inputs), data.input_specs(), inputs, layout);
  if (all.labels.empty()) return Dataset::unlabeled(std::move(x));
  return Dataset(std::move(x), in_order(std::move(all.labels),
                                        data.label_specs(), outputs, layout));
}

}  // namespace octet::program
