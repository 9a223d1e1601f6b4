// The classes that a model finds in images, as text, CSV, JSON and NPY.
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
  std::string name = {};  ///< of the class; "" if it is not known
  float score = 0;
};

struct ImageResult {
  std::string file;
  std::vector<ClassScore> best;  ///< up to five, the best first
};

struct ImageResults {
  std::vector<ImageResult> images;
  bool probabilities = false;  ///< scores are in [0,1] and add up to 1
};

/// Nothing unless `scores` is f32 [n,k], a row for each file. Names are used if
/// there is one for each of the k outputs, or two for a single probability.
std::optional<ImageResults> image_results(
    const std::vector<std::filesystem::path>& files, const Tensor& scores,
    const std::vector<std::string>& names);

/// "photos/a.jpg: cat 97.3 %, dog 2.1 %", a line for each image.
std::string results_text(const ImageResults& results);

/// Writes .csv (the best class of each file) or .json (the best five) of
/// results, or `values` as .npy.
/// Throws: ValueError for .csv and .json without results.
void write_results(const std::string& path,
                   const std::optional<ImageResults>& results,
                   const Tensor& values);

}  // namespace octet::program
