// Models with a single image input.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <octet/runtime/tensor.h>

#include "data_options.h"
#include "predictor.h"

namespace octet::program {

/// Image input of a model.
struct ImageInput {
  Shape shape;  ///< [h,w,c]
  bool channels_first = false;
  bool bytes = false;  ///< u8
};

/// A model that predicts images in the layout [n,h,w,c].
class ImageModel {
 public:
  /// Loads the model. --input-shape is the image size of an ONNX file with
  /// dynamic sizes.
  /// Throws: ValueError for a model without a single image input; as
  /// load_predictor().
  explicit ImageModel(const ModelSource& source);

  /// Returns the requirements for the images.
  DataTarget target() const;
  /// Returns the mode of --preprocess, or its default.
  /// Throws: ValueError for another mode than "none" if the input is bytes.
  std::string preprocess_mode(const DataOptions& options,
                              const DataTarget& target) const;
  const std::vector<std::string>& outputs() const { return model_.outputs; }
  /// Returns the batch size: that of the file, `asked` if > 0, or a default.
  int64_t batch(int64_t asked) const;
  /// Returns the outputs, [n,...] each, of at most batch() images.
  /// Shapes: images f32 [n,h,w,c].
  std::vector<Tensor> predict(const Tensor& images) const;

 private:
  ModelSource source_;
  Predictor model_;
  ImageInput input_;
};

}  // namespace octet::program
