// Predicted classes of images, as text, CSV, JSON and NPY.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include <octet/runtime/tensor.h>

namespace octet::program {

struct ClassScore {
  int64_t output = 0;
  std::string name = {};  ///< class name; "" if unknown
  float score = 0;
};

struct ImageResult {
  std::string file;
  std::vector<ClassScore> best;  ///< up to five, best first
};

struct ImageResults {
  std::vector<ImageResult> images;
  bool probabilities = false;  ///< scores are in [0,1] and add up to 1
};

/// Returns nullopt unless `scores` is f32 [n,k] with a row per file. Names are
/// used if there are k, or two for a single probability.
std::optional<ImageResults> image_results(
    const std::vector<std::filesystem::path>& files, const Tensor& scores,
    const std::vector<std::string>& names);

/// Returns a line per image: "photos/a.jpg: cat 97.3 %, dog 2.1 %".
std::string results_text(const ImageResults& results);

/// Writes results as .csv (best class of each file) or .json (best five), or
/// `values` as .npy.
/// Throws: ValueError for .csv and .json without results.
void write_results(const std::string& path,
                   const std::optional<ImageResults>& results,
                   const Tensor& values);

}  // namespace octet::program
