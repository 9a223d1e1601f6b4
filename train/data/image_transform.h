// image_transform: builds a Transform from a function of a single image.
// Internal to train.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <octet/train/data_loader.h>

namespace octet::train {

/// An image of a batch. Shapes: pixels [h,w,c].
struct Image {
  float* pixels;
  int64_t h;
  int64_t w;
  int64_t c;
  bool classes = false;  ///< pixels are class indices: no interpolation

  int64_t size() const { return h * w * c; }
  float* row(int64_t y) const { return pixels + y * w * c; }
};

/// Buffer that a task reuses for all its images.
using Scratch = std::vector<float>;

/// Transforms an image in place with random numbers of the sample's stream.
using ChangeImage = std::function<void(const Image&, Rng&, Scratch&)>;
/// Throws if the transform does not support images of this size.
using CheckSize = std::function<void(int64_t h, int64_t w)>;

/// Kind of a transform.
enum class Changes {
  values,  ///< changes pixel values; labels stay unchanged
  places,  ///< geometric; label maps of the image's size move with it
};

std::shared_ptr<const Transform> image_transform(std::string name, Changes what,
                                                 ChangeImage change,
                                                 CheckSize check = {});

/// Draws a uniform number in [-limit, limit).
inline float draw(Rng& rng, float limit) {
  return (2 * rng.uniform() - 1) * limit;
}

/// Throws: ValueError naming transform and option unless low <= value <= high.
void check_range(const char* transform, const char* option, float value,
                 float low, float high);

}  // namespace octet::train
