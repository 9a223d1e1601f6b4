#include <utility>

#include <fmt/format.h>

#include <octet/runtime/error.h>
#include <octet/runtime/parallel.h>
#include <octet/train/augment.h>

#include "image_transform.h"

namespace octet::train {
namespace {

class ImageTransform final : public Transform {
 public:
  ImageTransform(std::string name, ChangeImage change, CheckSize check)
      : name_(std::move(name)),
        change_(std::move(change)),
        check_(std::move(check)) {}

  void apply(Batch& batch, const SampleStreams& streams) const override {
    const Shape& shape = batch.inputs.shape();
    if (shape.rank() != 4) {
      throw ShapeError(fmt::format("{}: expected images [n,h,w,c], got {}",
                                   name_, shape.to_string()));
    }
    if (shape.size() == 0) return;
    if (check_) check_(shape[1], shape[2]);
    float* pixels = batch.inputs.f32().data();
    const int64_t length = shape[1] * shape[2] * shape[3];
    parallel_chunks(shape[0], [&](int64_t first, int64_t last, int64_t) {
      Scratch scratch;
      for (int64_t i = first; i < last; ++i) {
        Rng rng = streams[i];
        change_({pixels + i * length, shape[1], shape[2], shape[3]}, rng,
                scratch);
      }
    });
  }

 private:
  std::string name_;
  ChangeImage change_;
  CheckSize check_;
};

}  // namespace

std::shared_ptr<const Transform> image_transform(std::string name,
                                                 ChangeImage change,
                                                 CheckSize check) {
  return std::make_shared<ImageTransform>(std::move(name), std::move(change),
                                          std::move(check));
}

void check_range(const char* transform, const char* option, float value,
                 float low, float high) {
  // Written so that NaN fails too.
  if (!(value >= low && value <= high)) {
    throw ValueError(fmt::format("{}: expected {} in [{},{}], got {}",
                                 transform, option, low, high, value));
  }
}

Batch augment(const Augmentation& augmentation, const Batch& batch,
              const Rng& epoch, int64_t first) {
  if (augmentation.empty()) return batch;
  // A source may hand out tensors that it keeps.
  Batch result = batch;
  result.inputs = batch.inputs.clone();
  for (size_t i = 0; i < augmentation.size(); ++i) {
    if (augmentation[i] == nullptr) {
      throw ValueError("augmentation: expected transforms, got a null pointer");
    }
    augmentation[i]->apply(result, SampleStreams(epoch, first, i));
  }
  return result;
}

}  // namespace octet::train
