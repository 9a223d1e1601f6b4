// Layers that move or select values.
#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include <octet/runtime/error.h>

#include "lowering.h"

namespace octet::io::tflite {
namespace {

int32_t to_int32(int64_t size) { return static_cast<int32_t>(size); }

std::vector<int32_t> ints_of(const Config& list) {
  std::vector<int32_t> result;
  for (const Config& value : list.as_list()) {
    result.push_back(to_int32(value.as_int()));
  }
  return result;
}

// First and last padding of each axis: [[a,b],[c,d]] of an image, [a,b] of a
// sequence.
std::vector<Ends> ends_by_axis(const Config& config) {
  std::vector<Ends> result;
  const Config::List& list = config.as_list();
  if (!list.at(0).is_list()) {
    return {{list[0].as_int(), list.at(1).as_int()}};
  }
  for (const Config& ends : list) {
    result.push_back(
        {ends.as_list().at(0).as_int(), ends.as_list().at(1).as_int()});
  }
  return result;
}

Value pad(Lowering& call, const std::vector<Ends>& ends,
          std::optional<float> fill = std::nullopt) {
  const Value& x = call.inputs[0];
  std::vector<int32_t> pads{0, 0};
  for (const Ends& axis : ends) {
    pads.push_back(to_int32(axis.begin));
    pads.push_back(to_int32(axis.end));
  }
  pads.resize(static_cast<size_t>(2 * x.shape.rank()), 0);
  const Value y = call.add_output();
  call.add_pad(x, pads, fill, y);
  return y;
}

// A selection of each axis but the batch.
struct Selected {
  int64_t begin = 0, end = 0, step = 1;
  bool dropped = false;
};

Value strided_slice(Lowering& call, const std::vector<Selected>& axes) {
  const Value& x = call.inputs[0];
  std::vector<int32_t> begin{0}, end{0}, step{1};
  schema::StridedSliceOptionsT options;
  options.begin_mask = options.end_mask = 1;  // the whole batch
  for (size_t i = 0; i < axes.size(); ++i) {
    begin.push_back(to_int32(axes[i].begin));
    end.push_back(to_int32(axes[i].end));
    step.push_back(to_int32(axes[i].step));
    const int bit = 1 << (i + 1);
    if (axes[i].dropped) options.shrink_axis_mask |= bit;
    // An end before the first element.
    if (axes[i].end < 0) options.end_mask |= bit;
  }
  const Value y = call.add_output();
  const auto list = [&](const char* part, const std::vector<int32_t>& values) {
    return call.file.add_constant(call.part_name(part), values);
  };
  call.file.add_operator(
      schema::Op::STRIDED_SLICE, x.quant ? 2 : 1,
      {x.tensor, list("begin", begin), list("end", end), list("strides", step)},
      {y.tensor}, std::move(options));
  return y;
}

}  // namespace

Value lower_identity(Lowering& call) { return call.inputs[0]; }

Value lower_reshape(Lowering& call) {
  return call.reshaped(call.inputs[0], call.shape(), "");
}

Value lower_zero_padding(Lowering& call) {
  return pad(call, ends_by_axis(call.config.at("padding")));
}

Value lower_pad(Lowering& call) {
  const std::string mode = call.config.at("mode").as_string();
  if (mode != "constant") {
    throw UnsupportedError("unsupported_layer", call.layer.describe(),
                           fmt::format("mode {} has no operator", mode));
  }
  const Config::List& begin = call.config.at("begin").as_list();
  const Config::List& end = call.config.at("end").as_list();
  std::vector<Ends> ends;
  for (size_t i = 0; i < begin.size(); ++i) {
    ends.push_back({begin[i].as_int(), end.at(i).as_int()});
  }
  const auto value = static_cast<float>(call.config.at("value").as_number());
  if (value == 0) return pad(call, ends);
  const std::optional<Quant>& quant = call.inputs[0].quant;
  if (!quant) return pad(call, ends, value);
  const float q = std::nearbyint(value / quant->scale) +
                  static_cast<float>(quant->zero_point);
  return pad(call, ends,
             std::clamp(q, static_cast<float>(quant->lowest()),
                        static_cast<float>(quant->highest())));
}

Value lower_gather(Lowering& call) {
  const Value& x = call.inputs[0];
  schema::GatherOptionsT options;
  const auto axis = static_cast<int>(call.config.at("axis").as_int());
  options.axis = axis < 0 ? axis + x.shape.rank() : axis;
  std::vector<int32_t> indices = ints_of(call.config.at("indices"));
  for (int32_t& index : indices) {
    if (index < 0) index += to_int32(x.shape[options.axis]);
  }
  const Value y = call.add_output();
  call.file.add_operator(
      schema::Op::GATHER, x.quant ? 2 : 1,
      {x.tensor, call.file.add_constant(call.part_name("indices"), indices)},
      {y.tensor}, std::move(options));
  return y;
}

Value lower_cropping(Lowering& call) {
  const Shape& x = call.inputs[0].shape;
  const std::vector<Ends> ends = ends_by_axis(call.config.at("cropping"));
  std::vector<Selected> axes;
  for (int axis = 1; axis < x.rank(); ++axis) {
    const auto i = static_cast<size_t>(axis - 1);
    const Ends cut = i < ends.size() ? ends[i] : Ends{};
    axes.push_back({cut.begin, x[axis] - cut.end});
  }
  return strided_slice(call, axes);
}

Value lower_get_item(Lowering& call) {
  const Shape& x = call.inputs[0].shape;
  std::vector<Selected> axes;
  for (int axis = 1; axis < x.rank(); ++axis) axes.push_back({0, x[axis]});
  size_t axis = 0;
  const Config::List& index = call.config.at("index").as_list();
  for (size_t i = 1; i < index.size(); ++i) {
    const Config& each = index[i];
    if (!each.is_object()) {
      Selected& at = axes.at(axis++);
      const int64_t entry = each.as_int();
      const int64_t first = entry < 0 ? entry + at.end : entry;
      at = {first, first + 1, 1, true};
      continue;
    }
    if (each.at("class_name").as_string() == "__ellipsis__") {
      axis = axes.size() - (index.size() - i - 1);
      continue;
    }
    Selected& at = axes.at(axis++);
    const Config& slice = each.at("config");
    const auto bound = [&](const char* key, int64_t otherwise) {
      const Config& value = slice.at(key);
      if (value.is_null()) return otherwise;
      const int64_t place = value.as_int();
      return std::clamp<int64_t>(place < 0 ? place + at.end : place, 0, at.end);
    };
    const Config& step = slice.at("step");
    if (!step.is_null() && step.as_int() < 0) {
      throw UnsupportedError("unsupported_layer", call.layer.describe(),
                             "slices with negative steps have no operator");
    }
    at = {bound("start", 0), bound("stop", at.end),
          step.is_null() ? 1 : step.as_int()};
  }
  return strided_slice(call, axes);
}

Value lower_permute(Lowering& call) {
  const Value& x = call.inputs[0];
  std::vector<int32_t> order{0};
  for (const int32_t axis : ints_of(call.config.at("dims"))) {
    order.push_back(axis);
  }
  const Value y = call.add_output();
  call.file.add_operator(
      schema::Op::TRANSPOSE, x.quant ? 2 : 1,
      {x.tensor, call.file.add_constant(call.part_name("order"), order)},
      {y.tensor}, schema::TransposeOptionsT());
  return y;
}

Value lower_upsampling(Lowering& call) {
  const Value x = call.image_of(call.inputs[0]);
  const Config* kind = call.option("interpolation");
  if (kind == nullptr) kind = call.option("mode");
  const std::string mode = kind == nullptr ? "nearest" : kind->as_string();
  const std::string name = call.layer.class_name();
  const Config* coordinates = call.option("coordinates");
  const std::string places =
      coordinates == nullptr ? "half_pixel" : coordinates->as_string();
  const bool crops =
      name == "Resizing" && (call.config.at("crop_to_aspect_ratio").as_bool() ||
                             call.config.at("pad_to_aspect_ratio").as_bool());
  const bool nearest = mode == "nearest" && name != "Resizing";
  if (crops || (!nearest && mode != "bilinear")) {
    throw UnsupportedError(
        "unsupported_layer", call.layer.describe(),
        fmt::format("{} resizing has no operator of the same result", mode));
  }
  const Shape& s = call.shape();
  const bool sequence = s.rank() == 3;
  const Shape image = sequence ? Shape{s[0], 1, s[1], s[2]} : s;
  const Value y =
      sequence ? call.add_part("output", image, call.quant) : call.add_output();
  const std::vector<int32_t> size{to_int32(image[1]), to_int32(image[2])};
  const std::vector<int> inputs{
      x.tensor, call.file.add_constant(call.part_name("size"), size)};
  if (nearest) {
    call.file.add_operator(schema::Op::RESIZE_NEAREST_NEIGHBOR, x.quant ? 2 : 1,
                           inputs, {y.tensor},
                           schema::ResizeNearestNeighborOptionsT());
  } else {
    schema::ResizeBilinearOptionsT options;
    options.align_corners = places == "align_corners";
    options.half_pixel_centers = places == "half_pixel";
    call.file.add_operator(schema::Op::RESIZE_BILINEAR, 3, inputs, {y.tensor},
                           std::move(options));
  }
  return call.sequence_of(y, s);
}

}  // namespace octet::io::tflite
