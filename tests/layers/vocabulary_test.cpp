// One vocabulary for Variables, Tensors and symbolic tensors: the functions of
// the public headers by name, and the differences on purpose.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <regex>
#include <set>
#include <string>

#include <gtest/gtest.h>

namespace octet {
namespace {

using Names = std::set<std::string>;

// Names of functions at namespace level that return `type` or a vector of it.
Names functions_returning(const std::string& type) {
  const std::regex declaration("^(?:inline )?(?:std::vector<)?" + type +
                               ">? (\\w+)\\(");
  Names names;
  for (const char* module : {"runtime", "layers"}) {
    const std::filesystem::path folder =
        std::filesystem::path(OCTET_SOURCE_DIR) / module / "include";
    for (const auto& file :
         std::filesystem::recursive_directory_iterator(folder)) {
      if (file.path().extension() != ".h") continue;
      std::ifstream in(file.path());
      std::smatch found;
      for (std::string line; std::getline(in, line);) {
        if (std::regex_search(line, found, declaration)) {
          names.insert(found[1]);
        }
      }
    }
  }
  return names;
}

Names without(const Names& all, const Names& some) {
  Names rest;
  std::ranges::set_difference(all, some, std::inserter(rest, rest.end()));
  return rest;
}

TEST(Vocabulary, IsThatOfVariablesForTensors) {
  const Names variables = functions_returning("Variable");
  const Names tensors = functions_returning("Tensor");
  EXPECT_GT(tensors.size(), 100u);
  // Losses, noise and batch statistics belong to training, record() to the
  // tape; Variables know that fake_quantize() has quantized them.
  EXPECT_EQ(without(variables, tensors),
            (Names{"batch_norm_training", "binary_cross_entropy",
                   "categorical_cross_entropy", "distillation_loss", "dropout",
                   "fake_quantize", "gaussian_noise", "huber",
                   "mean_absolute_error", "mean_squared_error", "record",
                   "regularization_loss", "softmax_cross_entropy"}));
  // Element types, quantized values and samples, which Variables lack.
  EXPECT_EQ(without(tensors, variables),
            (Names{"absmax_per_block", "absmax_per_channel", "cast",
                   "dequantize", "exact_floats", "quantize", "random_inputs",
                   "rows_at", "scales_of_log2"}));
}

TEST(Vocabulary, IsThatOfSymbolicTensors) {
  const Names variables = functions_returning("Variable");
  const Names symbolic = functions_returning("SymbolicTensor");
  EXPECT_GT(symbolic.size(), 80u);
  // Construction of graphs, masks, and compositions of several layers.
  EXPECT_EQ(without(symbolic, variables),
            (Names{"bidirectional", "call", "call_masked", "einsum", "input",
                   "mask_of", "multi_head_attention", "patch_embedding",
                   "transformer_block"}));
  // Layers with options (convolution, pooling, recurrent, ...), and earlier
  // names of functions that both have: absolute (abs), exponential (exp),
  // negate (negative), scale_shift (affine), swish (silu), hard_swish
  // (hard_silu), gather (take), compare (equal, ...), pad1d and pad2d (pad).
  EXPECT_EQ(without(functions_returning("Tensor"), symbolic),
            (Names{"absmax_per_block",
                   "absmax_per_channel",
                   "absolute",
                   "avg_pool1d",
                   "avg_pool2d",
                   "batch_norm",
                   "bias_add",
                   "broadcast_to",
                   "cast",
                   "compare",
                   "conv1d",
                   "conv2d",
                   "conv2d_transpose",
                   "crop2d",
                   "dense",
                   "depthwise_conv1d",
                   "depthwise_conv2d",
                   "dequantize",
                   "embedding",
                   "exact_floats",
                   "exponential",
                   "gather",
                   "gru",
                   "hard_swish",
                   "layer_norm",
                   "lstm",
                   "max_pool1d",
                   "max_pool2d",
                   "negate",
                   "pad1d",
                   "pad2d",
                   "prelu",
                   "quantize",
                   "random_inputs",
                   "resize2d",
                   "rows_at",
                   "scale_shift",
                   "scales_of_log2",
                   "simple_rnn",
                   "swish",
                   "upsample2d"}));
}

}  // namespace
}  // namespace octet
