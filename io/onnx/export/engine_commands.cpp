// Source of the options: NVIDIA/TensorRT, samples/common/sampleOptions.cpp and
// tools/Polygraphy/polygraphy/tools/args of release/8.6, 10.0, 10.16 and 11.1.
#include <algorithm>
#include <cctype>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <octet/io/onnx_reference.h>
#include <octet/runtime/error.h>

namespace octet::io {
namespace {

namespace fs = std::filesystem;

/// Quotes a text as a shell word.
std::string quoted_word(const std::string& text) {
  const bool plain =
      !text.empty() && std::ranges::all_of(text, [](unsigned char c) {
        return std::isalnum(c) != 0 ||
               std::string_view("-_./=:,x+").find(static_cast<char>(c)) !=
                   std::string_view::npos;
      });
  if (plain) return text;
  std::string result = "'";
  for (const char c : text) {
    result += c == '\'' ? "'\\''" : std::string(1, c);
  }
  return result + "'";
}

/// Quotes a name for a list of "name:value", in which trtexec parses colons and
/// commas.
std::string spec_name(const std::string& name) {
  return name.find_first_of(":,") == name.npos ? name : "'" + name + "'";
}

void check_batches(const BatchProfile& batches) {
  if (batches.min >= 1 && batches.min <= batches.opt &&
      batches.opt <= batches.max) {
    return;
  }
  throw ValueError("invalid_value", "engine batches",
                   fmt::format("must satisfy 1 <= min <= opt <= max, got {}, "
                               "{}, {}",
                               batches.min, batches.opt, batches.max));
}

/// REQUIRES: the file has a dynamic batch.
void check_golden(const EngineCommandOptions& options) {
  if (options.golden == nullptr) return;
  for (const GoldenVector& input : options.golden->inputs) {
    const int64_t samples = input.shape[0];
    if (samples < options.batches.min || samples > options.batches.max) {
      throw ValueError(
          "out_of_range", "golden vectors",
          fmt::format("number of samples must be from {} to {}, the batch "
                      "sizes of the engine, got {}",
                      options.batches.min, options.batches.max, samples));
    }
  }
}

/// A command with a line for each word.
class Lines {
 public:
  explicit Lines(std::string program) : text_(std::move(program)) {}
  Lines& add(const std::string& word) {
    text_ += " \\\n  " + quoted_word(word);
    return *this;
  }
  std::string text() const { return text_ + "\n"; }

 private:
  std::string text_;
};

class Commands {
 public:
  Commands(const fs::path& onnx, const OnnxSummary& file,
           const EngineCommandOptions& options)
      : name_(onnx.filename().string()),
        stem_(onnx.stem().string()),
        file_(file),
        options_(options),
        quantized_(!file.qdq_pairs.empty()) {
    for (const OnnxTensorInfo& input : file.inputs) {
      if (!input.shape) continue;
      open_ = open_ || std::ranges::any_of(*input.shape, [](const OnnxDim& d) {
                return std::holds_alternative<std::string>(d);
              });
    }
    if (open_) check_golden(options);
  }

  std::string of(Target target) const {
    if (target == Target::tensorrt_rtx) return rtx();
    const int major = target == Target::tensorrt8    ? 8
                      : target == Target::tensorrt10 ? 10
                                                     : 11;
    return heading(major) + trtexec(major) + compare(major) + dla(major);
  }

 private:
  // Source: NVIDIA, TensorRT for RTX, "Build and run with the sample binary".
  std::string rtx() const {
    Lines lines("tensorrt_rtx");
    lines.add("--onnx=" + name_);
    add_shapes(lines);
    lines.add("--saveEngine=" + stem_ + ".rtx.engine");
    return fmt::format(
               "# {} for TensorRT for RTX. The engine runs on any RTX GPU, "
               "which "
               "compiles its kernels\n# when it loads the engine.\n",
               name_) +
           lines.text();
  }

  std::string heading(int major) const {
    const std::string version = major == 8 ? "8.6" : fmt::format("{}", major);
    std::string text = fmt::format(
        "# {} for TensorRT {}. Build the engine on the GPU model that runs "
        "it.\n",
        name_, version);
    if (major == 8) {
      return text + (quantized_ ? "# Q/DQ needs --int8; other layers run in "
                                  "FP16 or FP32.\n"
                                : "# Uses the faster of FP16 and FP32.\n");
    }
    if (major == 10) {
      return text +
             fmt::format(
                 "# --stronglyTyped takes types from the file: float32 stays "
                 "FP32. To run it in\n# FP16, replace it by {}.\n",
                 quantized_ ? "--int8 --fp16" : "--fp16");
    }
    return text +
           "# Types come from the file: float32 stays FP32. TensorRT 11 has no "
           "--int8, --fp16 or --best.\n";
  }

  std::vector<std::string> precision(int major) const {
    if (major == 10) return {"--stronglyTyped"};
    if (major != 8) return {};
    return quantized_ ? std::vector<std::string>{"--int8", "--fp16"}
                      : std::vector<std::string>{"--fp16"};
  }

  std::string trtexec(int major) const {
    const std::string base = fmt::format("{}.trt{}", stem_, major);
    Lines lines("trtexec");
    lines.add("--onnx=" + name_);
    for (const std::string& option : precision(major)) lines.add(option);
    add_shapes(lines);
    lines.add("--timingCacheFile=" + base + ".timing_cache")
        .add("--saveEngine=" + base + ".engine")
        .add("--profilingVerbosity=detailed")
        .add("--dumpProfile");
    // The default of version 11.
    if (major < 11) lines.add("--separateProfileRun");
    lines.add("--exportProfile=" + base + ".profile.json")
        .add("--exportLayerInfo=" + base + ".layers.json");
    if (options_.golden != nullptr) {
      if (open_) lines.add("--shapes=" + golden_shapes());
      lines.add("--loadInputs=" + list_of(options_.golden->inputs));
      if (major == 11) {
        lines.add("--loadRefOutputs=" + list_of(options_.golden->outputs));
      }
      lines.add("--exportOutput=" + base + ".outputs.json");
    }
    std::string text = lines.text();
    if (options_.golden != nullptr && major == 11) {
      text += "# --loadRefOutputs requires 11.1: omit it before.\n";
    }
    return text;
  }

  /// Shapes of the golden inputs; trtexec would assume `opt`.
  std::string golden_shapes() const {
    std::vector<std::string> parts;
    for (const GoldenVector& input : options_.golden->inputs) {
      parts.push_back(fmt::format("{}:{}", spec_name(input.name),
                                  fmt::join(input.shape.dims(), "x")));
    }
    return fmt::format("{}", fmt::join(parts, ","));
  }

  std::string list_of(const std::vector<GoldenVector>& vectors) const {
    std::vector<std::string> parts;
    for (const GoldenVector& vector : vectors) {
      parts.push_back(
          spec_name(vector.name) + ":" +
          (vector.raw.parent_path().filename() / vector.raw.filename())
              .string());
    }
    return fmt::format("{}", fmt::join(parts, ","));
  }

  /// Dimensions with `batch` for dynamic sizes.
  static std::vector<int64_t> sizes(const OnnxTensorInfo& input,
                                    int64_t batch) {
    std::vector<int64_t> result;
    for (const OnnxDim& dim : *input.shape) {
      const auto* size = std::get_if<int64_t>(&dim);
      result.push_back(size != nullptr ? *size : batch);
    }
    return result;
  }

  void for_each_shape(
      const std::function<void(const char*, const std::vector<std::string>&)>&
          use,
      const char* separator, bool brackets) const {
    const std::pair<const char*, int64_t> kinds[] = {
        {"min", options_.batches.min},
        {"opt", options_.batches.opt},
        {"max", options_.batches.max}};
    for (const auto& [kind, batch] : kinds) {
      std::vector<std::string> parts;
      for (const OnnxTensorInfo& input : file_.inputs) {
        if (!input.shape) continue;
        const std::string dims =
            fmt::format("{}", fmt::join(sizes(input, batch), separator));
        parts.push_back(
            brackets ? fmt::format("{}:[{}]", input.name, dims)
                     : fmt::format("{}:{}", spec_name(input.name), dims));
      }
      use(kind, parts);
    }
  }

  void add_shapes(Lines& lines) const {
    if (!open_) return;
    for_each_shape(
        [&](const char* kind, const std::vector<std::string>& parts) {
          lines.add(fmt::format("--{}Shapes={}", kind, fmt::join(parts, ",")));
        },
        "x", false);
  }

  std::string compare(int major) const {
    Lines lines("polygraphy run");
    lines.add(name_).add("--trt").add("--onnxrt");
    if (major == 8) {
      for (const std::string& option : precision(major)) lines.add(option);
    }
    if (major == 10) lines.add("--strongly-typed");
    const bool golden =
        options_.golden != nullptr && !options_.golden->loader.empty();
    if (golden) {
      const fs::path& loader = options_.golden->loader;
      lines.add("--data-loader-script")
          .add((loader.parent_path().filename() / loader.filename()).string());
    }
    if (open_) {
      for_each_shape(
          [&](const char* kind, const std::vector<std::string>& parts) {
            lines.add(fmt::format("--trt-{}-shapes", kind));
            for (const std::string& part : parts) lines.add(part);
            if (!golden && kind == std::string_view("opt")) {
              lines.add("--input-shapes");
              for (const std::string& part : parts) lines.add(part);
            }
          },
          ",", true);
    }
    if (golden) {
      return "# Compares with ONNX Runtime on the golden inputs:\n" +
             lines.text();
    }
    const bool bytes = add_ranges(lines);
    return fmt::format(
        "# Compares with ONNX Runtime on random inputs in {}. For other "
        "ranges,\n# pass real inputs with --data-loader-script.\n{}",
        bytes ? "[0,1), of uint8 in [0,255]" : "[0,1)", lines.text());
  }

  /// Adds the range of uint8 inputs, which polygraphy would fill with 0 and 1.
  /// Returns whether the file has uint8 inputs.
  bool add_ranges(Lines& lines) const {
    std::vector<std::string> ranges;
    for (const OnnxTensorInfo& input : file_.inputs) {
      if (input.type == "uint8") ranges.push_back(input.name + ":[0,255]");
    }
    if (ranges.empty()) return false;
    lines.add("--val-range");
    for (const std::string& range : ranges) lines.add(range);
    return true;
  }

  std::string dla(int major) const {
    if (quantized_) {
      return "# DLA: does not support Q/DQ nodes. NVIDIA's Q/DQ translator "
             "converts them to a calibration cache.\n";
    }
    return std::string("# DLA: add --useDLACore=0 --allowGPUFallback") +
           (major == 11 ? "; it requires float16 files.\n"
                        : ", with --fp16 instead of other types.\n");
  }

  std::string name_;
  std::string stem_;
  const OnnxSummary& file_;
  const EngineCommandOptions& options_;
  bool quantized_;
  bool open_ = false;
};

}  // namespace

std::string engine_commands(const fs::path& onnx,
                            const EngineCommandOptions& options) {
  check_batches(options.batches);
  std::vector<Target> targets{options.target};
  if (options.target == Target::any) {
    targets = {Target::tensorrt8, Target::tensorrt10, Target::tensorrt11};
  } else if (options.target == Target::openvino ||
             options.target == Target::onnxruntime) {
    throw ValueError(
        "invalid_value", "engine target",
        fmt::format("must be a version of TensorRT, got {}, which runs the "
                    "file without an engine",
                    to_string(options.target)));
  }
  const OnnxSummary file = inspect_onnx(onnx);
  const Commands commands(onnx, file, options);
  std::vector<std::string> parts;
  for (const Target target : targets) parts.push_back(commands.of(target));
  return fmt::format("{}", fmt::join(parts, "\n"));
}

}  // namespace octet::io
