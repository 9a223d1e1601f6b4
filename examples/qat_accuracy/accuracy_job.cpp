#include "accuracy_job.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <octet/octet.h>

#include "../common/program.h"

namespace octet::program {
namespace {

using namespace recipes;

Model placed_by_patterns(const Model& model,
                         const quant::QuantizeOptions& options) {
  const quant::TransformResult found =
      quant::transform(model, quant::tensorrt_patterns());
  const quant::QdqPlan plan = quant::plan_of_matches(
      found.model, found.matches,
      {.activation = options.activation, .weight = options.weight});
  // Patterns may keep the last layer in float.
  const auto bits = quant::bits_of_quantized(options.bits, plan);
  return quant::apply(quant::with_bits(plan, found.model, bits), found.model);
}

// Trains and quantizes a network with one seed.
class Job {
 public:
  explicit Job(const AccuracyJob& job) : job_(job) {}

  FormAccuracies run() const {
    FormAccuracies accuracies;
    auto& result = accuracies.forms;
    const Model model = trained();
    result[fp32] = accuracy("FP32", model);
    Model int8 = quantized(model, {});
    quant::auto_calibrate(int8, calibration_data(), {.seed = seed_});
    result[ptq_int8] = accuracy("PTQ INT8", int8, "ptq_int8");
    fine_tune(int8, kTuning8, "qat_int8");
    result[qat_int8] = accuracy("QAT INT8", int8, "qat_int8");
    result[ptq_w4a8] = accuracy(
        "PTQ W4A8", climbed(model, calibration_data(), recipe_.patterns),
        "ptq_w4a8");
    const train::QatPreset& four = train::qat_preset("int4");
    Model int4 = quantized(model, learned(four.quantize(model)));
    quant::calibrate(int4, calibration_data(), four.calibration());
    fine_tune(int4, kTuning4, "qat_w4a4");
    result[qat_w4a4] = accuracy("QAT W4A4", int4, "qat_w4a4");
    constexpr NumberFormat kFp8 = NumberFormat::fp8_e4m3;
    Model fp8 =
        quantized(model, {.activation = quant::activation_quantizer(kFp8),
                          .weight = quant::weight_quantizer(kFp8)});
    quant::auto_calibrate(fp8, calibration_data(), {.seed = seed_});
    result[ptq_fp8] = accuracy("PTQ FP8", fp8, "ptq_fp8");
    fine_tune(fp8, kTuning8, "qat_fp8");
    result[qat_fp8] = accuracy("QAT FP8", fp8, "qat_fp8");
    if (recipe_.network == kDepthwise) {
      accuracies.scales = compared_scales(model);
    }
    return accuracies;
  }

 private:
  Model trained() const {
    Model model =
        zoo::make(recipe_.network, {.input = data_.train.input_shape(),
                                    .classes = 10,
                                    .alpha = recipe_.alpha,
                                    .patch_size = recipe_.patch_size,
                                    .l2 = 1e-4f,
                                    .seed = seed_});
    train::FitOptions fit = fit_options("fp32", epochs());
    fit.optimizer = optimizer(1);
    fit.schedule = train::warmup(
        {.length = 0.05, .unit = train::ScheduleUnit::share}, train::cosine());
    fit.update_statistics_later = true;
    train::fit(model, data_.train, fit);
    // Running statistics lag behind the weights after a short training.
    train::update_batch_statistics(
        model, data_.train,
        {.batch_size = fit.batch_size.value(), .samples = 8192});
    io::save_model(model, file("fp32.h5"));
    return model;
  }

  // Adam is invariant to LSQ's gradient factors; TQT is designed for it.
  quant::QuantizeOptions learned(quant::QuantizeOptions options) const {
    if (recipe_.adamw) {
      options.activation.rule = quant::ScaleRule::learned_log2;
      options.weight.rule = quant::ScaleRule::learned_log2;
    }
    return options;
  }

  Model quantized(const Model& model,
                  const quant::QuantizeOptions& options) const {
    return recipe_.patterns ? placed_by_patterns(model, options)
                            : quant::quantize_model(model, options);
  }

  // Batch normalization statistics follow the weights: at this learning rate,
  // frozen statistics cost mobilenet_v1_025 half a percent.
  void fine_tune(Model& model, const Tuning& tuning, const char* form) const {
    quant::prepare_qat(model);
    const double wanted = tuning.epochs * static_cast<double>(epochs());
    train::FitOptions fit =
        fit_options(form, std::max<int64_t>(1, std::lround(wanted)));
    fit.optimizer = optimizer(tuning.rate, tuning.weight_decay);
    fit.schedule = train::cosine();
    fit.seed += 1;
    train::fit(model, data_.train, fit);
  }

  // Compares INT8 with one weight scale per tensor, and three remedies.
  ScaleAccuracies compared_scales(const Model& model) const {
    ScaleAccuracies result;
    quant::QuantizeOptions one;
    one.weight.per_channel = false;
    const Model folded = quant::fold_batch_norm(model);
    result[per_tensor] =
        accuracy("one scale a tensor", calibrated(folded, one));
    result[per_channel] =
        accuracy("one scale a channel", calibrated(folded, {}));
    Model equal = folded.clone();
    quant::equalize(equal);
    result[equalized] = accuracy("equalised", calibrated(equal, one));
    Model live = calibrated(model, one);
    fine_tune(live, kTuning8, "qat_per_tensor");
    result[tuned] = accuracy("one scale a tensor, fine-tuned", live);
    return result;
  }
  Model calibrated(const Model& model,
                   const quant::QuantizeOptions& options) const {
    Model result = quant::quantize_model(model, options);
    quant::calibrate(result, calibration_data());
    return result;
  }

  // Returns the accuracy on the test images. With `form`, exports the model.
  double accuracy(const char* what, const Model& model,
                  const char* form = nullptr) const {
    const double result = percent(train::evaluate(model, data_.test).accuracy);
    print(fmt::format("{}, seed {}, {}: {:.2f} %\n", recipe_.network, seed_,
                      what, result));
    if (form != nullptr) {
      io::export_onnx(model, file(fmt::format("{}.onnx", form)));
    }
    return result;
  }

  Dataset calibration_data() const {
    return data_.train.take(std::min<int64_t>(2048, data_.train.size()));
  }
  int64_t epochs() const { return job_.quick ? 3 : 12; }
  // Returns an optimizer with `rate` times the learning rate of the float
  // training.
  train::Optimizer optimizer(double rate, float weight_decay = 0) const {
    if (recipe_.adamw) {
      return train::AdamW({.learning_rate = static_cast<float>(1e-3 * rate)});
    }
    return train::SGD({.learning_rate = static_cast<float>(0.1 * rate),
                       .momentum = 0.9f,
                       .nesterov = true,
                       .weight_decay = weight_decay});
  }
  std::filesystem::path file(const std::string& name) const {
    const auto folder = job_.out / fmt::format("{}_{}", recipe_.network, seed_);
    ensure_writable_folder(folder);
    return folder / name;
  }
  train::FitOptions fit_options(const std::string& form, int64_t count) const {
    const std::string phase =
        fmt::format("{}_{}_{}", recipe_.network, seed_, form);
    return {.epochs = count,
            .batch_size = 128,
            .seed = seed_,
            .callbacks = {train::progress_bar(phase)},
            .augmentation = {train::random_flip(),
                             train::random_crop({.padding = 2})},
            .checkpoints = checkpoints_of(job_.checkpoint, phase),
            .resume = job_.checkpoint.resume};
  }

  const AccuracyJob& job_;
  const Recipe& recipe_ = job_.recipe;
  const io::TrainTest& data_ = job_.data;
  const uint64_t seed_ = job_.seed;
};

}  // namespace

Model climbed(const Model& model, const Dataset& data, bool patterns) {
  quant::PtqPipelineOptions options;
  options.quantize.weight.bits = 4;
  options.quantize.weight.rule = quant::ScaleRule::fixed;
  if (patterns) {
    options.place = [&](const Model& m) {
      return placed_by_patterns(m, options.quantize);
    };
  }
  quant::PtqPipeline result = quant::ptq_pipeline(model, data, {}, options);
  print(result.to_string());
  return std::move(result.model);
}

FormAccuracies run(const AccuracyJob& job) { return Job(job).run(); }

}  // namespace octet::program
