#include "label_check.h"

#include <algorithm>
#include <span>
#include <string>
#include <utility>

#include <fmt/format.h>

#include <octet/runtime/error.h>

namespace octet::train {
namespace {

/// What labels from `least` to `most` may come from.
std::string hint(int64_t least, int64_t most, int64_t classes) {
  if (least < 0) return "labels count from 0";
  if (least == 1 && most == classes) {
    return "labels count from 0; subtract 1 from these";
  }
  return fmt::format(
      "for labels up to {} end the model with Dense({{.units = "
      "{}}})",
      most, most + 1);
}

void check(std::string_view subject, const Model& model, const Tensor& labels,
           const Loss& loss, std::optional<int64_t> first) {
  const Shape& output = model.outputs()[0].shape();
  if (loss.targets() != Targets::classes || output.rank() != 2 ||
      labels.dtype() != DType::i64 || labels.size() == 0) {
    return;
  }
  const int64_t classes = output[1];
  const std::span<const int64_t> all = labels.data<int64_t>();
  const auto [least, most] = std::ranges::minmax(all);
  if (least >= 0 && most < classes) return;
  const auto wrong = std::ranges::find_if(
      all, [&](int64_t label) { return label < 0 || label >= classes; });
  throw ValueError(fmt::format(
      "{}: expected labels in [0,{}), as model '{}' has {} outputs, got {} at "
      "sample {}{}. Hint: {}",
      subject, classes, model.name(), classes, *wrong,
      first.value_or(0) + (wrong - all.begin()), first ? "" : " of the batch",
      hint(least, most, classes)));
}

}  // namespace

void check_known_labels(std::string_view subject, const Model& model,
                        const Dataset& data, const Loss& loss) {
  if (data.label_type() != DType::i64 || !data.labels_known()) return;
  check(subject, model, data.labels(), loss, 0);
}

void check_batch_labels(std::string_view subject, const Model& model,
                        const Batch& batch, const Loss& loss,
                        std::optional<int64_t> first) {
  check(subject, model, batch.labels, loss, first);
}

}  // namespace octet::train
