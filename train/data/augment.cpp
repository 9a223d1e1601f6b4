#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <octet/runtime/error.h>
#include <octet/runtime/parallel.h>
#include <octet/train/data_loader.h>

#include "image_transform.h"
#include "losses/accuracy.h"

namespace octet::train {
namespace {

/// Returns the image input of a batch: its only input of rank 4.
Tensor& images_of(const std::string& transform, Batch& batch) {
  Tensor* found = nullptr;
  for (Tensor& input : batch.inputs) {
    if (input.shape().rank() != 4) continue;
    if (found != nullptr) {
      throw ValueError(
          "count_mismatch", transform,
          fmt::format("the batch has several image inputs. Hint: select inputs "
                      "with on_inputs({{0, 1}}, {}())",
                      transform));
    }
    found = &input;
  }
  if (found == nullptr) {
    throw ShapeError("invalid_shape", transform,
                     fmt::format("expected images [n,h,w,c], got {}",
                                 batch.inputs.empty()
                                     ? "no inputs"
                                     : batch.inputs[0].shape().to_string()));
  }
  return *found;
}

/// Whether labels are maps of the images' size: [n,h,w] or [n,h,w,c].
bool are_maps(const Shape& labels, const Shape& images) {
  return (labels.rank() == 3 || labels.rank() == 4) && labels[1] == images[1] &&
         labels[2] == images[2];
}

class ImageTransform final : public Transform {
 public:
  ImageTransform(std::string name, Changes what, ChangeImage change,
                 CheckSize check)
      : name_(std::move(name)),
        what_(what),
        change_(std::move(change)),
        check_(std::move(check)) {}

  void apply(Batch& batch, const SampleStreams& streams) const override {
    Tensor& images = images_of(name_, batch);
    if (images.shape().size() == 0) return;
    if (check_) check_(images.shape()[1], images.shape()[2]);
    change(images, streams);
    if (what_ == Changes::values) return;
    for (Tensor& labels : batch.labels) {
      if (!are_maps(labels.shape(), images.shape())) continue;
      if (labels.dtype() == DType::i64) {
        labels = moved_classes(labels, streams);
      } else {
        labels = labels.clone();
        change(labels, streams);
      }
    }
  }

 private:
  /// Shapes: i64 [n,h,w] or [n,h,w,c]. Classes must be exact in f32.
  Tensor moved_classes(const Tensor& labels,
                       const SampleStreams& streams) const {
    Tensor numbers = as_numbers(labels);
    change(numbers, streams, true);
    Tensor result(labels.shape(), DType::i64);
    std::ranges::transform(std::as_const(numbers).f32(),
                           result.data<int64_t>().begin(),
                           [](float x) { return static_cast<int64_t>(x); });
    return result;
  }

  /// Shapes: [n,h,w] or [n,h,w,c].
  void change(Tensor& images, const SampleStreams& streams,
              bool classes = false) const {
    const Shape& shape = images.shape();
    float* pixels = images.f32().data();
    const int64_t channels = shape.rank() == 4 ? shape[3] : 1;
    const int64_t length = shape[1] * shape[2] * channels;
    parallel_chunks(shape[0], [&](int64_t first, int64_t last, int64_t) {
      Scratch scratch;
      for (int64_t i = first; i < last; ++i) {
        Rng rng = streams[i];
        change_({pixels + i * length, shape[1], shape[2], channels, classes},
                rng, scratch);
      }
    });
  }

  std::string name_;
  Changes what_;
  ChangeImage change_;
  CheckSize check_;
};

class OnInputs final : public Transform {
 public:
  OnInputs(std::vector<size_t> inputs, std::shared_ptr<const Transform> change)
      : inputs_(std::move(inputs)), change_(std::move(change)) {
    if (inputs_.empty() || change_ == nullptr) {
      throw ValueError("missing_value", "on_inputs",
                       inputs_.empty() ? "inputs must not be empty"
                                       : "the transform must not be null");
    }
  }

  void apply(Batch& batch, const SampleStreams& streams) const override {
    for (const size_t input : inputs_) {
      if (input >= batch.inputs.size()) {
        throw ValueError("out_of_range", "on_inputs",
                         fmt::format("input index must be in [0, {}), got {}",
                                     batch.inputs.size(), input));
      }
      // Labels are transformed with the first input.
      const bool first = input == inputs_[0];
      Batch one({batch.inputs[input]},
                first ? batch.labels : std::vector<Tensor>(), batch.weights);
      change_->apply(one, streams);
      batch.inputs[input] = one.input();
      if (first) {
        batch.labels = one.labels;
        batch.weights = one.weights;
      }
    }
  }

 private:
  std::vector<size_t> inputs_;
  std::shared_ptr<const Transform> change_;
};

}  // namespace

std::shared_ptr<const Transform> image_transform(std::string name, Changes what,
                                                 ChangeImage change,
                                                 CheckSize check) {
  return std::make_shared<ImageTransform>(std::move(name), what,
                                          std::move(change), std::move(check));
}

std::shared_ptr<const Transform> on_inputs(
    std::vector<size_t> inputs, std::shared_ptr<const Transform> change) {
  return std::make_shared<OnInputs>(std::move(inputs), std::move(change));
}

void check_range(const char* transform, const char* option, float value,
                 float low, float high) {
  // Rejects NaN, too.
  if (!(value >= low && value <= high)) {
    throw ValueError("out_of_range", transform,
                     fmt::format("{} must be in [{}, {}], got {}", option, low,
                                 high, value));
  }
}

Batch augment(const Augmentation& augmentation, const Batch& batch,
              const Rng& epoch, int64_t first) {
  if (augmentation.empty()) return batch;
  // A source may return tensors that it owns.
  Batch result = batch;
  for (Tensor& input : result.inputs) input = input.clone();
  for (size_t i = 0; i < augmentation.size(); ++i) {
    if (augmentation[i] == nullptr) {
      throw ValueError("missing_value", "augmentation",
                       "transforms must not be null");
    }
    augmentation[i]->apply(result, SampleStreams(epoch, first, i));
  }
  return result;
}

}  // namespace octet::train
