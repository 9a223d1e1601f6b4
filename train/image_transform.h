// A transform that changes each image by itself. Internal to train.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <octet/train/augment.h>

namespace octet::train {

/// One image of a batch. Shapes: pixels [h,w,c].
struct Image {
  float* pixels;
  int64_t h;
  int64_t w;
  int64_t c;
  bool classes = false;  ///< numbers of classes, which do not mix

  int64_t size() const { return h * w * c; }
  float* row(int64_t y) const { return pixels + y * w * c; }
};

/// Memory that one task reuses from image to image.
using Scratch = std::vector<float>;

/// Changes an image in place with numbers of its own stream.
using ChangeImage = std::function<void(const Image&, Rng&, Scratch&)>;
/// Throws unless images of this size can be changed.
using CheckSize = std::function<void(int64_t h, int64_t w)>;

/// What a change does to an image.
enum class Changes {
  values,  ///< labels stay as they are
  places,  ///< labels that are images of the same size move with it
};

std::shared_ptr<const Transform> image_transform(std::string name, Changes what,
                                                 ChangeImage change,
                                                 CheckSize check = {});

/// A number in [-limit, limit).
inline float draw(Rng& rng, float limit) {
  return (2 * rng.uniform() - 1) * limit;
}

/// Throws: ValueError naming transform and option unless low <= value <= high.
void check_range(const char* transform, const char* option, float value,
                 float low, float high);

}  // namespace octet::train
