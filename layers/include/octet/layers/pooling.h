// Pooling.
#pragma once

#include <octet/layers/graph.h>
#include <octet/layers/padding.h>

namespace octet {

/// Fields in order: pool_size, strides, padding, name
struct AveragePooling1DOptions {
  Size1 pool_size = 2;
  Size1 strides = 0;  ///< 0 uses the pool size
  Padding1D padding = Padding1D::valid;
  std::string name = "";
};

/// Averages each window, excluding padding, as in Keras.
/// Shapes: [n,l,c] -> [n,ol,c].
/// Throws: ValueError for sizes < 1, strides < 0 or causal padding; ShapeError
/// for inputs other than sequences or if the window does not fit.
class AveragePooling1D : public LayerHandle {
 public:
  explicit AveragePooling1D(const AveragePooling1DOptions& options = {});
};

/// Fields in order: pool_size, strides, padding, name
struct AveragePooling2DOptions {
  Size2 pool_size{2, 2};
  Size2 strides{0, 0};  ///< 0 uses the pool size
  Padding padding = Padding::valid;
  std::string name = "";
};

/// Averages each window, excluding padding, as in Keras.
/// Shapes: [n,h,w,c] -> [n,oh,ow,c].
/// Throws: ValueError for sizes < 1 or strides < 0; ShapeError for inputs other
/// than images or if the window does not fit.
class AveragePooling2D : public LayerHandle {
 public:
  explicit AveragePooling2D(const AveragePooling2DOptions& options = {});
};

/// Fields in order: pool_size, strides, padding, dilation_rate, name
struct MaxPooling1DOptions {
  Size1 pool_size = 2;
  Size1 strides = 0;  ///< 0 uses the pool size
  Padding1D padding = Padding1D::valid;
  Size1 dilation_rate = 1;  ///< distance of neighboring cells; not in Keras
  std::string name = "";
};

/// Returns the maximum of each window, as in Keras.
/// Shapes: [n,l,c] -> [n,ol,c].
/// Throws: ValueError for sizes < 1, strides < 0 or causal padding; ShapeError
/// for inputs other than sequences or if the window does not fit.
class MaxPooling1D : public LayerHandle {
 public:
  explicit MaxPooling1D(const MaxPooling1DOptions& options = {});
};

/// Fields in order: pool_size, strides, padding, dilation_rate, name
struct MaxPooling2DOptions {
  Size2 pool_size{2, 2};
  Size2 strides{0, 0};  ///< 0 uses the pool size
  Padding padding = Padding::valid;
  Size2 dilation_rate = 1;  ///< distance of neighboring cells; not in Keras
  std::string name = "";
};

/// Returns the maximum of each window, as in Keras.
/// Shapes: [n,h,w,c] -> [n,oh,ow,c].
/// Throws: ValueError for sizes < 1 or strides < 0; ShapeError for inputs other
/// than images or if the window does not fit.
class MaxPooling2D : public LayerHandle {
 public:
  explicit MaxPooling2D(const MaxPooling2DOptions& options = {});
};

/// Fields in order: keepdims, name
struct GlobalAveragePooling1DOptions {
  bool keepdims = false;  ///< keeps axis l, with size 1
  std::string name = "";
};

/// Averages each channel over the sequence.
/// Shapes: [n,l,c] -> [n,c], or [n,1,c] with keepdims.
/// Throws: ShapeError for inputs other than sequences.
class GlobalAveragePooling1D : public LayerHandle {
 public:
  explicit GlobalAveragePooling1D(
      const GlobalAveragePooling1DOptions& options = {});
};

/// Fields in order: keepdims, name
struct GlobalAveragePooling2DOptions {
  bool keepdims = false;  ///< keeps axes h and w, with size 1
  std::string name = "";
};

/// Averages each channel over the image.
/// Shapes: [n,h,w,c] -> [n,c], or [n,1,1,c] with keepdims.
/// Throws: ShapeError for inputs other than images.
class GlobalAveragePooling2D : public LayerHandle {
 public:
  explicit GlobalAveragePooling2D(
      const GlobalAveragePooling2DOptions& options = {});
};

/// Fields in order: keepdims, name
struct GlobalMaxPooling1DOptions {
  bool keepdims = false;  ///< keeps axis l, with size 1
  std::string name = "";
};

/// Returns the maximum of each channel over the sequence.
/// Shapes: [n,l,c] -> [n,c], or [n,1,c] with keepdims.
/// Throws: ShapeError for inputs other than sequences.
class GlobalMaxPooling1D : public LayerHandle {
 public:
  explicit GlobalMaxPooling1D(const GlobalMaxPooling1DOptions& options = {});
};

/// Fields in order: keepdims, name
struct GlobalMaxPooling2DOptions {
  bool keepdims = false;  ///< keeps axes h and w, with size 1
  std::string name = "";
};

/// Returns the maximum of each channel over the image.
/// Shapes: [n,h,w,c] -> [n,c], or [n,1,1,c] with keepdims.
/// Throws: ShapeError for inputs other than images.
class GlobalMaxPooling2D : public LayerHandle {
 public:
  explicit GlobalMaxPooling2D(const GlobalMaxPooling2DOptions& options = {});
};

}  // namespace octet
