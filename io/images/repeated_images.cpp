#include "repeated_images.h"

#include <map>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include <octet/runtime/detail/printable.h>
#include <octet/runtime/error.h>

namespace octet::io {

namespace fs = std::filesystem;

void warn_of_repetition(const fs::path& table,
                        const std::vector<fs::path>& files,
                        const Tensor& labels, const std::vector<int64_t>& train,
                        const std::vector<int64_t>& test) {
  const auto label = [&](int64_t row) -> double {
    const auto i = static_cast<size_t>(row);
    if (labels.empty()) return 0;
    return labels.dtype() == DType::i64
               ? static_cast<double>(labels.data<int64_t>()[i])
               : double{labels.f32()[i]};
  };
  const auto name = [&](int64_t row) {
    return files[static_cast<size_t>(row)].lexically_normal();
  };
  std::map<fs::path, int64_t> trained;
  std::vector<std::string> common, repeated, ambiguous;
  for (const int64_t row : train) {
    const auto [first, is_new] = trained.emplace(name(row), row);
    if (is_new) continue;
    (label(row) == label(first->second) ? repeated : ambiguous)
        .push_back(first->first.string());
  }
  for (const int64_t row : test) {
    if (trained.contains(name(row))) common.push_back(name(row).string());
  }
  const auto report = [&](const std::vector<std::string>& images,
                          std::string_view problem, std::string_view hint) {
    if (images.empty()) return;
    warn("duplicate_name", table.string(),
         fmt::format("images {}: {}, the first '{}'. Hint: {}", problem,
                     images.size(), printable(images[0], 200), hint));
  };
  report(common, "in the training and in the test part",
         "remove them from one part, or the accuracy is too high");
  report(ambiguous, "listed again with another label",
         "keep the row with the correct label");
  if (!test.empty()) return;
  report(repeated, "listed more than once",
         "remove the repetitions, or the accuracy on held-out samples is too "
         "high");
}

}  // namespace octet::io
