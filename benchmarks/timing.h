// Common parts of train_step and inference: the command line, networks in FP32
// or INT8, and statistics of repeated runs.
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
  double seconds = 3;  // minimum duration; at least five runs
  bool json = false;
  std::string write = "";  // output file of the network, .onnx or .h5
  std::string load = "";   // .h5 file of the network
};

/// Parses the command line and sets the number of threads. Exits after --help
/// and on errors. `files` adds --write and --load.
Arguments read_arguments(int argc, char** argv, const std::string& description,
                         const std::vector<std::string>& modes, bool files);

/// Returns a zoo network, or "detector".
Model network(const std::string& name);
/// Returns random images, [n, ...sample].
Tensor images(const Shape& sample, int64_t n);
/// Returns network(name) with the Q/DQ pairs of policy = tensorrt, calibrated
/// on 8 random images.
Model quantized(const std::string& name,
                const quant::QuantizeOptions& options = {});

/// Runs `body` twice to warm up, measures it and prints the median and the best
/// time as text, or with --json as one line of JSON. `operations` are the
/// additions and multiplications of one run, printed next to the peak of a core
/// (of integers in mode int8; see peak.h).
void report(const Arguments& arguments, double operations,
            const std::function<void()>& body);

/// Returns additions and multiplications per image of a forward pass.
double operations(const Model& model);

}  // namespace octet::bench
