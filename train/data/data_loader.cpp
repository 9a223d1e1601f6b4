#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include <octet/runtime/error.h>
#include <octet/train/data_loader.h>

namespace octet::train {

DataLoader::DataLoader(Dataset data, const DataLoaderOptions& options)
    : data_(std::move(data)),
      options_(options),
      loader_(epoch_loader(0)),
      end_(loader_.end()) {
  EpochLoaderOptions in_order{.batch_size = options.batch_size,
                              .shuffle = false};
  if (options.drop_last) end_ = EpochLoader(data_, in_order).from(size());
}

EpochLoader DataLoader::epoch_loader(int64_t epoch) const {
  const int64_t workers = options_.num_workers;
  if (workers < 0 || workers > 64) {
    throw ValueError(
        "out_of_range", "DataLoader",
        fmt::format("num_workers must be in [0, 64], got {}", workers));
  }
  return EpochLoader(data_, {.batch_size = options_.batch_size,
                             .shuffle = options_.shuffle,
                             .seed = options_.seed,
                             .epoch = epoch,
                             .prefetch = 2 * workers,
                             .workers = std::max<int64_t>(workers, 1)});
}

int64_t DataLoader::size() const {
  const bool drops =
      options_.drop_last && data_.size() % options_.batch_size != 0;
  return loader_.batches() - (drops ? 1 : 0);
}

EpochLoader::Iterator DataLoader::begin() {
  loader_ = epoch_loader(epochs_++);
  return loader_.begin();
}

}  // namespace octet::train
