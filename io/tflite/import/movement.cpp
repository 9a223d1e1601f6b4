// Operators that move or select values, and resizing.
#include <algorithm>
#include <limits>
#include <optional>
#include <span>

#include <fmt/format.h>

#include "importer.h"

namespace octet::io::tflite {
namespace {

void add_one(OperatorCall& call, std::string_view class_name,
             const Config& config) {
  Importer& file = call.importer;
  file.set_value(call.output(),
                 file.add(class_name, config, {call.x()}, call.output()));
}

// Returns the product of the sizes behind the first, 0 for a product that is
// not a size.
int64_t product_of_tail(std::span<const int64_t> sizes) {
  int64_t product = 1;
  for (const int64_t size : sizes.subspan(1)) {
    if (size < 1 || __builtin_mul_overflow(product, size, &product)) return 0;
  }
  return product;
}

Config::List list_of(const std::vector<int64_t>& values) {
  return {values.begin(), values.end()};
}

}  // namespace

void convert_reshape(OperatorCall& call) {
  Importer& file = call.importer;
  std::vector<int64_t> sizes;
  if (call.has_input(1)) {
    sizes = file.integers(call.input(1));
  } else {
    const auto& list = call.options<schema::ReshapeOptionsT>().new_shape;
    sizes.assign(list.begin(), list.end());
  }
  if (sizes.empty()) call.refuse("the shape is missing");
  const Shape& x = call.x().shape();
  // A size of -1 is the batch only if the others are those of a sample.
  const bool open = std::ranges::count(sizes, -1) > (sizes[0] == -1 ? 1 : 0);
  const bool whole =
      sizes.size() > 1 &&
      (open ? sizes[0] == 1
            : (sizes[0] == 1 || sizes[0] == -1) &&
                  product_of_tail(sizes) == x.slice(1, x.rank()).size());
  if (!whole) {
    call.refuse(fmt::format("shape [{}] of {} moves the batch axis",
                            fmt::join(sizes, ","), x.to_string()));
  }
  sizes.erase(sizes.begin());
  if (sizes.size() == 1 && x.rank() > 2) {
    return add_one(call, "Flatten", Config(Config::Object()));
  }
  add_one(call, "Reshape", Config().set("target_shape", list_of(sizes)));
}

namespace {

// Entries before and after each axis, for padding without the batch.
std::vector<int64_t> pads_of(OperatorCall& call) {
  std::vector<int64_t> pads = call.importer.integers(call.input(1));
  if (std::ssize(pads) != 2 * call.x().shape().rank() || pads[0] != 0 ||
      pads[1] != 0) {
    call.refuse("padding of the batch axis has no layer");
  }
  return pads;
}

bool pads_images(const std::vector<int64_t>& pads) {
  return pads.size() == 8 && pads[6] == 0 && pads[7] == 0;
}

void add_pad(OperatorCall& call, const std::vector<int64_t>& pads,
             float value) {
  std::vector<int64_t> begin, end;
  for (size_t axis = 1; axis < pads.size() / 2; ++axis) {
    begin.push_back(pads[2 * axis]);
    end.push_back(pads[2 * axis + 1]);
  }
  add_one(call, "Pad",
          Config()
              .set("begin", list_of(begin))
              .set("end", list_of(end))
              .set("mode", "constant")
              .set("value", value));
}

// Adds a slice of an output of the operator.
void add_slice(OperatorCall& call, const SymbolicTensor& x,
               const std::vector<Index>& index, int32_t output) {
  Importer& file = call.importer;
  // The layer is created again with the name of the tensor.
  const Config config = x.index(index).node->layer->config();
  file.set_value(output, file.add("GetItem", config, {x}, output));
}

}  // namespace

void convert_pad(OperatorCall& call) {
  const std::vector<int64_t> pads = pads_of(call);
  if (!pads_images(pads)) return add_pad(call, pads, 0);
  add_one(
      call, "ZeroPadding2D",
      Config().set("padding", Config::List{Config::List{pads[2], pads[3]},
                                           Config::List{pads[4], pads[5]}}));
}

// The padding of maximum pools by the least value is part of the layer: as an
// activation it would extend the range of a calibration.
void convert_padv2(OperatorCall& call) {
  Importer& file = call.importer;
  const std::vector<int64_t> pads = pads_of(call);
  const float value = file.constant(call.input(2)).item();
  const FileQuant quant = file.quant(call.input(0));
  const float least =
      quant.scales.empty()
          ? std::numeric_limits<float>::lowest()
          : quant.scales[0] * static_cast<float>((quant.int16 ? -32768 : -128) -
                                                 quant.zero_point);
  const std::vector<schema::Op> consumers = file.consumers(call.output());
  const bool pools = std::ranges::all_of(
      consumers, [](schema::Op op) { return op == schema::Op::MAX_POOL_2D; });
  if (value > least || !pools || !pads_images(pads)) {
    return add_pad(call, pads, value);
  }
  file.set_pads(call.output(), {pads[2], pads[3], pads[4], pads[5]});
  file.alias(call.output(), call.input(0));
}

void convert_split(OperatorCall& call) {
  const std::vector<int64_t> list = call.importer.integers(call.input(0));
  const SymbolicTensor x = call.x(1);
  const int rank = x.shape().rank();
  const int64_t axis = list.size() != 1 ? 0
                       : list[0] < 0    ? list[0] + rank
                                        : list[0];
  const auto count = static_cast<int64_t>(call.op.outputs.size());
  if (axis < 1 || axis >= rank || count < 1 ||
      x.shape()[static_cast<int>(axis)] % count != 0) {
    call.refuse("only equal parts of an axis other than the batch");
  }
  const int64_t size = x.shape()[static_cast<int>(axis)] / count;
  for (int64_t k = 0; k < count; ++k) {
    std::vector<Index> index(static_cast<size_t>(axis), Slice());
    index.emplace_back(Slice(k * size, (k + 1) * size));
    add_slice(call, x, index, call.op.outputs[static_cast<size_t>(k)]);
  }
}

void convert_gather(OperatorCall& call) {
  const auto& o = call.options<schema::GatherOptionsT>();
  Importer& file = call.importer;
  const SymbolicTensor x = call.x();
  const int rank = x.shape().rank();
  const int axis = o.axis < 0 ? o.axis + rank : o.axis;
  if (axis < 1 || axis >= rank || o.batch_dims != 0 ||
      file.info(call.input(1)).shape.size() > 1) {
    call.refuse(
        "only constant indices with one axis, of an axis other than the batch");
  }
  const std::vector<int64_t> indices = file.integers(call.input(1));
  if (file.info(call.input(1)).shape.empty()) {
    std::vector<Index> index(static_cast<size_t>(axis), Slice());
    index.emplace_back(indices.at(0));
    return add_slice(call, x, index, call.output());
  }
  add_one(call, "Gather",
          Config().set("indices", list_of(indices)).set("axis", int64_t{axis}));
}

void convert_transpose(OperatorCall& call) {
  std::vector<int64_t> order = call.importer.integers(call.input(1));
  if (order.empty() || order[0] != 0) call.refuse("it moves the batch axis");
  order.erase(order.begin());
  add_one(call, "Permute", Config().set("dims", list_of(order)));
}

void convert_strided_slice(OperatorCall& call) {
  const auto& o = call.options<schema::StridedSliceOptionsT>();
  Importer& file = call.importer;
  const std::vector<int64_t> begin = file.integers(call.input(1));
  const std::vector<int64_t> end = file.integers(call.input(2));
  const std::vector<int64_t> step = file.integers(call.input(3));
  const Shape& x = call.x().shape();
  if (o.ellipsis_mask != 0 || o.new_axis_mask != 0 || o.offset ||
      std::ssize(begin) != x.rank() || begin.size() != end.size() ||
      begin.size() != step.size() || (o.begin_mask & o.end_mask & 1) == 0 ||
      (o.shrink_axis_mask & 1) != 0 || step[0] != 1) {
    call.refuse("only slices of whole batches by begin, end and step");
  }
  std::vector<Index> index{Slice()};
  for (int axis = 1; axis < x.rank(); ++axis) {
    const auto i = static_cast<size_t>(axis);
    const int bit = 1 << axis;
    const bool open = (o.begin_mask & bit) != 0;
    if ((o.shrink_axis_mask & bit) != 0) {
      index.emplace_back(!open ? begin[i] : step[i] < 0 ? -1 : 0);
      continue;
    }
    std::optional<int64_t> from, to;
    if (!open) from = begin[i];
    if ((o.end_mask & bit) == 0) to = end[i];
    index.emplace_back(Slice(from, to, step[i]));
  }
  add_slice(call, call.x(), index, call.output());
}

void convert_resize_nearest(OperatorCall& call) {
  const auto& o = call.options<schema::ResizeNearestNeighborOptionsT>();
  const std::vector<int64_t> size = call.importer.integers(call.input(1));
  const Shape& x = call.x().shape();
  const bool whole = x.rank() == 4 && size.size() == 2 && size[0] % x[1] == 0 &&
                     size[1] % x[2] == 0;
  if (!whole || o.align_corners || o.half_pixel_centers) {
    call.refuse(
        "only integer factors without align_corners and "
        "half_pixel_centers have a layer");
  }
  add_one(call, "UpSampling2D",
          Config()
              .set("size", Config::List{size[0] / x[1], size[1] / x[2]})
              .set("interpolation", "nearest"));
}

void convert_resize_bilinear(OperatorCall& call) {
  const auto& o = call.options<schema::ResizeBilinearOptionsT>();
  const std::vector<int64_t> size = call.importer.integers(call.input(1));
  if (size.size() != 2) call.refuse("invalid size");
  add_one(call, "Interpolate",
          Config()
              .set("height", size[0])
              .set("width", size[1])
              .set("mode", "bilinear")
              .set("coordinates", o.align_corners        ? "align_corners"
                                  : o.half_pixel_centers ? "half_pixel"
                                                         : "asymmetric")
              .set("cubic_coefficient", -0.75f));
}

}  // namespace octet::io::tflite
