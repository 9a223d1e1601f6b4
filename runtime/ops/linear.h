// Linear ops, y = x * w: convolutions and dense layers. One node records them
// all; an op brings the geometry of its operands and the kernels that multiply.
#pragma once

#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include <octet/runtime/ops/window.h>

#include "../autograd/node.h"

namespace octet {

/// So many weights that partial sums of their gradient are worth avoiding.
inline constexpr int64_t kLargeWeights = int64_t{1} << 18;

/// What is computed at a time: rows [first, last) of a block of the output.
struct Band {
  int64_t block, first, last;
};

/// Where the windows of neighbouring outputs lie in an image of x, in elements
/// (floats, or words of codes): see kernels::ProductOf.
struct Windows {
  std::vector<int64_t> segments;
  int64_t steps = 0;
  int64_t pixel = 0, line = 0;
};

/// What is computed of an image: `rows` of `cols` pixels, and of them channels
/// [first, last).
struct Outputs {
  int64_t rows, cols;
  int64_t first, last;
};

/// What sets one linear op apart from another. The work falls into blocks
/// (images, or runs of rows) that are computed by themselves, in parallel;
/// where blocks are few, into bands of their rows.
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

  /// The weight as forward() reads it.
  virtual std::vector<Tensor> pack(const Tensor& weight) const = 0;
  /// The weight as the input's gradient reads it.
  virtual std::vector<Tensor> pack_transposed(const Tensor& weight) const = 0;
  /// Of the weight's codes as forward_codes() reads them, for x whose code 0 is
  /// that byte; empty if there is a NaN among them.
  virtual std::vector<Tensor> pack_codes(const Tensor& /*codes*/,
                                         int /*zero_byte*/) const {
    return {};
  }
  /// Of how many products of codes a sum is; 0: there are no pack_codes() and
  /// forward_codes().
  virtual int64_t code_products() const { return 0; }
  /// Ops with equal layouts pack() a weight to the same bits.
  virtual std::vector<int64_t> layout() const { return {}; }

  /// One band of the output. The pointers of `y` are the band's; its strides
  /// are set here.
  virtual void forward(const Band& band, const autograd::Reader& x,
                       const std::vector<Tensor>& panels,
                       kernels::Epilogue y) const = 0;
  /// The same in integers, for x on a grid. False if x held a NaN: then the
  /// output is of no use.
  virtual bool forward_codes(const Band& /*band*/,
                             const autograd::Reader& /*x*/,
                             const std::vector<Tensor>& /*panels*/,
                             kernels::Epilogue /*y*/) const {
    return false;
  }

  /// Whether what follows is there, which takes x as it lies in memory.
  virtual bool has_windows() const { return false; }
  /// Around an image of x.
  virtual Pads padding() const { return {}; }
  /// In padded images whose rows and pixels are so many elements apart.
  virtual Windows windows(int64_t /*row*/, int64_t /*pixel*/,
                          bool /*codes*/) const {
    return {};
  }
  /// How far apart the windows of neighbouring outputs lie, where multiply()
  /// takes them a multiple of that apart, too: it then skips outputs.
  struct Sampling {
    Size2 strides;
    bool pixels;  // windows are of one pixel
  };
  virtual std::optional<Sampling> sampling() const { return {}; }
  /// Whether channels may be computed by themselves, in whole panels of
  /// kernels::CodeTable::panel.
  virtual bool splits_channels() const { return false; }
  /// Through `y`, whose line and pixel are set here; `x` is the first element
  /// of the first window.
  virtual void multiply(const Windows& /*windows*/, const float* /*x*/,
                        const Outputs& /*outputs*/,
                        const std::vector<Tensor>& /*panels*/,
                        const kernels::Epilogue& /*y*/) const {}
  virtual void multiply_codes(const Windows& /*windows*/,
                              const kernels::CodeWord* /*x*/,
                              const Outputs& /*outputs*/,
                              const std::vector<Tensor>& /*panels*/,
                              const kernels::Epilogue& /*y*/) const {}

  struct BlockGradient {
    int64_t block;
    const autograd::Reader& x;
    const autograd::Reader& dy;
    const std::vector<Tensor>& panels;  // from pack_transposed()
    const kernels::Epilogue* dx;        // of the block; null: not wanted
    float* dw;                          // is added to; null: not wanted
  };
  virtual void backward(const BlockGradient& gradient) const = 0;
  /// The weight's gradient where it is one sum over all blocks, in the weight's
  /// order; empty where backward() adds it up.
  virtual Tensor weight_gradient(const autograd::Expression& /*x*/,
                                 const autograd::Expression& /*dy*/) const {
    return {};
  }

  const Shape output;
  const int64_t blocks;
  const int64_t block_rows;              // that can be computed by themselves
  const int axis;                        // of the weight's output channels
  const kernels::CodeTable& code_table;  // of x, where codes are multiplied
};

/// The table for codes of x, if `possible` says that it serves the op, else
/// that of all codes.
template <class Possible>
const kernels::CodeTable& code_table_for(const Variable& x, Possible possible) {
  const kernels::CodeTable& own =
      autograd::code_table_of(autograd::expression_of(x));
  return possible(own) ? own : kernels::table().codes;
}

/// Computes and records the op. Codes are multiplied where x and the weight
/// both lie on grids of at most 8 bits.
Variable linear(std::string_view op, const Variable& x, const Variable& weight,
                std::shared_ptr<const LinearKernels> kernels);

}  // namespace octet
