#include "lowering.h"

#include <algorithm>
#include <limits>

#include <fmt/format.h>

#include <octet/runtime/error.h>

namespace octet::io::tflite {
namespace {

Size2 size_of(const Config* config, Size2 otherwise) {
  if (config == nullptr || config->is_null()) return otherwise;
  if (!config->is_list()) return {config->as_int(), config->as_int()};
  const Config::List& list = config->as_list();
  if (list.size() == 1) return {1, list[0].as_int()};
  return {list.at(0).as_int(), list.at(1).as_int()};
}

Pads pads_of(const Config::List& list) {
  if (!list.at(0).is_list()) {
    return {0, 0, list[0].as_int(), list.at(1).as_int()};
  }
  const Config::List& rows = list[0].as_list();
  const Config::List& columns = list.at(1).as_list();
  return {rows.at(0).as_int(), rows.at(1).as_int(), columns.at(0).as_int(),
          columns.at(1).as_int()};
}

bool is_none(const Pads& p) {
  return p.top == 0 && p.bottom == 0 && p.left == 0 && p.right == 0;
}

Shape dims(std::initializer_list<int64_t> sizes) { return Shape(sizes); }

}  // namespace

Quant quant_of(const quant::Quantizer& quantizer) {
  const QuantParams qparams = quantizer.qparams({}, -1);
  const int values = qparams.high - qparams.low + 1;
  if (qparams.low == -32768 && values == 65536) {
    return {qparams.scale.item(), 0, true};
  }
  if (values != 256) {
    throw ValueError(
        "unsupported_value", fmt::format("quantizer '{}'", quantizer.name()),
        fmt::format("activations of TensorFlow Lite have 8 bits, or 16 with "
                    "zero point 0, got {}. Hint: 8 bits, or --bits for weights "
                    "only",
                    quant::range_text(quantizer.config())));
  }
  const Quant quant{qparams.scale.item(), -128 - qparams.low};
  if (quant.zero_point < -128 || quant.zero_point > 127) {
    throw ValueError("out_of_range",
                     fmt::format("quantizer '{}'", quantizer.name()),
                     fmt::format("zero point must be in [-128,127], got {}",
                                 quant.zero_point));
  }
  return quant;
}

schema::Activation Lowering::activation() const {
  const std::string own = layer.facts().activation;
  if (own == "relu") return schema::Activation::RELU;
  if (own == "relu6") return schema::Activation::RELU6;
  if (own == "linear") return fused;
  throw UnsupportedError(
      "unsupported_layer", layer.describe(),
      fmt::format("activation {} is no part of an operator of TensorFlow Lite. "
                  "Hint: quant::tflite_form() separates it",
                  own));
}

const Config* Lowering::option(std::string_view key) const {
  return config.find(key);
}

Value Lowering::add_output(const Shape& output) const {
  return file.add_value(name, output, quant);
}

std::string Lowering::part_name(std::string_view part) const {
  return fmt::format("{}/{}", name, part);
}

Value Lowering::add_part(std::string_view part, const Shape& output,
                         const std::optional<Quant>& parameters) const {
  return file.add_value(part_name(part), output, parameters);
}

Value Lowering::reshaped(const Value& x, const Shape& to,
                         std::string_view part) {
  std::vector<int32_t> sizes;
  for (const int64_t size : to.dims()) {
    sizes.push_back(static_cast<int32_t>(size));
  }
  sizes[0] = -1;
  const Value y =
      file.add_value(part.empty() ? name : part_name(part), to, x.quant);
  schema::ReshapeOptionsT options;
  options.new_shape = sizes;
  const int shape_constant = file.add_constant(part_name("shape"), sizes);
  file.add_operator(schema::Op::RESHAPE, 1, {x.tensor, shape_constant},
                    {y.tensor}, std::move(options));
  return y;
}

Value Lowering::image_of(const Value& x) {
  if (x.shape.rank() != 3) return x;
  const auto found = images.find(x.tensor);
  if (found != images.end()) return found->second;
  const Shape& s = x.shape;
  const Value image = reshaped(x, dims({s[0], 1, s[1], s[2]}), "image");
  images.emplace(x.tensor, image);
  return image;
}

Value Lowering::sequence_of(const Value& image, const Shape& to) {
  if (to.rank() == 4) return image;
  const Value sequence = reshaped(image, to, "sequence");
  images.emplace(sequence.tensor, image);
  return sequence;
}

FileWindow Lowering::window(const Shape& image,
                            std::string_view size_key) const {
  FileWindow w;
  w.size = size_of(option(size_key), {1, 1});
  w.strides = size_of(option("strides"), w.size);
  w.dilation = size_of(option("dilation_rate"), {1, 1});
  // A single number counts for both axes of an image, one of a sequence.
  if (node.inputs[0].shape().rank() == 3) {
    w.size.h = w.strides.h = w.dilation.h = 1;
  }
  const Size2 pixels{image[1], image[2]};
  const Pads same = Padding::same.pads(pixels, w.size, w.strides, w.dilation);
  const Config& padding = config.at("padding");
  if (padding.is_list()) {
    w.pads = pads_of(padding.as_list());
  } else if (padding.as_string() == "same") {
    w.pads = same;
  } else if (padding.as_string() == "causal") {
    w.pads = {0, 0, (w.size.w - 1) * w.dilation.w, 0};
  }
  w.same = !is_none(w.pads) && w.pads == same;
  return w;
}

void Lowering::add_pad(const Value& x, std::span<const int32_t> ends,
                       std::optional<float> fill, const Value& y) {
  const int pads_constant = file.add_constant(
      part_name("pads"), Tensor::of<int32_t>({x.shape.rank(), 2}, ends));
  if (!fill) {
    file.add_operator(schema::Op::PAD, x.quant ? 2 : 1,
                      {x.tensor, pads_constant}, {y.tensor},
                      schema::PadOptionsT());
    return;
  }
  const int value =
      x.quant ? file.add_scalar(part_name("fill"), static_cast<int>(*fill),
                                *x.quant)
              : file.add_constant(part_name("fill"), Tensor::scalar(*fill));
  file.add_operator(schema::Op::PADV2, 2, {x.tensor, pads_constant, value},
                    {y.tensor}, schema::PadV2OptionsT());
}

Value Lowering::padded(const Value& x, FileWindow& w,
                       std::optional<float> fill) {
  if (w.same || is_none(w.pads)) return x;
  const Shape& s = x.shape;
  const Pads& p = w.pads;
  const auto n = [](int64_t size) { return static_cast<int32_t>(size); };
  const std::vector<int32_t> ends{0,         0,          n(p.top), n(p.bottom),
                                  n(p.left), n(p.right), 0,        0};
  const Value y = add_part(
      "padded", {s[0], s[1] + p.top + p.bottom, s[2] + p.left + p.right, s[3]},
      x.quant);
  add_pad(x, ends, fill, y);
  w.pads = {};
  return y;
}

}  // namespace octet::io::tflite
