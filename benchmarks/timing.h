// What train_step and inference have in common: their command line, a network
// in FP32 or INT8, and the figures of repeated runs.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include <octet/octet.h>

namespace octet::bench {

struct Arguments {
  std::string model = "resnet8";
  std::string mode = "fp32";
  int64_t batch = 32;
  int threads = 0;     // 0: all cores
  double seconds = 3;  // measured for at least so long, and five times
  bool json = false;
  std::string write = "";  // .onnx or .h5 file for the network
  std::string load = "";   // .h5 file that it comes from
};

/// Reads the command line and sets the number of threads; the help and its
/// errors end the program. `files` is whether there are --write and --load.
Arguments read_arguments(int argc, char** argv, const std::string& description,
                         const std::vector<std::string>& modes, bool files);

/// Random images, [n, ...sample].
Tensor images(const Shape& sample, int64_t n);
/// A network of the zoo with Q/DQ as policy = tensorrt places it, calibrated on
/// 8 random images.
Model quantized(const std::string& network,
                const quant::QuantizeOptions& options = {});

/// Runs `body` twice without a clock, then with one, and prints the median and
/// the best time: for people, or with --json as one line of JSON.
/// `operations` are the additions and multiplications of one run, beside which
/// stands what a core can do at most, of integers in mode int8 (see peak.h).
void report(const Arguments& arguments, double operations,
            const std::function<void()>& body);

/// Of one image in a forward pass.
double operations(const Model& model);

}  // namespace octet::bench
