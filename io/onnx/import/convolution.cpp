// Conv and ConvTranspose.
#include <algorithm>
#include <array>
#include <optional>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <octet/layers/convolution.h>
#include <octet/layers/ops.h>
#include <octet/runtime/error.h>

#include "converters.h"
#include "window_attributes.h"

namespace octet::io::importing {
namespace {

/// Transposes [o,i,kh,kw] to [kh,kw,i,o]; sequences have no kh.
Tensor kernel_of(const Tensor& w) {
  return w.shape().rank() == 3 ? w.transposed({2, 1, 0})
                               : w.transposed({2, 3, 1, 0});
}

/// Transposes [c*m,1,kh,kw] to [kh,kw,c,m].
Tensor depthwise_kernel_of(const Tensor& w, int64_t c) {
  const Shape& s = w.shape();
  if (s.rank() == 3) {
    return w.reshaped({c, s[0] / c, s[2]}).transposed({2, 0, 1});
  }
  return w.reshaped({c, s[0] / c, s[2], s[3]}).transposed({2, 3, 0, 1});
}

/// Whether all outputs of each of `channels` share a scale. If so, reduces the
/// scales to one for each channel.
bool share_scales(ImportedWeight& weight, int64_t channels) {
  if (!weight.qparams || !weight.qparams->per_channel) return true;
  std::vector<float>& scales = weight.qparams->scales;
  const size_t copies = scales.size() / static_cast<size_t>(channels);
  std::vector<float> shared;
  for (size_t i = 0; i < scales.size(); i += copies) {
    for (size_t j = i; j < i + copies; ++j) {
      if (scales[j] != scales[i]) return false;
    }
    shared.push_back(scales[i]);
  }
  scales = std::move(shared);
  return true;
}

Sizes spatial_sizes(const Tensor& w) {
  const auto dims = w.shape().dims().subspan(2);
  return {dims.begin(), dims.end()};
}

/// Sets the padding of a transposed convolution for output_shape or auto_pad.
/// Sizes beyond the sums of the windows are output_padding. Source: ONNX
/// ConvTranspose-11; ONNX Runtime, ComputeTransposePadsAndOutputShape.
void pad_to_output(const Conversion& c, const Shape& in,
                   WindowAttributes& window, Sizes& output_padding) {
  const std::string automatic = c.text("auto_pad", "NOTSET");
  const bool same = automatic.starts_with("SAME_");
  Sizes wanted = c.integers("output_shape");
  if (wanted.empty() && !same) return;
  const size_t axes = window.size.size();
  if (wanted.size() == axes + 2)
    wanted.erase(wanted.begin(), wanted.begin() + 2);
  if (!wanted.empty() && wanted.size() != axes) {
    c.refuse(fmt::format("output_shape must have {} sizes, got [{}]", axes,
                         fmt::join(wanted, ",")));
  }
  for (size_t i = 0; i < axes; ++i) {
    const int64_t size = in[static_cast<int>(i) + 1];
    const int64_t stride = window.strides[i];
    const int64_t reach = (window.size[i] - 1) * window.dilations[i] + 1;
    const int64_t target = wanted.empty() ? size * stride : wanted[i];
    const int64_t total =
        (size - 1) * stride + output_padding[i] + reach - target;
    const int64_t padding = std::max<int64_t>(total, 0);
    const bool upper = automatic == "SAME_UPPER";
    window.begin[i] = upper ? padding / 2 : padding - padding / 2;
    window.end[i] = padding - window.begin[i];
    // ONNX Runtime extends the output to output_shape only.
    if (!wanted.empty()) output_padding[i] += padding - total;
  }
}

/// Makes the window of a sequence that of an image with a single column.
void add_column(WindowAttributes& window) {
  for (Sizes* list : {&window.size, &window.strides, &window.dilations}) {
    list->push_back(1);
  }
  window.begin.push_back(0);
  window.end.push_back(0);
}

}  // namespace

void convert_conv(Conversion& c) {
  const Operand x = pixels_of(c, 0);
  const Shape& in = x.tensor.shape();
  ImportedWeight weight = c.weight(1, "kernel");
  const Shape w = weight.value.shape();
  if (w.rank() != in.rank()) {
    c.refuse(fmt::format("weight must have {} dimensions, got {}", in.rank(),
                         w.to_string()));
  }
  const int64_t groups = c.integer("group", 1);
  if (w.size() == 0 || groups < 1 || w[1] * groups != in[-1] ||
      w[0] % groups != 0) {
    c.refuse(fmt::format("weight {} does not fit {} channels in {} groups",
                         w.to_string(), in[-1], groups));
  }
  c.expect_scales(weight, 0);
  const WindowAttributes window = window_of(c, in, spatial_sizes(weight.value));
  // Grouped convolutions have a scale for each output.
  const bool depthwise =
      groups > 1 && groups == in[-1] && share_scales(weight, groups);
  if (depthwise) {
    weight.name = "depthwise_kernel";
    weight.value = depthwise_kernel_of(weight.value, groups);
  } else {
    weight.value = kernel_of(weight.value);
  }
  std::vector<ImportedWeight> weights{weight};
  if (c.has(2)) weights.push_back(c.channels(2, "bias", w[0]));
  const bool bias = weights.size() > 1;
  const auto layer = [&]() -> LayerHandle {
    if (in.rank() == 3 && depthwise) {
      return DepthwiseConv1D({.kernel_size = window.size[0],
                              .strides = window.strides[0],
                              .padding = window.padding_of_sequence(in),
                              .depth_multiplier = w[0] / groups,
                              .dilation_rate = window.dilations[0],
                              .use_bias = bias});
    }
    if (in.rank() == 3) {
      return Conv1D({.filters = w[0],
                     .kernel_size = window.size[0],
                     .strides = window.strides[0],
                     .padding = window.padding_of_sequence(in),
                     .dilation_rate = window.dilations[0],
                     .groups = groups,
                     .use_bias = bias});
    }
    if (depthwise) {
      return DepthwiseConv2D({.kernel_size = window.over(window.size),
                              .strides = window.over(window.strides),
                              .padding = window.padding(in),
                              .depth_multiplier = w[0] / groups,
                              .dilation_rate = window.over(window.dilations),
                              .use_bias = bias});
    }
    return Conv2D({.filters = w[0],
                   .kernel_size = window.over(window.size),
                   .strides = window.over(window.strides),
                   .padding = window.padding(in),
                   .dilation_rate = window.over(window.dilations),
                   .groups = groups,
                   .use_bias = bias});
  };
  c.set_output(channels_first(c.add(layer(), {x}, weights)));
}

// The output of Conv2DTranspose without output_padding has (size - 1) * stride
// + max(reach, stride) cells minus the padding; ONNX always has (size - 1) *
// stride + reach + output_padding minus the padding.
void convert_conv_transpose(Conversion& c) {
  const Operand x = pixels_of(c, 0);
  const Shape& in = x.tensor.shape();
  ImportedWeight weight = c.weight(1, "kernel");
  const Shape w = weight.value.shape();
  const int64_t groups = c.integer("group", 1);
  if (w.rank() != in.rank() || w[0] != in[-1] || groups < 1 ||
      in[-1] % groups != 0) {
    c.refuse(fmt::format("weight {} does not fit {} channels in {} groups",
                         w.to_string(), in[-1], groups));
  }
  c.expect_scales(weight, 1);
  WindowAttributes window = window_of(c, in, spatial_sizes(weight.value));
  const size_t axes = window.size.size();
  Sizes more = c.integers("output_padding");
  if (more.empty()) more.assign(axes, 0);
  if (more.size() != axes) {
    c.refuse(fmt::format("output_padding must have {} numbers, got [{}]", axes,
                         fmt::join(more, ",")));
  }
  pad_to_output(c, in, window, more);
  if (axes == 1) {
    add_column(window);
    more.push_back(0);
  }
  // output_padding usually cancels padding at the end.
  Sizes end = window.end;
  for (size_t i = 0; i < 2; ++i) {
    const int64_t reach = (window.size[i] - 1) * window.dilations[i] + 1;
    end[i] -= more[i] - std::max<int64_t>(window.strides[i] - reach, 0);
  }
  std::optional<Size2> output_padding;
  if (std::ranges::min(end) < 0) {
    if (more[0] >= window.strides[0] || more[1] >= window.strides[1]) {
      c.refuse(
          fmt::format("output_padding must be less than the strides, got {}",
                      fmt::join(more, ",")));
    }
    output_padding = window.over(more);
  } else {
    window.end = end;
  }
  weight.value =
      weight.value.reshaped({w[0], w[1], window.size[0], window.size[1]})
          .transposed({2, 3, 1, 0});
  const int64_t filters = w[1] * groups;
  std::vector<ImportedWeight> weights{weight};
  if (c.has(2)) weights.push_back(c.channels(2, "bias", filters));
  const Pads pads(window.begin[0], window.end[0], window.begin[1],
                  window.end[1]);
  const Conv2DTranspose layer(
      {.filters = filters,
       .kernel_size = window.over(window.size),
       .strides = window.over(window.strides),
       .padding = pads == Pads{} ? Padding::valid : Padding(pads),
       .dilation_rate = window.over(window.dilations),
       .output_padding = output_padding,
       .groups = groups,
       .use_bias = weights.size() > 1});
  if (axes == 2)
    return c.set_output(channels_first(c.add(layer, {x}, weights)));
  const Operand image{c.named(expand_dims(x.tensor, 2), {{x.tensor}}, "/image"),
                      x.qparams};
  const SymbolicTensor y = c.add(layer, {image}, weights);
  c.set_output(channels_first(c.named(squeeze(y, {2}), {{y}}, "/sequence")));
}

}  // namespace octet::io::importing
