// The main job: trains a small CNN on Fashion-MNIST in FP32, quantizes,
// calibrates and fine-tunes it with QAT, exports both models as ONNX and
// inspects the files.
#include <algorithm>
#include <filesystem>
#include <string>

#include <fmt/format.h>

#include <octet/octet.h>

#include "common/checkpoint_options.h"
#include "common/command_line.h"
#include "common/program.h"

using namespace octet;

namespace {

using program::print;

struct Options {
  int64_t epochs = 4;
  int64_t qat_epochs = 1;
  int64_t batch = 0;  // 0: min(64, images)
  int64_t limit = 0;  // training images; 0: all
  int64_t seed = 1;
  int64_t threads = 0;  // 0: all cores
  std::string data = std::string(io::kFashionMnistFolder);
  std::string out = "build/out";
  program::CheckpointOptions checkpoint;
};

void declare(program::Command& command, Options& o) {
  constexpr int64_t kMost = int64_t{1} << 31;
  const auto number = [&](const char* name, int64_t& value, int64_t least,
                          int64_t most, const char* help) {
    command.add(name, value, least, most, help);
  };
  number("--epochs", o.epochs, 1, kMost, "number of FP32 epochs (default: 4)");
  number("--qat-epochs", o.qat_epochs, 1, kMost,
         "number of fine-tuning epochs (default: 1)");
  number("--batch", o.batch, 1, kMost, "batch size (default: 64)");
  number("--limit", o.limit, 1, kMost,
         "number of training images (default: all)");
  number("--seed", o.seed, 0, INT64_MAX - 1,
         "random seed of weights and shuffling (default: 1)");
  number("--threads", o.threads, 1, 1024,
         "number of threads (default: all cores)");
  const auto folder = [&](const char* name, std::string& value,
                          const char* help) {
    command.add(name, value, help)
        .type("DIR")
        .show_default()
        .check([](const std::string& word) {
          return word.empty() ? "must name a folder, got an empty name" : "";
        });
  };
  folder("--data", o.data, "folder of the IDX files");
  folder("--out", o.out, "output folder; summary.json is written last");
  program::add_checkpoint_options(command, o.checkpoint);
}

SymbolicTensor block(SymbolicTensor x, int64_t filters) {
  x = Conv2D({.filters = filters, .padding = Padding::same, .use_bias = false})(
      x);
  x = BatchNormalization({.momentum = 0.9f})(x);
  return ReLU()(x);
}

Model build_model(uint64_t seed) {
  auto image = input({28, 28, 1}, "image");
  auto x = block(image, 16);
  x = MaxPooling2D()(x);
  x = block(x, 32);
  x = MaxPooling2D()(x);
  x = block(x, 64);
  x = Flatten()(x);
  return Model(image, Dense({.units = 10})(x),
               {.name = "fashion_mnist", .seed = seed});
}

// Returns the training time.
double total_seconds(const train::History& history) {
  double seconds = 0;
  for (const auto& epoch : history) seconds += epoch.seconds;
  return seconds;
}

struct Calibrated {
  std::string method;
  train::Evaluation test;
};

// Calibrates with both methods and keeps the one with the smaller loss on other
// training images, if there are enough. Does not use the test set.
Calibrated calibrate(Model& qat, const io::TrainTest& data) {
  const int64_t count = std::min<int64_t>(2048, data.train.size());
  const Dataset samples = data.train.take(count);
  const Dataset validation = data.train.size() >= 2 * count
                                 ? data.train.drop(count).take(count)
                                 : samples;
  const std::pair<std::string, quant::CalibrationOptions> methods[] = {
      {"max", {.method = quant::Calibration::max}},
      {"percentile 99.99",
       {.method = quant::Calibration::percentile, .percentile = 99.99f}}};
  double losses[std::size(methods)];
  for (size_t i = 0; i < std::size(methods); ++i) {
    quant::calibrate(qat, samples, methods[i].second);
    losses[i] = train::evaluate(qat, validation).loss;
    print(fmt::format("calibrated with {:<16}  loss on {} images {:.4f}\n",
                      methods[i].first, validation.size(), losses[i]));
  }
  const bool first = losses[0] <= losses[1];
  if (first) quant::calibrate(qat, samples, methods[0].second);
  const Calibrated result{methods[first ? 0 : 1].first,
                          train::evaluate(qat, data.test)};
  print(fmt::format("selected {}: test accuracy {:.2f} % before fine-tuning\n",
                    result.method, program::percent(result.test.accuracy)));
  return result;
}

std::string_view bytes_of(const Tensor& t) {
  return {static_cast<const char*>(t.raw()), static_cast<size_t>(t.bytes())};
}

void run(const Options& o) {
  if (o.threads > 0) set_num_threads(static_cast<int>(o.threads));
  const std::filesystem::path out = o.out;
  const auto seed = static_cast<uint64_t>(o.seed);
  // Completed phases are not trained again.
  const auto fp32_states = program::checkpoints_of(o.checkpoint, "fp32");
  const auto qat_states = program::checkpoints_of(o.checkpoint, "qat");
  io::TrainTest data = io::fashion_mnist(o.data);
  ensure_writable_folder(out);
  const FolderLock lock(out);
  if (o.limit > 0) data.train = data.train.take(o.limit);
  print(fmt::format(
      "Fashion-MNIST: {} training and {} test images; {} threads, {}\n",
      data.train.size(), data.test.size(), num_threads(),
      to_string(active_isa())));

  const int64_t batch =
      o.batch > 0 ? o.batch : std::min<int64_t>(64, data.train.size());

  Model model = build_model(seed);
  print("\n" + model.summary() + "\n");
  const train::History fp32_history =
      train::fit(model, data.train,
                 {.epochs = o.epochs,
                  .batch_size = batch,
                  .optimizer = train::Adam({.learning_rate = 2e-3f}),
                  .schedule = train::cosine({.floor = 0.01f}),
                  .seed = seed,
                  .validation = &data.test,
                  .callbacks = {train::progress_bar("fp32")},
                  .checkpoints = fp32_states,
                  .resume = o.checkpoint.resume});
  const train::Evaluation fp32 = train::evaluate(model, data.test);

  Model qat = quant::quantize_model(model);
  print("\n" + quant::plan_of(qat).to_string() + "\n");
  const Calibrated ptq = calibrate(qat, data);

  print("\n");
  quant::prepare_qat(qat);
  quant::freeze_bn_stats(qat);
  const train::History qat_history = train::fit(
      qat, data.train,
      {.epochs = o.qat_epochs,
       .batch_size = batch,
       .optimizer = train::SGD({.learning_rate = 1e-3f, .momentum = 0.9f}),
       .schedule = train::cosine({.floor = 0.01f}),
       .seed = seed + 1,
       .validation = &data.test,
       .callbacks = {train::progress_bar("qat")},
       .checkpoints = qat_states,
       .resume = o.checkpoint.resume});
  const train::Evaluation int8 = train::evaluate(qat, data.test);

  const io::OnnxFile fp32_file =
      io::to_onnx(model, {.description = "Fashion-MNIST CNN, FP32"});
  const io::OnnxFile int8_file =
      io::to_onnx(qat, {.description = "Fashion-MNIST CNN, INT8 QAT"});

  const double train_seconds = total_seconds(fp32_history);
  const double images =
      static_cast<double>(data.train.size()) * static_cast<double>(o.epochs);
  Config summary;
  summary.set("fp32_accuracy", program::percent(fp32.accuracy))
      .set("ptq_accuracy", program::percent(ptq.test.accuracy))
      .set("qat_accuracy", program::percent(int8.accuracy))
      .set("calibration", ptq.method)
      .set("train_seconds", train_seconds)
      .set("qat_seconds", total_seconds(qat_history))
      .set("images_per_second", images / train_seconds)
      .set("qdq_pairs", int8_file.report.qdq_pairs)
      .set("fp32_bytes", int64_t(fp32_file.bytes.size()))
      .set("int8_bytes", int64_t(int8_file.bytes.size()))
      .set("epochs", o.epochs)
      .set("qat_epochs", o.qat_epochs)
      .set("batch", batch)
      .set("training_images", data.train.size())
      .set("seed", o.seed)
      .set("threads", num_threads());

  // Replaces the results of an earlier run together. Without a summary they are
  // incomplete.
  const Batch test = data.test.batch(0, data.test.size());
  FileSet files;
  files.add(out / "fp32.onnx", fp32_file.bytes);
  files.add(out / "int8.onnx", int8_file.bytes);
  // Data to compare with an independent runtime; see tests/oracle.
  files.add(out / "test_inputs.f32",
            bytes_of(test.input().transposed({0, 3, 1, 2})));
  files.add(out / "test_labels.i64", bytes_of(test.label()));
  files.add(out / "fp32_logits.f32", bytes_of(model.predict(test.input())));
  files.add(out / "int8_logits.f32", bytes_of(qat.predict(test.input())));
  files.commit(out / "summary.json", io::to_json(summary) + "\n");

  const io::OnnxSummary fp32_reread = io::inspect_onnx(out / "fp32.onnx");
  const io::OnnxSummary int8_reread = io::inspect_onnx(out / "int8.onnx");
  const auto row = [](std::string_view name, const train::Evaluation& e,
                      const std::string& file) {
    print(fmt::format("{:<16} {:>9.2f} % {:>9.4f}  {}\n", name,
                      program::percent(e.accuracy), e.loss, file));
  };
  const auto file = [](const char* name, const io::OnnxSummary& s) {
    return fmt::format("{}, {} bytes, {} Q/DQ pairs", name, s.bytes,
                       s.qdq_pairs.size());
  };
  print(fmt::format("\n{:<16} {:>11} {:>9}  {}\n", "", "accuracy", "loss",
                    "file"));
  row("FP32", fp32, file("fp32.onnx", fp32_reread));
  row("calibrated INT8", ptq.test, "");
  row("QAT INT8", int8, file("int8.onnx", int8_reread));
  print(fmt::format(
      "\ntrained at {:.0f} images/s in {:.1f} s, fine-tuned in {:.1f} s\n"
      "results in {}\n",
      images / train_seconds, train_seconds, total_seconds(qat_history),
      out.string()));
}

}  // namespace

int main(int argc, char** argv) {
  program::CommandLine command(
      "Train a CNN on Fashion-MNIST, fine-tune it in INT8 with "
      "quantization-aware training, and export both models as ONNX.");
  Options options;
  declare(command, options);
  return command.run(argc, argv, [&] { run(options); });
}
