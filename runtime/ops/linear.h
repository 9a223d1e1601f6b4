// Linear ops, y = x * w: convolutions and dense layers. A common node records
// them; each op supplies geometry and kernels.
#pragma once

#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include <octet/runtime/ops/nn.h>

#include "autograd/node.h"

namespace octet {

/// Number of weights from which partial sums of their gradient are avoided.
inline constexpr int64_t kLargeWeights = int64_t{1} << 18;

/// Unit of computation: rows [first, last) of a block of the output.
struct RowRange {
  int64_t block, first, last;
};

/// WindowStrides of neighboring outputs in an image of x, in elements (floats
/// or packed words): see kernels::ProductOf.
struct WindowStrides {
  std::vector<int64_t> segments;
  int64_t steps = 0;
  int64_t pixel = 0, line = 0;
};

/// Part of an output image: `rows` of `cols` pixels, channels [first, last).
struct OutputTile {
  int64_t rows, cols;
  int64_t first, last;
};

/// Kernels of a linear op. Work is divided into blocks (images, or runs of
/// rows) that are computed independently and in parallel; few blocks are
/// divided further into bands of rows.
class LinearKernels {
 public:
  LinearKernels(const Shape& y, int64_t block_count, int64_t rows = 1,
                int weight_axis = -1,
                const kernels::CodeTable& codes = kernels::table().codes)
      : output(y),
        blocks(block_count),
        block_rows(rows),
        axis(weight_axis),
        code_table(codes) {}
  virtual ~LinearKernels() = default;

  /// Packs the weight for forward().
  virtual std::vector<Tensor> pack(const Tensor& weight) const = 0;
  /// Packs the weight for the input gradient.
  virtual std::vector<Tensor> pack_transposed(const Tensor& weight) const = 0;
  /// Packs quantized weights for forward_codes() and activations with byte
  /// `zero_byte` for 0; empty if there is NaN.
  virtual std::vector<Tensor> pack_codes(const Tensor& /*codes*/,
                                         int /*zero_byte*/) const {
    return {};
  }
  /// Number of products per sum in forward_codes(); 0 without INT8 kernels.
  virtual int64_t code_products() const { return 0; }
  /// Identifies the packing: ops with equal layouts pack() a weight alike.
  virtual std::vector<int64_t> layout() const { return {}; }

  /// Computes a band of the output. The pointers of `y` are those of the band;
  /// its strides are set here.
  virtual void forward(const RowRange& band,
                       const autograd::ExpressionEvaluator& x,
                       const std::vector<Tensor>& panels,
                       kernels::Epilogue y) const = 0;
  /// forward() in integers, for quantized x. Returns false if x contains NaN:
  /// the output is then invalid.
  virtual bool forward_codes(const RowRange& /*band*/,
                             const autograd::ExpressionEvaluator& /*x*/,
                             const std::vector<Tensor>& /*panels*/,
                             kernels::Epilogue /*y*/) const {
    return false;
  }

  /// Whether the functions below, which take x as stored in memory, are
  /// available.
  virtual bool has_windows() const { return false; }
  /// The same op for n samples, if there are no windows.
  virtual std::shared_ptr<const LinearKernels> for_samples(
      int64_t /*n*/) const {
    return nullptr;
  }
  /// The same op on pairs of pixels with twice the channels, if each channel
  /// has its own filter, else null. Repeats the weights in `panels`.
  virtual std::shared_ptr<const LinearKernels> for_pairs(
      std::vector<Tensor>& /*panels*/) const {
    return nullptr;
  }
  /// The op as a convolution of the padded input with a kernel
  /// [size.h,size.w,c/groups,k]; empty for others.
  struct Convolution {
    Size2 size{1, 1}, strides{1, 1}, dilation{1, 1};
    int64_t groups = 1;
  };
  virtual std::optional<Convolution> convolution() const { return {}; }
  /// Padding around an image of x.
  virtual Pads padding() const { return {}; }
  /// WindowStrides in padded images with the given strides of rows and pixels.
  virtual WindowStrides windows(int64_t /*row*/, int64_t /*pixel*/,
                                bool /*codes*/) const {
    return {};
  }
  /// Distance of neighboring windows, if multiply() also accepts multiples of
  /// it and thereby skips outputs.
  struct Sampling {
    Size2 strides;
    bool pixels;  // windows are single pixels
  };
  virtual std::optional<Sampling> sampling() const { return {}; }
  /// Output pixels per window along each axis. OutputTile and RowRange begin at
  /// a multiple of them.
  virtual Size2 upsampling() const { return {1, 1}; }
  /// Whether channel ranges can be computed separately, in whole panels of
  /// kernels::CodeTable::panel.
  virtual bool splits_channels() const { return false; }
  /// Computes outputs through `y`, whose line and pixel are set here; `x` is
  /// the first element of the first window.
  virtual void multiply(const WindowStrides& /*windows*/, const float* /*x*/,
                        const OutputTile& /*outputs*/,
                        const std::vector<Tensor>& /*panels*/,
                        const kernels::Epilogue& /*y*/) const {}
  virtual void multiply_quantized(const WindowStrides& /*windows*/,
                                  const kernels::CodeWord* /*x*/,
                                  const OutputTile& /*outputs*/,
                                  const std::vector<Tensor>& /*panels*/,
                                  const kernels::Epilogue& /*y*/) const {}

  struct BlockGradient {
    int64_t block;
    const autograd::ExpressionEvaluator& x;
    const autograd::ExpressionEvaluator& dy;
    const std::vector<Tensor>& panels;  // from pack_transposed()
    const kernels::Epilogue* dx;        // of the block; null: not needed
    float* dw;                          // accumulated; null: not needed
  };
  virtual void backward(const BlockGradient& gradient) const = 0;
  /// The weight gradient if computed as a single sum over all blocks, in the
  /// weight's layout; empty if backward() accumulates it.
  virtual Tensor weight_gradient(const autograd::Expression& /*x*/,
                                 const autograd::Expression& /*dy*/) const {
    return {};
  }

  const Shape output;
  const int64_t blocks;
  const int64_t block_rows;              // rows that can be split into bands
  const int axis;                        // output channels in the weight
  const kernels::CodeTable& code_table;  // INT8 kernels for x
};

/// The fastest INT8 kernels for x if `possible` accepts them for the op, else
/// the general ones.
template <class Possible>
const kernels::CodeTable& code_table_for(const Variable& x, Possible possible) {
  const kernels::CodeTable& own =
      autograd::code_table_of(autograd::expression_of(x));
  return possible(own) ? own : kernels::table().codes;
}

/// Computes and records the op. Multiplies quantized values if x and the weight
/// are both quantized to at most 8 bits.
Variable linear(std::string_view op, const Variable& x, const Variable& weight,
                std::shared_ptr<const LinearKernels> kernels);

}  // namespace octet
