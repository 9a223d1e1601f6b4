// Pooling.
#pragma once

#include <octet/layers/convolution.h>
#include <octet/layers/graph.h>

namespace octet {

/// Options of AveragePooling1D.
/// Fields in order: pool_size, strides, padding, name
struct AveragePooling1DOptions {
  Size1 pool_size = 2;  ///< length of the window, in [1, 2^20)
  Size1 strides = 0;    ///< step, in [1, 2^20); 0: the pool size
  /// "valid" (no padding), "same", or explicit steps, less than the window.
  Padding1D padding = Padding1D::valid;
  std::string name = "";  ///< unique in a model; empty: from the class name
};

/// Averages each window, excluding padding, as in Keras.
/// Shapes: [n,l,c] -> [n,ol,c].
/// Throws: ValueError for sizes < 1, strides < 0, causal padding, or padding at
/// least as long as the window; ShapeError for inputs other than sequences or
/// if the window does not fit.
class AveragePooling1D : public LayerHandle {
 public:
  /// Checks the options. Each call checks its inputs.
  explicit AveragePooling1D(const AveragePooling1DOptions& options = {});
};

/// Options of AveragePooling2D.
/// Fields in order: pool_size, strides, padding, name
struct AveragePooling2DOptions {
  Size2 pool_size{2, 2};  ///< height and width of the window, in [1, 2^20)
  /// Vertical and horizontal step, in [1, 2^20); {0, 0}: the pool size.
  Size2 strides{0, 0};
  /// "valid" (no padding), "same", or explicit pixels, less than the window.
  Padding padding = Padding::valid;
  std::string name = "";  ///< unique in a model; empty: from the class name
};

/// Averages each window, excluding padding, as in Keras.
/// Shapes: [n,h,w,c] -> [n,oh,ow,c].
/// Throws: ValueError for sizes < 1, strides < 0, a single stride of 0, or
/// padding at least as large as the window; ShapeError for inputs other than
/// images or if the window does not fit.
class AveragePooling2D : public LayerHandle {
 public:
  /// Checks the options. Each call checks its inputs.
  explicit AveragePooling2D(const AveragePooling2DOptions& options = {});
};

/// Options of MaxPooling1D.
/// Fields in order: pool_size, strides, padding, dilation_rate, name
struct MaxPooling1DOptions {
  Size1 pool_size = 2;  ///< length of the window, in [1, kMaxPoolCells]
  Size1 strides = 0;    ///< step, in [1, 2^20); 0: the pool size
  /// "valid" (no padding), "same", or explicit steps, less than the dilated
  /// window.
  Padding1D padding = Padding1D::valid;
  /// Window element spacing, in [1, 2^20). Not in Keras.
  Size1 dilation_rate = 1;
  std::string name = "";  ///< unique in a model; empty: from the class name
};

/// Returns the maximum of each window, as in Keras.
/// Shapes: [n,l,c] -> [n,ol,c].
/// Throws: ValueError for sizes < 1, strides < 0, causal padding, or padding at
/// least as long as the dilated window; UnsupportedError for windows of more
/// than kMaxPoolCells elements; ShapeError for inputs other than sequences or
/// if the window does not fit.
class MaxPooling1D : public LayerHandle {
 public:
  /// Checks the options. Each call checks its inputs.
  explicit MaxPooling1D(const MaxPooling1DOptions& options = {});
};

/// Options of MaxPooling2D.
/// Fields in order: pool_size, strides, padding, dilation_rate, name
struct MaxPooling2DOptions {
  /// Height and width of the window; at most kMaxPoolCells pixels.
  Size2 pool_size{2, 2};
  /// Vertical and horizontal step, in [1, 2^20); {0, 0}: the pool size.
  Size2 strides{0, 0};
  /// "valid" (no padding), "same", or explicit pixels, less than the dilated
  /// window.
  Padding padding = Padding::valid;
  /// Window element spacing, in [1, 2^20). Not in Keras.
  Size2 dilation_rate = 1;
  std::string name = "";  ///< unique in a model; empty: from the class name
};

/// Returns the maximum of each window, as in Keras.
/// Shapes: [n,h,w,c] -> [n,oh,ow,c].
/// Throws: ValueError for sizes < 1, strides < 0, a single stride of 0, or
/// padding at least as large as the dilated window; UnsupportedError for
/// windows of more than kMaxPoolCells elements; ShapeError for inputs other
/// than images or if the window does not fit.
class MaxPooling2D : public LayerHandle {
 public:
  /// Checks the options. Each call checks its inputs.
  explicit MaxPooling2D(const MaxPooling2DOptions& options = {});
};

/// Options of GlobalAveragePooling1D.
/// Fields in order: keepdims, name
struct GlobalAveragePooling1DOptions {
  bool keepdims = false;  ///< keeps axis l, with size 1
  std::string name = "";  ///< unique in a model; empty: from the class name
};

/// Averages each channel over the sequence, or over the steps with 1 in a mask,
/// which mask_of() provides; without any such step, the result is NaN.
/// Shapes: [n,l,c], or {[n,l,c], mask [n,l]} -> [n,c], or [n,1,c] with
/// keepdims. Throws: ShapeError for inputs other than sequences.
class GlobalAveragePooling1D : public LayerHandle {
 public:
  /// Each call checks its inputs.
  explicit GlobalAveragePooling1D(
      const GlobalAveragePooling1DOptions& options = {});
};

/// Options of GlobalAveragePooling2D.
/// Fields in order: keepdims, name
struct GlobalAveragePooling2DOptions {
  bool keepdims = false;  ///< keeps axes h and w, with size 1
  std::string name = "";  ///< unique in a model; empty: from the class name
};

/// Averages each channel over the image.
/// Shapes: [n,h,w,c] -> [n,c], or [n,1,1,c] with keepdims.
/// Throws: ShapeError for inputs other than images.
class GlobalAveragePooling2D : public LayerHandle {
 public:
  /// Each call checks its inputs.
  explicit GlobalAveragePooling2D(
      const GlobalAveragePooling2DOptions& options = {});
};

/// Options of GlobalMaxPooling1D.
/// Fields in order: keepdims, name
struct GlobalMaxPooling1DOptions {
  bool keepdims = false;  ///< keeps axis l, with size 1
  std::string name = "";  ///< unique in a model; empty: from the class name
};

/// Returns the maximum of each channel over the sequence.
/// Shapes: [n,l,c] -> [n,c], or [n,1,c] with keepdims.
/// Throws: ShapeError for inputs other than sequences.
class GlobalMaxPooling1D : public LayerHandle {
 public:
  /// Each call checks its inputs.
  explicit GlobalMaxPooling1D(const GlobalMaxPooling1DOptions& options = {});
};

/// Options of GlobalMaxPooling2D.
/// Fields in order: keepdims, name
struct GlobalMaxPooling2DOptions {
  bool keepdims = false;  ///< keeps axes h and w, with size 1
  std::string name = "";  ///< unique in a model; empty: from the class name
};

/// Returns the maximum of each channel over the image.
/// Shapes: [n,h,w,c] -> [n,c], or [n,1,1,c] with keepdims.
/// Throws: ShapeError for inputs other than images.
class GlobalMaxPooling2D : public LayerHandle {
 public:
  /// Each call checks its inputs.
  explicit GlobalMaxPooling2D(const GlobalMaxPooling2DOptions& options = {});
};

}  // namespace octet
