#include "digest.h"

namespace octet::train {

void Digest::add(std::span<const std::byte> bytes) {
  for (const std::byte byte : bytes) {
    value_ ^= static_cast<uint64_t>(byte);
    value_ *= 0x100000001b3;
  }
}

void Digest::add(const Tensor& tensor) {
  if (tensor.empty()) return;
  add(std::as_bytes(tensor.shape().dims()));
  add(std::span(static_cast<const std::byte*>(tensor.raw()),
                static_cast<size_t>(tensor.bytes())));
}

void Digest::add(const Batch& batch) {
  add(batch.inputs);
  add(batch.labels);
  add(batch.weights);
}

}  // namespace octet::train
