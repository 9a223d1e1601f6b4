#include <fmt/format.h>

#include <octet/layers/attention.h>
#include <octet/layers/convolution.h>
#include <octet/layers/reshaping.h>
#include <octet/runtime/error.h>

#include "base/checks.h"
#include "base/part_names.h"

namespace octet {

SymbolicTensor patch_embedding(const SymbolicTensor& x,
                               const PatchEmbeddingOptions& o) {
  return with_context(
      [&] { return frame_of("patch_embedding", o.name); },
      [&] {
        const Shape shape = x.shape();
        const Shape& image = image_input(std::span(&shape, 1));
        expect_window("patch_size", o.patch_size);
        if (image[1] % o.patch_size.h != 0 || image[2] % o.patch_size.w != 0) {
          throw ShapeError(
              "invalid_shape", "input",
              fmt::format(
                  "height and width must be multiples of the patch size {}x{}, "
                  "got {}",
                  o.patch_size.h, o.patch_size.w, image.to_string()));
        }
        const auto y = Conv2D({.filters = o.dim,
                               .kernel_size = o.patch_size,
                               .strides = o.patch_size,
                               .kernel_initializer = o.kernel_initializer,
                               .kernel_regularizer = o.kernel_regularizer,
                               .name = o.name})(x);
        return Reshape({.target_shape = {y.shape()[1] * y.shape()[2], o.dim},
                        .name = part_name(o.name, "tokens")})(y);
      });
}

}  // namespace octet
